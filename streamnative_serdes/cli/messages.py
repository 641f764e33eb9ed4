"""The commands ``decode``, ``tail`` and ``produce``: messages to JSON lines, and JSON lines to messages."""

from __future__ import annotations

import base64
import binascii
import copy
import json
import re
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import click

from streamnative_serdes._config import DESERIALIZER_OPTIONS, SERIALIZER_OPTIONS
from streamnative_serdes._schema import load
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError, SchemaNotFoundError, SerdesError

from .kafka_clients import Outbox, Start, consumed
from .message_json import Line, parse_line, place_of
from .message_values import NO_KEY, Decoded, Framer, MessageDecoder, apparent, framer_of
from .options import GIVEN_FILE, PARTITIONS, Connection, choice_option, connected_with, topic_name
from .output import Command, FailureError, as_json, counted, failure_of, json_text, say, show, show_json

# Messages as they come: the members of their lines that say where they are, their values, keys and headers.
_Incoming: TypeAlias = Generator[tuple[dict[str, Any], bytes | None, Any, Any], None, None]
# What is wrong with one message. All else, such as a registry that is away, would fail for the next one too.
_ITS_OWN_FAULT: Final = (DecodeError, SchemaError, SchemaNotFoundError)


# What --format may contain, and the members of a line that it stands for.
_MEMBERS: Final = dict(
    zip(
        ("%t", "%p", "%o", "%T", "%k", "%h", "%f", "%v", "%s"),
        ("topic", "partition", "offset", "timestamp", "key", "headers", "framing", "version", "value"),
        strict=True,
    )
)
_ESCAPES: Final = {"%%": "%", r"\t": "\t", r"\n": "\n", r"\\": "\\"}
_CHOOSING: Final = {"start": "--from", "partitions": "--partition", "wanted": "--key", "follow": "--follow"}
_MARK: Final = re.compile(r"[%\\].?", re.DOTALL)


def _template(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    for mark in _MARK.findall(value or ""):
        if mark not in _MEMBERS and mark not in _ESCAPES:
            raise click.BadParameter(f"{mark} is unknown; expected {' '.join((*_MEMBERS, *_ESCAPES))}")
    return value


def _start(_context: click.Context, _parameter: click.Parameter, value: str) -> Start:
    try:
        return Start.parse(value)
    except ValueError as expected:
        raise click.BadParameter(f"expected {expected}") from None


@click.command(cls=Command)
@click.argument("topic", callback=topic_name)
@click.option(
    "--from",
    "start",
    default="beginning",
    show_default=True,
    callback=_start,
    metavar="beginning|end|OFFSET|-N|AGE|TIME",
    help="Where to begin; -N is N messages before the end of each partition, and an age is -30s, -10m, -2h or -1d.",
)
@PARTITIONS
@click.option("--key", "wanted", help="Show only messages with this key: its text, or JSON if keys are data.")
@click.option("--max", "most", type=click.IntRange(1), help="Stop after this many messages.")
@click.option("-f", "--follow", is_flag=True, help="Wait for new messages, until Ctrl-C.")
@click.option(
    "--input", "file", type=click.File("rb"), help="Read this file instead of the broker; - for standard input."
)
@choice_option(
    "--input-format",
    of=("raw", "base64", "hex"),
    text="raw: the file is one message; otherwise each of its lines is one.",
)
@click.option("--schema", type=GIVEN_FILE, help="The reader's schema (.avsc): show all messages as this schema.")
@click.option("--schema-version", "version", type=click.IntRange(0), help="Version of messages without a header.")
@click.option("--values", is_flag=True, help="Show values only.")
@click.option("--pretty", is_flag=True, help="Lay out each message over several lines, for people.")
@click.option(
    "--format",
    "template",
    callback=_template,
    help="A line for each message, as kcat's: %t topic, %p partition, %o offset, %T time, %k key, %h headers, "
    r"%f framing, %v schema version, %s value, %% percent sign; \t and \n.",
)
@connected_with(DESERIALIZER_OPTIONS)
def decode(
    connection: Connection,
    topic: str,
    start: Start,
    partitions: tuple[int, ...],
    wanted: str | None,
    most: int | None,
    follow: bool,
    file: IO[bytes] | None,
    input_format: str,
    schema: Path | None,
    version: int | None,
    values: bool,
    pretty: bool,
    template: str | None,
) -> None:
    """Show the messages of TOPIC as JSON lines: place, key, headers, framing, schema version and value.

    A message that cannot be read is shown with the error and its bytes, and the exit code is 1.
    """
    if template is not None and (values or pretty or as_json()):
        raise click.UsageError("--format excludes --values, --pretty and --json")
    if file is not None:
        _refuse_choice()
    decoder = MessageDecoder(connection, None if schema is None else load(schema), version)
    incoming = (
        _consumed(connection, topic, start, partitions, follow) if file is None else _from_file(file, input_format)
    )
    view = _View(decoder, topic, values, 2 if pretty else None, wanted, template)
    with closing(decoder), closing(incoming):
        try:
            for place, *message in incoming:
                view.show(place, *message)
                if view.shown == most:
                    break
        except KeyboardInterrupt:
            if not follow:
                raise
    if view.failed:
        raise FailureError(f"{view.failed} of {counted(view.shown, 'message')} cannot be read", topic=topic)


def _refuse_choice() -> None:
    """Raises UsageError for options that choose by place or key, which messages from a file lack."""
    context = click.get_current_context()
    given = [
        option
        for name, option in _CHOOSING.items()
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: messages from a file (--input) have no place and no key")


def _consumed(connection: Connection, topic: str, start: Start, partitions: tuple[int, ...], follow: bool) -> _Incoming:
    with closing(consumed(connection.kafka_conf(), topic, start, partitions, follow=follow)) as messages:
        for message in messages:
            value: Any = message.value()
            yield place_of(message), value, message.key(), message.headers()


def _from_file(file: IO[bytes], form: str) -> _Incoming:
    if form == "raw":
        yield {}, file.read(), NO_KEY, None
        return
    for number, line in enumerate(file, 1):
        text = line.strip()
        if not text:
            continue
        try:
            data = base64.b64decode(text, validate=True) if form == "base64" else bytes.fromhex(text.decode())
        except (binascii.Error, ValueError) as error:
            raise DecodeError(f"line {number} is not {form}: {error}") from None
        yield {"line": number}, data, NO_KEY, None


@dataclass(slots=True)
class _View:
    decoder: MessageDecoder
    topic: str
    values: bool
    indent: int | None
    wanted: str | None
    template: str | None
    shown: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)

    def show(self, place: dict[str, Any], data: bytes | None, key: Any, headers: Any) -> None:
        try:
            decoded = self.decoder.decode(self.topic, data, key, headers)
        except _ITS_OWN_FAULT as error:
            if self._wants(key, NO_KEY):
                self._show_failure(place, data, error)
        except RecursionError:
            if self._wants(key, NO_KEY):
                self._show_failure(place, data, DecodeError("the data is nested too deeply", topic=self.topic))
        else:
            if self._wants(key, decoded.key):
                self._show(place, decoded)

    def _wants(self, key: Any, data: Any) -> bool:
        """Whether a message has the key that is asked for, as text or, if it is data, as JSON."""
        if self.wanted is None or key == self.wanted.encode("utf-8", "surrogateescape"):  # bytes as they were typed
            return True
        return data is not NO_KEY and bool(data == _json(self.wanted))

    def _show(self, place: dict[str, Any], decoded: Decoded) -> None:
        self.shown += 1
        line = decoded.alone if self.values else {**decoded.around(place), **decoded.members()}
        if self.template is None:
            show_json(line, indent=self.indent)
        else:
            say(_filled(self.template, line))

    def _show_failure(self, place: dict[str, Any], data: bytes | None, error: SerdesError) -> None:
        self.shown, self.failed = self.shown + 1, self.failed + 1
        if self.values or self.template is not None:
            where = ", ".join(f"{name} {place[name]}" for name in ("partition", "offset", "line") if name in place)
            say(f"{where}: {error}" if where else str(error), err=True)
        else:
            raw = {"base64": base64.b64encode(data or b"").decode("ascii")}
            show_json({**place, **apparent(data), "error": str(error), "raw": raw}, indent=self.indent)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _filled(template: str, line: Mapping[str, Any]) -> str:
    def part(found: re.Match[str]) -> str:
        if found[0] in _ESCAPES:
            return _ESCAPES[found[0]]
        value = line.get(_MEMBERS[found[0]])
        return value if isinstance(value, str) else json_text(value)

    return _MARK.sub(part, template)


def _of_tail(option: click.Parameter) -> click.Parameter:
    """The same option, for the end of a topic."""
    if option.name != "start":
        return option
    last = copy.copy(option)
    last.default = "-10"
    return last


tail = Command(
    "tail",
    callback=decode.callback,
    params=[_of_tail(option) for option in decode.params],
    help="Show the last ten messages of each partition of TOPIC, as decode does; -f waits for new ones.",
)


@click.command(cls=Command)
@click.argument("topic", callback=topic_name)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--schema", type=GIVEN_FILE, help="Write with this schema (.avsc), and register it.")
@click.option("--schema-version", "version", type=click.IntRange(0), help="Write with this version of the topic.")
@click.option("--values", is_flag=True, help="Each line is a value alone.")
@click.option("--any-partition", is_flag=True, help="Ignore the lines' partitions: the keys choose them.")
@click.option("--create", is_flag=True, help="Let the broker create the topic if it does not exist.")
@click.option("--dry-run", is_flag=True, help="Check all lines, but register and send nothing.")
@connected_with(SERIALIZER_OPTIONS)
def produce(
    connection: Connection,
    topic: str,
    file: IO[bytes],
    schema: Path | None,
    version: int | None,
    values: bool,
    any_partition: bool,
    create: bool,
    dry_run: bool,
) -> None:
    """Send JSON lines from FILE, standard input by default, to TOPIC as framed messages.

    A line is {"value": ...}, and may have key, headers, partition and timestamp, as decode shows them. Values are
    written with the topic's latest schema, unless --schema or --schema-version says otherwise.
    """
    if schema is not None and version is not None:
        raise click.UsageError("--schema and --schema-version exclude each other")
    outbox = None if dry_run else Outbox(connection.kafka_conf(), topic)
    if outbox is not None and not create:
        outbox.require_topic()
    framer = framer_of(connection, topic, None if schema is None else load(schema), version, dry_run=dry_run)
    with closing(framer):
        count = _send_all(file, framer, outbox, values=values, any_partition=any_partition)
    partitions = {} if outbox is None else dict(sorted(outbox.delivered.items()))
    tree = {"topic": topic, "version": framer.version, "messages": count, "partitions": partitions, "dry_run": dry_run}
    sent = counted(count, "message")
    done = f"would send {sent}" if dry_run else f"{sent} sent, schema version {framer.version}"
    show(tree, f"{topic}: {done}")


def _send_all(file: IO[bytes], framer: Framer, outbox: Outbox | None, *, values: bool, any_partition: bool) -> int:
    """Send all lines, and return their number. Without an outbox, lines are only checked. Raises FailureError."""
    count = 0
    try:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            line, message = _framed(number, text, framer, values)
            if outbox is not None:
                outbox.send(replace(line, partition=None) if any_partition else line, message)
            count += 1
        if outbox is not None:
            outbox.finish()
    except (FailureError, KeyboardInterrupt) as error:
        raise failure_of(error).told(after=f"; {_sent(outbox)}") from error
    return count


def _framed(number: int, text: bytes, framer: Framer, values: bool) -> tuple[Line, bytes | None]:
    try:
        line = parse_line(text, values=values, halves=framer.halves)
        key, message = framer.frame(line)
        return replace(line, key=key), message
    except EncodeError as error:
        raise failure_of(error).told(f"line {number}: ") from error
    except RecursionError:
        raise FailureError(f"line {number}: the value is nested too deeply") from None


def _sent(outbox: Outbox | None) -> str:
    """The number of messages that have arrived, as text; waits until no more can arrive."""
    if outbox is None:
        return "nothing was sent"
    with suppress(FailureError, SerdesError):
        outbox.finish()
    return f"sent before: {counted(outbox.delivered.total(), 'message')}"
