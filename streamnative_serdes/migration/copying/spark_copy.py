"""Copying a topic with Spark: a task for each partition of the source, for topics that outgrow one machine.

::

    driver    rounds of offset ranges -> a job each -> the progress
    task      format("streamnative-kafka") reads a range of one partition -> MessageCopier -> producer

The copy has no transactions, so delivery is at least once: a task that runs again sends its messages again. Each copied
message has a header with its place in the source. This header identifies repeated messages, and shows where a stopped
copy continues: at the first message that was not copied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._kafka import idempotence
from streamnative_serdes._rewriting import BadMessageError, Rewriter, UnmappedSchemaError
from streamnative_serdes.errors import ConfigError, RawMessage, SchemaError
from streamnative_serdes.migration.route import Route
from streamnative_serdes.migration.schemas.canonical import schemas_of
from streamnative_serdes.migration.state import State

from .copy import Report, ensure_letters, letters_of, ready
from .dead_letters import SUFFIX, DeadLetter
from .inlet_outlet import PRODUCER, Inlet
from .messages import MessageCopier, Rules, mark_of, with_place
from .progress import Kept, Owner, Progress, ProgressTopic, digest
from .resuming import SameTopics, Wishes, find_places

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes.spark.datasource.writing.outbox import Outbox

ROUND: Final = 1_000_000  # offsets of each partition in a job, after which the progress is written
_DONE: Final = (  # the columns of _Done
    "partition int, copied bigint, bad bigint, last bigint, target bigint, stopped bigint, name string, reason string, "
    "read string, sent string"
)


class SparkCopy:
    """Copies a topic by Spark jobs, or continues a copy that was stopped. Raises ConfigError.

    Unlike :class:`TopicCopy`, it has no transactions, does not follow, and puts dead letters into their topic. The
    tasks of ``session`` copy; ``observe`` is called, and ``stopping`` asked, after each job.
    """

    def __init__(
        self,
        state: State,
        wishes: Wishes,
        session: Any,
        observe: Callable[[Report], object] = lambda _: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        for name, wish in (
            ("--transactions on", wishes.transactions),
            ("--follow", wishes.follow),
            ("--dead-letters FILE", wishes.dead_letters is not None),
        ):
            if wish:
                raise ConfigError(f"{name} is not possible with --engine spark", hint="leave out --engine spark")
        self._state, self._wishes, self._session = state, wishes, session
        self._observe, self._stopping = observe, stopping
        self._options = _reading_options(state.route)
        self._more: Mapping[str, Any] = {}  # configuration of producers

    def run(self) -> Report:
        """Copy up to the source's present end, or until told to stop."""
        route, wishes = self._state.route, self._wishes
        kafka: Mapping[str, Any] = route.writing.kafka
        with ExitStack() as stack:
            inlet = stack.enter_context(closing(Inlet(route.reading.kafka, route.source)))
            source = f"{route.source}@{inlet.cluster}"
            topic = ProgressTopic(kafka, route.target, source)
            self._more = idempotence(kafka, route.target)
            _, largest = ready(self._state, wishes, topic)
            self._same = SameTopics(route)
            owner = Owner(kafka, route.target, topic, lambda *words: self._say(topic, [words]))
            stack.enter_context(closing(owner))
            places, safe = find_places(route, source, topic.read(), wishes)
            known = topic.read()
            starts = inlet.beginnings({**wishes.start, **places})
            ends = {partition: high for partition, (_, high) in inlet.bounds.items()}
            ensure_letters(route, len(ends), largest)
            task = _CopyTask(route, self._state.rewriter(), wishes.rules, largest, self._more, safe, mark_of(source))
            report = Report({})
            for partition, start in starts.items():
                progress = known.get(partition) or Progress(start, places=True)
                letters = tuple(dict.fromkeys((*progress.letters, letters_of(route.target, wishes))))
                report.progress[partition] = replace(
                    progress, next=start, ids=self._same.ids, letters=letters, keys=wishes.rules.keys
                )
            begun = {number: report.progress[number] for number in starts.keys() - known.keys()}
            self._say(topic, topic.all_words(begun))
            self._rounds(report, ends, task, topic, owner)
            if not report.lag:
                report.hidden = inlet.hidden({number: one.next for number, one in report.progress.items()})
                report.ended = not report.hidden
            return report

    def _rounds(
        self, report: Report, ends: Mapping[int, int], task: _CopyTask, topic: ProgressTopic, owner: Owner
    ) -> None:
        while True:
            spans = {
                partition: (progress.next, min(progress.next + ROUND, ends[partition]))
                for partition, progress in report.progress.items()
                if progress.next < ends[partition]
            }
            done = self._job(spans, task) if spans else {}
            owner.require()
            self._same.require(report.progress)
            for partition, (_, end) in spans.items():
                report.progress[partition] = _advanced(report.progress[partition], end, done.get(partition))
            self._say(topic, topic.all_words({partition: report.progress[partition] for partition in spans}))
            _raise_stopped(done, task.route)
            report.lag = sum(end - report.progress[partition].next for partition, end in ends.items())
            self._observe(report)
            if not report.lag or self._stopping():
                return

    def _job(self, spans: Mapping[int, tuple[int, int]], task: _CopyTask) -> dict[int, _Done]:
        from streamnative_serdes.spark.session import spark_errors

        with spark_errors():
            rows = self._read(spans).mapInArrow(task, _DONE).collect()
        return {row.partition: _Done(**row.asDict()) for row in rows}

    def _read(self, spans: Mapping[int, tuple[int, int]]) -> Any:
        source = self._state.route.source
        begins, ends = ({str(number): span[at] for number, span in spans.items()} for at in (0, 1))
        options = {
            "assign": json.dumps({source: sorted(spans)}),
            "startingOffsets": json.dumps({source: begins}),
            "endingOffsets": json.dumps({source: ends}),
            "includeHeaders": "true",
            "kafka.isolation.level": "read_committed",
        }
        return self._session.read.format("streamnative-kafka").options(**{**self._options, **options}).load()

    def _say(self, topic: ProgressTopic, messages: Iterable[tuple[bytes, bytes]]) -> None:
        from streamnative_serdes.spark.datasource.writing.outbox import outbox

        with outbox({**self._state.route.writing.kafka, **self._more}, topic.name) as out:
            for key, value in messages:
                out.send(value, key)


@dataclass(slots=True)
class _Done:
    partition: int  # of the source
    copied: int = 0  # messages copied
    bad: int = 0  # messages among the dead letters
    last: int | None = None  # offset of the last message that was copied
    target: int | None = None  # offset of the copy of this message
    # offset of the message where the task stopped, since its schema has not been copied, or cannot be
    stopped: int | None = None
    name: str | None = None  # the name of this schema, if it has not been copied
    reason: str | None = None
    read: str | None = None  # the last message of the source that was read, as JSON
    sent: str | None = None  # the digest of the last copy


def _advanced(before: Progress, end: int, done: _Done | None) -> Progress:
    """The progress after a round up to ``end``; a task without messages returns no ``done``."""
    if done is None:
        return replace(before, next=end)
    last = before.last if done.last is None or done.target is None else (done.last, done.target)
    return replace(
        before,
        next=end if done.stopped is None else done.stopped,
        copied=before.copied + done.copied,
        bad=before.bad + done.bad,
        last=last,
        read=before.read if done.read is None else Kept(*json.loads(done.read)),
        written=before.written if done.sent is None or done.target is None else Kept(done.target, None, done.sent),
        anchors=before.anchors if last is None or last == before.last else [*before.anchors, last],
    )


def _raise_stopped(done: Mapping[int, _Done], route: Route) -> None:
    for each in done.values():
        if each.stopped is not None:
            error = SchemaError(each.reason or "") if each.name is None else UnmappedSchemaError(each.name)
            error.raw = RawMessage(None, None, each.partition, each.stopped)
            raise error.at(topic=route.source)


def _reading_options(route: Route) -> dict[str, str]:
    options = {}
    for name, value in route.reading.kafka.items():
        if not isinstance(value, str | int | float):
            raise ConfigError(f"the client's option {name} is a {type(value).__name__}, which Spark cannot pass on")
        options[f"kafka.{name}"] = str(value).lower() if isinstance(value, bool) else str(value)
    return options


@dataclass(frozen=True, slots=True)
class _CopyTask:
    """The task: copies the messages of one partition, and returns a row with the result."""

    route: Route  # the migration
    rewriter: Rewriter  # for the values
    rules: Rules  # for the parts of messages
    largest: int  # the size of the largest message that the target takes, in bytes
    more: Mapping[str, Any] = field(default_factory=dict)  # configuration of the producer that the driver has added
    # offsets whose dead letters are there already, by partition
    safe: Mapping[int, Collection[int]] = field(default_factory=dict)
    mark: str = ""  # of the source

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from streamnative_serdes.spark.datasource.writing.outbox import outbox

        size = {"message.max.bytes": max(self.largest, 1_000)} if self.largest else {}
        kafka = {**PRODUCER, **size, **self.route.writing.kafka, **self.more}
        done: _Done | None = None
        tail = _Tail()
        with ExitStack() as stack:
            schemas = stack.enter_context(schemas_of(self.route, reading=True))
            out = stack.enter_context(outbox(kafka, self.route.target, places=True))
            copier = MessageCopier(self.rewriter, schemas, self.rules)
            for batch in batches:
                for message in _messages(batch):
                    done = done or _Done(message.partition())
                    if not self._copy(message, copier, out, done, tail):
                        break
                    tail.read = message
                if done is not None and done.stopped is not None:
                    break
            out.flush()
            if done is not None:
                if done.copied:
                    done.target = out.places()[self.route.target, done.partition]
                    done.sent = digest(*tail.sent)
                if tail.read is not None:
                    done.read = json.dumps(Kept.of(tail.read))  # type: ignore[arg-type]
                yield pa.RecordBatch.from_pylist([asdict(done)], schema=_schema_of_done())

    def _copy(self, message: _Message, copier: MessageCopier, out: Outbox, done: _Done, tail: _Tail) -> bool:
        """Copy one message; returns whether to continue."""
        partition, offset = message.partition(), message.offset()
        try:
            copy = copier.copy(message)  # type: ignore[arg-type]
            value, key, headers, moment = with_place(copy, partition, offset, self.mark)
        except BadMessageError as error:
            if offset not in self.safe.get(partition, ()):
                self._send_letter(DeadLetter.of(message, str(error)), out)  # type: ignore[arg-type]
            done.bad += 1
            return True
        except SchemaError as error:
            name = str(error.name) if isinstance(error, UnmappedSchemaError) else None
            done.stopped, done.name, done.reason = offset, name, error.message
            return False
        out.send(value, key, headers, partition, moment)  # type: ignore[arg-type]
        done.copied, done.last, tail.sent = done.copied + 1, offset, (key, value)
        return True

    def _send_letter(self, letter: DeadLetter, out: Outbox) -> None:
        told = letter.produced(self.route.source, hide_headers=not self.rules.keeps(letter.headers))
        topic = f"{self.route.target}{SUFFIX}"
        out.send(told["value"], told["key"], told["headers"], letter.partition, told.get("timestamp", 0), topic)
        out.flush()  # a copy says that all dead letters before it are safe


@dataclass(slots=True)
class _Tail:
    """The last message that a task has read, and the key and value of the task's last copy."""

    read: _Message | None = None
    sent: tuple[bytes | None, bytes | None] = (None, None)


def _schema_of_done() -> pa.Schema:
    import pyarrow as pa

    types = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string()}
    return pa.schema([(name, types[kind]) for name, kind in map(str.split, _DONE.split(", "))])


class _Message:
    """A row of the source with the methods of the client's messages."""

    __slots__ = ("_headers", "_key", "_moment", "_offset", "_partition", "_type", "_value")

    _key: bytes | None
    _value: bytes | None
    _headers: list[tuple[str, bytes | None]] | None

    def __init__(self, row: tuple[Any, ...]) -> None:
        self._key, self._value, self._partition, self._offset, self._moment, self._type, self._headers = row

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def partition(self) -> int:
        return int(self._partition)

    def offset(self) -> int:
        return int(self._offset)

    def timestamp(self) -> tuple[int, int]:
        """As from the client: 0 and -1 for a message without a time, otherwise 1 or 2 and milliseconds since 1970."""
        return (0, -1) if self._moment is None or self._moment < 0 else (int(self._type) + 1, int(self._moment))

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._headers


def _messages(batch: pa.RecordBatch) -> Iterator[_Message]:
    import pyarrow as pa

    from streamnative_serdes.arrow.kafka_columns import bytes_of, headers_of

    column = batch.schema.get_field_index
    micros = batch.column(column("timestamp")).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    columns = (
        bytes_of(batch.column(column("key"))),
        bytes_of(batch.column(column("value"))),
        batch.column(column("partition")).to_pylist(),
        batch.column(column("offset")).to_pylist(),
        (None if each is None else each // 1_000 for each in micros),
        batch.column(column("timestampType")).to_pylist(),
        headers_of(batch.column(column("headers"))),
    )
    return map(_Message, zip(*columns, strict=True))
