"""Output: JSON for programs, tables and colours for people, without characters that control the terminal.

Names, schemas and messages come from others, and may contain control characters, which a terminal would obey, and
characters for right-to-left text, which can make text look like other text. All of these are shown as escapes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

import click
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

# Controls, line separators, marks of direction, invisible characters and halves of surrogate pairs.
_CONTROLS: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e0fff]"
)
_KEPT: Final = frozenset("\n\t")
_PLAIN_WIDTH: Final = 4_000  # characters in a line of a table that is not for a terminal: no cell is cut


def visible(text: str, *, lines: bool = False) -> str:
    r"""``text`` with escapes such as ``\x1b`` for control characters; with ``lines``, line breaks and tabs are kept."""
    return _CONTROLS.sub(lambda found: found[0] if lines and found[0] in _KEPT else _escape(found[0], "\\x"), text)


def counted(number: int, noun: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def json_text(value: Any, *, indent: int | None = None) -> str:
    """``value`` as JSON, with escapes for control characters, which leave the JSON equal. Raises RecursionError."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    # JSON itself escapes the first 32 characters in strings, so those that are left are line ends of the layout.
    return _CONTROLS.sub(lambda found: "\n" if found[0] == "\n" else _escape(found[0], "\\u00"), text)


def _escape(char: str, short: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"{short}{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return "".join(f"\\u{unit:04x}" for unit in (0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code & 0x3FF)))


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
    if not _is_unicode(sys.stdout):
        text = json.dumps(json.loads(text), indent=indent)
    click.echo(text)


def show_raw(text: str) -> None:
    """Print text unchanged, as UTF-8; on a terminal, with escapes for control characters."""
    if sys.stdout.isatty():
        say(text)
    else:
        click.echo(text.encode("utf-8", "surrogatepass"))


def show_schema(text: str) -> None:
    """Print a schema as registered, laid out if it is JSON."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        say(text)
    else:
        show_json(tree, indent=2)


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


def _is_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
