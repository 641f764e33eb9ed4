"""Transactions: each attempt of a task sends its rows in one Kafka transaction, which the task itself commits.

The driver cannot commit the transaction: librdkafka can neither hand over nor resume transactions. So an attempt that
runs again has to find out whether an earlier attempt committed. Two names make that possible, both made of the query's
id and the task's partition::

    transactional.id  streamnative-serdes.spark.QUERY.PARTITION     a newer attempt fences the older ones
    consumer group    the same name                                 its offset is the marker: the last batch, plus 1

    init_transactions   aborts what an older attempt has left, and fences it
    look at the marker  this batch is there: send nothing
    begin, send ...     the rows
    send_offsets        the marker, in the same transaction
    commit

Before that, the driver tries ``init_transactions`` with an id of its own, so that a broker that refuses the time limit,
or has no transactions, is an error before any task runs.

A group's offset belongs to a partition of a topic, so the marker is one of partition 0 of the topic of all rows. Its
metadata says how many rows were committed, and has digests of the first and last one: a batch that gives other rows
when it is run again is an error, since its rows would be lost or sent twice.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from confluent_kafka import KafkaException, TopicPartition

from streamnative_serdes._kafka import (
    NO_COORDINATOR,
    ClientErrors,
    client,
    is_fenced,
    is_unsupported,
    no_producer_ids,
    retry,
    until_done,
)
from streamnative_serdes.errors import ConfigError, SerdesError

from .outbox import Outbox

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError

logger = logging.getLogger(__name__)

PREFIX: Final = "streamnative-serdes.spark"
TRANSACTION_MS: Final = 600_000  # Kafka's brokers allow 900,000 unless told otherwise
_TIMEOUT: Final = "transaction.timeout.ms"
_CONNECT_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 5.0  # between two looks at why there is no answer
_MOST_SECONDS: Final = 2_000_000.0  # for the client's own limit, which is the transaction's
_DATE_BITS: Final = 32
_EXPIRED: Final = ("INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING")
_UNAUTHORIZED: Final = ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED")
_RIGHTS: Final = (
    f"the user needs WRITE and DESCRIBE on transactional ids, and READ on groups, that begin with {PREFIX}."
)


class TransactionError(SerdesError):
    """A transaction could not be begun or committed. Its messages are in the topic only if Kafka had committed it."""

    help = "docs/troubleshooting.md#spark-a-batch-that-was-committed-has-other-rows"


class FencedError(TransactionError):
    """A newer attempt of the task has taken over, or the broker has aborted a transaction that took too long."""


class StaleBatchError(TransactionError):
    """The query has committed later batches than the one that a task is to write."""


class OtherRowsError(TransactionError):
    """A committed batch returns other rows when it is run again, and these rows would be lost."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner of a transaction: a task's partition in a batch of a query.

    A batch write has an id of its own as ``query``, and 0 as ``batch``; the driver's query is ``driver``.
    """

    query: str
    batch: int
    partition: int

    @property
    def name(self) -> str:
        """The transactional id, and the group of the marker."""
        return f"{PREFIX}.{self.query}.{self.partition}"


_DRIVER: Final = Identity("driver", 0, 0)


@dataclass(slots=True)
class Rows:
    """Identifies the rows of an attempt, to compare attempts: the number of rows, the first row and the last."""

    rows: int = 0
    first: str = ""
    last: str = ""

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch."""
        if not batch.num_rows:
            return
        if not self.rows:
            self.first = _digest(batch.slice(0, 1))
        self.last = _digest(batch.slice(batch.num_rows - 1))
        self.rows += batch.num_rows


def _digest(row: pa.RecordBatch) -> str:
    values = [column.cast(_stored(column.type)).to_pylist() for column in row.columns]
    return blake2b(repr(values).encode(), digest_size=8).hexdigest()


def _stored(kind: pa.DataType) -> pa.DataType:
    """The type with integers for times, since those of Python depend on the time zone, and lack zones and years."""
    if pa.types.is_temporal(kind):
        return pa.int64() if kind.bit_width > _DATE_BITS else pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_stored(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_stored(kind.key_type), kind.item_field.with_type(_stored(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_stored(kind.value_type)))
    return kind


class Transaction:
    """The transaction of one attempt; :func:`transaction` provides it."""

    def __init__(self, kafka: Mapping[str, Any], topic: str, identity: Identity) -> None:
        self._topic, self._identity = topic, identity
        self._limit = float(kafka.get(_TIMEOUT, TRANSACTION_MS)) / 1000
        mine = {_TIMEOUT: TRANSACTION_MS, **kafka, "transactional.id": identity.name}
        self.out = Outbox(mine, topic)
        self._began = time.monotonic()
        self._open = False

    def begin(self, consumer: Consumer) -> Rows | None:
        """Fence older attempts. Then begin, or if this batch was committed already, return its rows."""
        self.fence()
        with self._explained("begin"):
            committed = _committed(consumer, self._topic, self._identity)
            if committed is not None:
                return committed
            self.out.producer.begin_transaction()
        self._began, self._open = time.monotonic(), True
        return None

    def fence(self) -> None:
        """Abort the open transaction of an older attempt, and keep that attempt from continuing."""
        # Without a connection, the client asks for its coordinator only half a second later.
        with suppress(KafkaException):  # the next step says what is wrong
            self.out.producer.list_topics(self._topic, timeout=_CONNECT_SECONDS)
        with self._explained("begin"):
            _until_done(lambda: self.out.producer.init_transactions(_ANSWER_SECONDS))

    def commit(self, consumer: Consumer, rows: Rows) -> None:
        """Commit the rows and the marker."""
        producer = self.out.producer
        self.out.flush()
        marker = TopicPartition(self._topic, 0, self._identity.batch + 1, json.dumps(asdict(rows)))
        with self._explained("commit"):
            group = consumer.consumer_group_metadata()
            _until_done(lambda: producer.send_offsets_to_transaction([marker], group, _ANSWER_SECONDS))
            _until_done(lambda: producer.commit_transaction(_MOST_SECONDS))
        self._open = False

    def abort(self) -> None:
        """Abort the transaction, if the broker can be reached; otherwise a newer attempt, or the broker, aborts it."""
        was_open, self._open = self._open, False
        try:
            self.out.discard()
            if was_open:
                self.out.producer.abort_transaction(_ANSWER_SECONDS)
        except KafkaException as error:
            if was_open:  # otherwise it is known already that it was fenced, which the client repeats at each call
                logger.warning("the transaction %s was not aborted here: %s", self._identity.name, error)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Raise the client's errors as errors of ours."""
        try:
            yield
        except SerdesError:  # which confluent-kafka's base class makes a KafkaException
            raise
        except KafkaException as error:
            if _is_lost(error.args[0]):
                self._open = False  # it is not ours any more
            raise self._error(what, error) from error

    def _error(self, what: str, error: KafkaException) -> SerdesError:
        fault, name = error.args[0], self._identity.name
        text = f"could not {what} the transaction {name}: {fault.str()}"
        if fault.name() == "INVALID_TRANSACTION_TIMEOUT":
            return ConfigError(
                f"kafka.{_TIMEOUT}: the broker refuses {self._limit * 1000:.0f}",
                topic=self._topic,
                hint="the largest that it accepts is its transaction.max.timeout.ms",
            )
        if fault.name() in _UNAUTHORIZED:
            return TransactionError(text, topic=self._topic, hint=_RIGHTS)
        if is_unsupported(fault):
            hint = "use delivery=at-least-once with dedupHeaders=true"
            return TransactionError(
                f"the broker does not support transactions: {fault.str()}", topic=self._topic, hint=hint
            )
        if not _is_lost(fault):
            return TransactionError(text, topic=self._topic)
        seconds = time.monotonic() - self._began
        late = f"it took {seconds:.0f} s: kafka.{_TIMEOUT} ({self._limit * 1000:.0f}) must exceed the longest task"
        return FencedError(
            text, topic=self._topic, hint=late if seconds >= self._limit else "a newer attempt of the task has begun"
        )


def try_transactions(kafka: Mapping[str, Any], topic: str) -> None:
    """On the driver: find out whether tasks will be able to begin transactions. Nothing has to be cleaned up.

    The rights of a user may be limited to the ids of one query. So a refusal of the driver's own id is not an error;
    tasks find out whether their ids are permitted.
    """
    try:
        Transaction(kafka, topic, _DRIVER).fence()
    except TransactionError as error:
        cause = error.__cause__
        if not isinstance(cause, KafkaException) or cause.args[0].name() not in _UNAUTHORIZED:
            raise


def require_transactions(kafka: Mapping[str, Any], topic: str) -> None:
    """On the driver, before anything else: find out whether the brokers have transactions at all."""
    if (reason := no_producer_ids(kafka, topic)) is not None:
        raise TransactionError(
            f"transactions are not possible: {reason}",
            topic=topic,
            hint="use delivery=at-least-once with dedupHeaders=true",
        )


def committed_rows(kafka: Mapping[str, Any], topic: str, identity: Identity) -> Rows | None:
    """The rows of this batch, if it was committed; needs no transaction, for tasks that have no rows to send."""
    with _marker_reader(kafka, topic, identity) as consumer:
        return _committed(consumer, topic, identity)


def _committed(consumer: Consumer, topic: str, identity: Identity) -> Rows | None:
    """The rows of this batch, if it was committed."""
    found = _marker(consumer, topic)
    batch = identity.batch
    if found.offset <= batch:
        return None
    if found.offset > batch + 1:
        raise StaleBatchError(
            f"expected batch {batch} to be the last one or a new one, but query {identity.query} has "
            f"committed batch {found.offset - 1} in task partition {identity.partition}",
            topic=topic,
            hint="an old checkpoint was restored, or an old task still runs; begin with a new checkpoint",
        )
    try:
        return Rows(**json.loads(found.metadata or ""))
    except (TypeError, ValueError) as error:
        raise TransactionError(
            f"group {identity.name} has an offset that no task has committed", topic=topic
        ) from error


def _marker(consumer: Consumer, topic: str) -> TopicPartition:
    """The offset that the group has committed. The client repeats a refused question until the time is over."""
    until = time.monotonic() + _ANSWER_SECONDS
    while True:
        try:
            (found,) = retry(
                lambda: consumer.committed([TopicPartition(topic, 0)], _LOOK_SECONDS), NO_COORDINATOR, _ANSWER_SECONDS
            )
        except KafkaException as error:
            said = consumer.poll(0)  # nothing is assigned, so this gives no messages, but the broker's refusal
            refusal = None if said is None else said.error()
            fault, late = refusal or error.args[0], time.monotonic() > until
            if late or error.args[0].name() != "_TIMED_OUT" or fault.name() in _UNAUTHORIZED:
                raise _no_marker(fault, topic) from error
            continue
        if found.error is not None:
            raise _no_marker(found.error, topic)
        return found


def _no_marker(fault: KafkaError, topic: str) -> TransactionError:
    return TransactionError(
        f"cannot read from the broker which batch was committed last: {fault.str()}",
        topic=topic,
        hint=_RIGHTS if fault.name() in _UNAUTHORIZED else None,
    )


@contextmanager
def transaction(kafka: Mapping[str, Any], topic: str, identity: Identity) -> Iterator[tuple[Transaction, Consumer]]:
    """A transaction, and the consumer that reads its marker. The transaction is aborted if the block fails."""
    with _marker_reader(kafka, topic, identity) as consumer:
        mine = Transaction(kafka, topic, identity)
        mine.out.begin(topic, 5)
        try:
            yield mine, consumer
        except BaseException:
            mine.abort()
            raise


def _marker_reader(kafka: Mapping[str, Any], topic: str, identity: Identity) -> closing[Consumer]:
    from confluent_kafka import Consumer

    shared = {name: value for name, value in kafka.items() if not name.startswith(_PRODUCERS_ONLY)}
    told = {**shared, "group.id": identity.name, "enable.auto.commit": False, "isolation.level": "read_committed"}
    return closing(client(Consumer, told, topic, ClientErrors(kafka, topic)))


def require_timeout(kafka: Mapping[str, Any]) -> None:
    """Raises ConfigError if the time limit of transactions is not a number of milliseconds."""
    given = str(kafka.get(_TIMEOUT, TRANSACTION_MS)).strip()
    if not given.isascii() or not given.isdigit() or not int(given):
        raise ConfigError(f"kafka.{_TIMEOUT}: expected a number of milliseconds from 1 on, got {given!r:.80}")


# Options that only producers have; a consumer would log that it ignores them.
_PRODUCERS_ONLY: Final = (
    *("acks", "batch.", "compression.", "delivery.", "enable.gapless.", "enable.idempotence", "linger.", "partitioner"),
    *("message.send.", "message.timeout.", "queue.buffering.", "request.", "retries", "sticky.", "transaction."),
)


def _is_lost(fault: KafkaError) -> bool:
    return is_fenced(fault) or fault.fatal() or fault.name() in _EXPIRED


def _until_done(step: Callable[[], object]) -> None:
    deadline = time.monotonic() + _ANSWER_SECONDS
    until_done(step, lambda: time.monotonic() > deadline)
