"""Output and failures: JSON for programs, tables and colours for people, and an exit code that programs can rely on.

Names, schemas and messages come from others, and may contain control characters, which a terminal would obey, and
characters for right-to-left text, which can make text look like other text. All of these are shown as escapes.

Each failure becomes one message with its hint, and an exit code:

| code | meaning |
|---|---|
| 0 | done |
| 1 | a check failed: incompatible, different, undecodable, a damaged file, a refused confirmation |
| 2 | usage: unknown or contradicting options, a bad configuration |
| 3 | a server refused, or could not be reached |
| 4 | the output could not be written: a full disk, a closed pipe |
| 130 | interrupted by Ctrl-C |
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final, NoReturn, TextIO

import click
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from streamnative_serdes.errors import ConfigError, IncompatibleSchemaError, SchemaRegistryError, SerdesError

from .json_numbers import dumps, parse

try:
    from confluent_kafka import KafkaException

    from streamnative_serdes._kafka import BrokerRefusedError, BrokerUnavailableError

    _KAFKA_REFUSED: tuple[type[Exception], ...] = (BrokerRefusedError, BrokerUnavailableError)
    _OF_KAFKA: tuple[type[Exception], ...] = (KafkaException,)
except ModuleNotFoundError:  # commands that need no Kafka client work without it
    _KAFKA_REFUSED = _OF_KAFKA = ()

# Controls, line separators, marks of direction, invisible characters and halves of surrogate pairs.
_CONTROLS: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e0fff]"
)
_KEPT: Final = frozenset("\n\t")
_PLAIN_WIDTH: Final = 4_000  # characters in a line of a table that is not for a terminal: no cell is cut
CHECK_FAILED: Final = 1
USAGE: Final = 2
REFUSED: Final = 3
UNWRITTEN: Final = 4
INTERRUPTED: Final = 130
# Errors of writing to what is open already. Whatever is opened by its name has typed errors of its own.
_UNWRITTEN: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def visible(text: str, *, lines: bool = False) -> str:
    r"""``text`` with escapes such as ``\x1b`` for control characters; with ``lines``, line breaks and tabs are kept."""
    return _CONTROLS.sub(lambda found: found[0] if lines and found[0] in _KEPT else _escape(found[0], "\\x"), text)


def counted(number: int, noun: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def json_text(value: Any, *, indent: int | None = None) -> str:
    """``value`` as JSON, with escapes for control characters, which leave the JSON equal. Raises RecursionError."""
    text = dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    # JSON itself escapes the first 32 characters in strings, so those that are left are line ends of the layout.
    return _CONTROLS.sub(lambda found: "\n" if found[0] == "\n" else _escape(found[0], "\\u00"), text)


def _escape(char: str, short: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"{short}{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return "".join(f"\\u{unit:04x}" for unit in (0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code & 0x3FF)))


def moment(millis: int, otherwise: str) -> str:
    """A time in UTC, or other text if it is beyond the calendar: producers may have written any number."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return otherwise


def as_json() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get("json"))


def show(tree: Any, *lines: str) -> None:
    """Print ``tree`` for programs, and ``lines`` for people."""
    if as_json():
        show_json(tree)
    else:
        for line in lines:
            say(line)


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines for people; control characters in them are shown as escapes.

    With ``--json``, text for standard error becomes an object in a line of its own.
    """
    if err and as_json():
        click.echo(json_text({"message": text}), err=True)
        return
    click.echo(_encodable(visible(text, lines=True), sys.stderr if err else sys.stdout), err=err)


def show_json(value: Any, *, indent: int | None = None) -> None:
    """Print JSON; indented JSON gets colours on a terminal."""
    text = json_text(value, indent=indent)
    if indent is not None and sys.stdout.isatty():
        Console(soft_wrap=True).print(JSONHighlighter()(text))
        return
    if not (sys.stdout.encoding or "utf-8").lower().startswith("utf"):
        text = dumps(value, indent=indent)
    click.echo(text)


def show_raw(text: str) -> None:
    if sys.stdout.isatty():
        say(text)
    else:
        click.echo(text.encode("utf-8", "surrogatepass"))


def show_schema(text: str) -> None:
    """Print a schema as registered, laid out if it is JSON."""
    try:
        show_json(parse(text), indent=2)
    except (ValueError, RecursionError):
        say(text)


def show_table(headers: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(visible(cell)) for cell in row))
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=_PLAIN_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(_encodable(line.rstrip(), sys.stdout))


def marked(good: bool | None, text: str) -> Text:
    """A cell: green if good, red if bad, yellow if neither."""
    style = "yellow" if good is None else "green" if good else "red"
    return Text(visible(text), style=style)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class FailureError(Exception):
    """A failure that a command reports on stderr: text and hint for people, or JSON with the parts of the error.

    ``hint_first``, set by the code that raises the failure: people see the hint before the text.
    """

    def __init__(self, message: str, code: int = CHECK_FAILED, **parts: Any) -> None:
        super().__init__(message)
        self.code, self.hint_first = code, False
        self.parts = {"message": message, **{name: part for name, part in parts.items() if part is not None}}

    def told(self, before: str = "", after: str = "", **parts: Any) -> FailureError:
        """The same failure with more text, and other parts."""
        rest = {name: part for name, part in {**self.parts, **parts}.items() if name != "message"}
        return FailureError(f"{before}{self}{after}", self.code, **rest)

    def show(self, *, as_json: bool) -> None:
        with suppress(OSError):  # there is no place left to tell it; the exit code does
            if as_json:
                click.echo(json_text({"error": self.parts, "exit_code": self.code}), err=True)
                return
            hint, page = (
                [f"{name.title()}: {self.parts[name]}"] if name in self.parts else [] for name in ("hint", "help")
            )
            text = [f"Error: {self}"]
            for line in (*hint, *text, *page) if self.hint_first else (*text, *hint, *page):
                say(visible(line), err=True)


@contextmanager
def output_required(ctx: click.Context | None = None) -> Iterator[None]:
    """If standard output is closed or cannot take the block's output, end with a line and exit code ``UNWRITTEN``."""
    try:
        if sys.stdout is None:  # Python's word for a closed one
            raise OSError(errno.EBADF, "standard output is closed")
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITTEN:
            raise
        with suppress(OSError, ValueError, AttributeError):  # what is left would be written at the end of the process
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        failure = FailureError(f"cannot write the output: {error.strerror}", UNWRITTEN)
        failure.show(as_json=bool(ctx and ctx.meta.get("json")))
        raise click.exceptions.Exit(UNWRITTEN) from None


_ALL_LOGGERS: Final = logging.getLogger("streamnative_serdes")


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage(), err=True)


@contextmanager
def _logged(*, as_json: bool) -> Iterator[None]:
    """Print each of Python's warnings as a line; with ``--json``, print warnings and log records as JSON."""
    handler = _Lines(logging.WARNING)
    if as_json:
        _ALL_LOGGERS.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(
                str(message) if as_json else f"Warning: {message}", err=True
            )
            yield
    finally:
        _ALL_LOGGERS.removeHandler(handler)


_REPORTED: Final[tuple[type[BaseException], ...]] = (
    *(FailureError, SerdesError, RecursionError, KeyboardInterrupt),
    *_OF_KAFKA,
)


class Command(click.Command):
    """A command that reports errors of ours and of Kafka's client as failures; ``--debug`` adds the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _logged(as_json=bool(ctx.params.get("json"))):
                return super().invoke(ctx)
        except _REPORTED as error:
            _fail(ctx, error)


def unavailable(name: str, why: str) -> Command:
    """A command in place of one that needs a package that is not installed."""

    def run(given: tuple[str, ...]) -> NoReturn:  # noqa: ARG001 - whatever it is
        raise FailureError(why, USAGE)

    return Command(
        name,
        callback=run,
        params=[click.Argument(["given"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        help=f"{why}.",
        add_help_option=False,
    )


@contextmanager
def usage_reported(*, as_json: bool) -> Iterator[None]:
    """With ``as_json``, report an error of usage as JSON; otherwise click does, as text."""
    try:
        yield
    except click.UsageError as error:
        if not as_json:
            raise
        FailureError(error.format_message(), USAGE, kind=type(error).__name__).show(as_json=True)
        raise click.exceptions.Exit(USAGE) from None


def _fail(ctx: click.Context, error: BaseException) -> NoReturn:
    if ctx.meta.get("debug"):
        traceback.print_exception(error, file=sys.stderr)
    failure = failure_of(error)
    failure.show(as_json=bool(ctx.meta.get("json")))
    ctx.exit(failure.code)


def failure_of(error: BaseException) -> FailureError:
    """The failure for an error; one of the registry, or of Kafka's client, is a server's refusal."""
    if isinstance(error, FailureError):
        return error
    if isinstance(error, RecursionError):
        return FailureError("the data is nested too deeply")
    if isinstance(error, KeyboardInterrupt):
        return FailureError("interrupted", INTERRUPTED)
    if not isinstance(error, SerdesError):
        fault = error.args[0] if error.args else error
        text = fault.str() if hasattr(fault, "str") else str(fault)
        return FailureError(f"Kafka: {text}", REFUSED, kind=type(error).__name__)
    hint, error.hint = error.hint, None
    try:
        message = str(error)
    finally:
        error.hint = hint
    code = CHECK_FAILED
    if isinstance(error, ConfigError):
        code = USAGE
    elif isinstance(error, (SchemaRegistryError, *_KAFKA_REFUSED)) and not isinstance(error, IncompatibleSchemaError):
        code = REFUSED
    more = {name: getattr(error, name, None) for name in ("topic", "version", "path", "status", "url", "help")}
    return FailureError(message, code, kind=type(error).__name__, hint=hint, **more)
