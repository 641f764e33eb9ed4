"""The command ``convert``: entries of dumps, or of a topic, to JSON lines, to Pulsar's format or to Kafka's batches."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

import click

from streamnative_serdes import _config
from streamnative_serdes._formats import EXTERNAL
from streamnative_serdes._formats.parts import described
from streamnative_serdes.converters import (
    AdminEntryReader,
    DumpWriter,
    EntryReader,
    KafkaEntryReader,
    Message,
    StoredEntry,
    read_dump,
)
from streamnative_serdes.converters.kafka_entries import Isolation
from streamnative_serdes.converters.stored import read_batches_one_by_one, read_one
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError, SchemaNotFoundError, SerdesError

from .options import FILE, Connection, choice_option, connected, topic_name
from .output import Command, FailureError, counted, failure_of, say, show
from .targets import Item, KafkaBatches, Lines, PulsarEntries, Target, Unchanged

_IN_MEMORY: Final = 8 << 20  # bytes of the result for one item; a larger one goes to a temporary file
_MIB: Final = 1 << 20
_SIZE: Final = click.IntRange(1, 2**31 - 1)


@dataclass(slots=True)
class EntryReaders:
    """Options for reading entries, and a reader for each partition, since transactions and chunks do not cross them."""

    isolation: Isolation
    max_batch_size: int
    max_held: int
    schema_header: bool
    _entries: dict[int, EntryReader] = field(default_factory=dict, init=False)
    _batches: KafkaEntryReader | None = field(default=None, init=False)

    def messages(self, item: Item) -> Iterator[Message]:
        """The messages of an item, and the records held for a transaction that the item ends."""
        if item.at is not None:
            self._batches = self._batches or self._batch_reader(self.isolation)
            return self._batches.batches(item.stored.data)
        reader = self._entries.get(item.stored.partition)
        if reader is None:
            reader = self._entries[item.stored.partition] = self._entry_reader(self.isolation)
        return reader.entry(item.stored.data)

    def check(self, item: Item) -> None:
        """Read an item of Kafka's format alone. Raises DecodeError if that fails; the readers stay as they are."""
        if item.at is not None:
            found = self._batch_reader("read_uncommitted").batches(item.stored.data)
        elif item.kafka:
            found = self._entry_reader("read_uncommitted").entry(item.stored.data)
        else:
            return
        for _ in found:
            pass

    def left(self) -> Iterator[str]:
        """Lines about messages that were not yielded, because their transaction has not ended or chunks are missing."""
        for partition, reader in sorted(self._entries.items()):
            where = f"partition {partition}: " if partition >= 0 else ""
            yield from (where + text for text in self._held(reader))
            if reader.unfinished:
                names = ", ".join(reader.unfinished)
                number = counted(len(reader.unfinished), "message")
                yield f"{where}{number} not written, because chunks are missing: {names}"
        if self._batches is not None:
            yield from self._held(self._batches)

    def _entry_reader(self, isolation: Isolation) -> EntryReader:
        return EntryReader(isolation=isolation, max_chunked=self.max_held, **self._limits)

    def _batch_reader(self, isolation: Isolation) -> KafkaEntryReader:
        return KafkaEntryReader(isolation=isolation, **self._limits)

    @property
    def _limits(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("max_batch_size", "max_held", "schema_header")}

    def _held(self, reader: EntryReader | KafkaEntryReader) -> Iterator[str]:
        if self.isolation != "read_committed":
            return
        unknown = reader.unknown
        if unknown.held:
            began = ", ".join(f"producer {producer} from offset {first}" for producer, first in unknown.open.items())
            yield f"{counted(unknown.held, 'message')} not written, because transactions have not ended: {began}"
        if unknown.may_have_begun_before:
            producers = ", ".join(map(str, sorted(unknown.may_have_begun_before)))
            yield f"transactions may have begun before the first entry: those of producers {producers}"


@dataclass(slots=True)
class Conversion:
    target: Target  # the format
    reading: EntryReaders  # how items are read
    out: BinaryIO  # gets the result
    # gets entries that cannot be read, as a dump; None ends the conversion with the first one
    failed: DumpWriter | None
    items: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)

    def add(self, item: Item) -> None:
        self.items += 1
        committed = self.reading.isolation == "read_committed"
        try:
            if committed and self.failed is not None:
                self.reading.check(item)
        except DecodeError as error:
            self._keep(item, error)
            return
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as draft:
            try:
                self.target.write(item, lambda: self.reading.messages(item), cast("BinaryIO", draft))
            except (DecodeError, EncodeError) as error:
                # A reader that follows transactions has consumed a part of the item, and cannot undo that.
                self._keep(item, error, possible=not committed)
                return
            draft.seek(0)
            shutil.copyfileobj(draft, self.out)

    def finish(self) -> None:
        self.target.finish(self.out)
        if self.failed is not None:
            self.failed.finish()
        for text in self.reading.left():
            say(f"Warning: {text}", err=True)

    def _keep(self, item: Item, error: SerdesError, *, possible: bool = True) -> None:
        if self.failed is None or not possible:
            failure = failure_of(error)
            usual = "--failed FILE keeps what cannot be read, and goes on" if possible else None
            hint = failure.parts.get("hint") or usual
            raise failure.told(f"{item.place}: " if item.place else "", hint=hint) from error
        self.failed.write(item.stored)
        self.failures += 1
        say(f"{item.place or f'entry {self.items}'}: {error}", err=True)


def _start(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})", value, re.ASCII)
    if found is None:
        raise click.BadParameter("expected LEDGER:ENTRY, such as 12:0")
    return int(found[1]), int(found[2])


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=click.File("rb"))
@click.option("--topic", callback=topic_name, help="Read this topic through Pulsar's admin API instead of files.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition, of files too.")
@click.option("--start", default="0:0", callback=_start, metavar="LEDGER:ENTRY", help="Where to begin in the topic.")
@choice_option(
    "--to",
    "target",
    of=("json", "pulsar", "kafka", "entries"),
    text="JSON lines; a dump of entries of Pulsar's format; Kafka's batches; or a dump of the entries as they are.",
)
@choice_option(
    "--input-format",
    of=("entries", "entry", "batches"),
    text="Files are dumps of entries; each is one entry; or each is Kafka's batches.",
)
@click.option("--output", "-o", type=FILE, help="The file to write; it must not exist.  [default: standard output]")
@choice_option(
    "--isolation",
    of=("read_uncommitted", "read_committed"),
    text="Whether records of open and aborted transactions of Kafka are left out.",
)
@choice_option(
    "--external-ids",
    of=("none", "4.2", "4.1"),
    text="With --to pulsar: move schema ids from headers into the metadata, as Pulsar's client of this release does.",
)
@click.option("--keep-header", is_flag=True, help="Leave the schema version header on the values.")
@click.option("--failed", type=FILE, help="Go on after entries that cannot be read, and write them to this dump.")
@click.option("--blanks", is_flag=True, help="Take blanks that the admin API shows in keys and properties for blanks.")
@click.option(
    "--max-batch-size", type=_SIZE, default=64 * _MIB, show_default=True, help="Bytes of an entry or a batch."
)
@click.option("--max-held", type=_SIZE, default=64 * _MIB, show_default=True, help="Bytes of open transactions.")
@connected
def convert(
    connection: Connection,
    files: tuple[IO[bytes], ...],
    topic: str | None,
    partition: int | None,
    start: tuple[int, int],
    target: str,
    input_format: str,
    output: Path | None,
    isolation: Any,
    external_ids: Any,
    keep_header: bool,
    failed: Path | None,
    blanks: bool,
    max_batch_size: int,
    max_held: int,
) -> None:
    """Convert entries that a Pulsar broker has stored, of KoP's producers or Pulsar's.

    They come from FILES, standard input by default, or from --topic. An entry is converted as a whole or not at all;
    one that cannot be read ends the command, or goes to --failed, and the exit code is 1.
    """
    if topic is not None and (files or input_format != "entries"):
        raise click.UsageError("--topic needs no FILES and no --input-format")
    if topic is None and (start > (0, 0) or blanks):
        raise click.UsageError("--start and --blanks need --topic")
    if input_format == "batches" and target == "entries":
        raise click.UsageError("Kafka's batches are no entries: --to pulsar makes entries of them")
    if partition is not None and input_format != "entries":
        raise click.UsageError("--partition is for dumps and --topic: other entries and batches do not name theirs")
    if external_ids != "none" and target != "pulsar":
        raise click.UsageError("--external-ids needs --to pulsar")
    with ExitStack() as stack:
        out = _opened(stack, output) or _standard_output(target)
        kept = _opened(stack, failed)
        conversion = Conversion(
            _target(target, topic, max_batch_size, isolation == "read_uncommitted", external_ids),
            EntryReaders(isolation, max_batch_size, max_held, not keep_header),
            out,
            None if kept is None else DumpWriter(kept),
        )
        if topic is not None:
            items = _of_topic(stack, connection, topic, partition, start, blanks)
        else:
            items = _of_files(files or (sys.stdin.buffer,), input_format, max_batch_size)
        for number, item in enumerate(items, 1):
            if partition is not None and item.stored.partition < 0:
                raise click.UsageError(
                    f"--partition {partition}: {item.place or f'entry {number}'} does not name its partition"
                )
            if partition is None or item.stored.partition == partition:
                conversion.add(item)
        conversion.finish()
    _report(conversion, output)


def _target(name: str, topic: str | None, most: int, placed: bool, external_ids: Any) -> Target:
    if name == "json":
        return Lines(topic, placed)
    if name == "entries":
        return Unchanged()
    if name == "pulsar":
        return PulsarEntries(most, placed, None if external_ids == "none" else external_ids)
    return KafkaBatches(most)


def _of_topic(
    stack: ExitStack, connection: Connection, topic: str, partition: int | None, start: tuple[int, int], blanks: bool
) -> Iterator[Item]:
    _warn_of_lost_ids(connection, topic)
    conf = connection.options_of(_config.REGISTRY_OPTIONS)
    reader = stack.enter_context(AdminEntryReader(conf, blanks=blanks))
    return map(Item, reader.entries(topic, partition=partition, start=start))


def _warn_of_lost_ids(connection: Connection, topic: str) -> None:
    with connection.client() as client, suppress(SchemaNotFoundError, SchemaError):
        if EXTERNAL in described(client.latest(connection.full_name(topic))):
            text = "the topic's schemas are outside of Pulsar, and the admin API leaves out the id of each message's"
            say(f"Warning: {text}: a client of Pulsar shows it", err=True)


def _of_files(files: Sequence[IO[bytes]], form: str, most: int) -> Iterator[Item]:
    for file in files:
        try:
            yield from _of_file(cast("BinaryIO", file), form, most)
        except DecodeError as error:  # the file itself is damaged: where its next entry begins is not known
            error.message = f"{getattr(file, 'name', '<stdin>')}: {error.message}"
            raise


def _of_file(file: BinaryIO, form: str, most: int) -> Iterator[Item]:
    if form == "entries":
        yield from map(Item, read_dump(file, max_entry_size=most))
    elif form == "entry":
        yield Item(StoredEntry(read_one(file, max_size=most)))
    else:
        for at, batch in read_batches_one_by_one(file, max_size=most):
            yield Item(StoredEntry(batch), at)


def _opened(stack: ExitStack, path: Path | None) -> BinaryIO | None:
    """A new file; an existing file is not overwritten, since it may be the input."""
    if path is None:
        return None
    try:
        file = path.open("xb")
    except FileExistsError:
        raise click.UsageError(f"{path} exists, and is not overwritten") from None
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror}") from None
    stack.enter_context(_removed_if_empty(path))
    return stack.enter_context(file)


@contextmanager
def _removed_if_empty(path: Path) -> Iterator[None]:
    """Remove a file if the block fails before it writes anything: the corrected command needs the name."""
    try:
        yield
    except BaseException:
        if path.stat().st_size == 0:
            path.unlink()
        raise


def _standard_output(target: str) -> BinaryIO:
    if target != "json" and _is_terminal():
        raise click.UsageError(f"--to {target} gives bytes that a terminal cannot show: add --output FILE")
    return sys.stdout.buffer


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _report(conversion: Conversion, output: Path | None) -> None:
    if output is not None:
        tree = {"file": str(output), "entries": conversion.items, "failed": conversion.failures}
        show(tree, f"{output}: {_entries(conversion.items - conversion.failures)} converted")
    if conversion.failures:
        raise FailureError(f"{conversion.failures} of {_entries(conversion.items)} cannot be read")


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
