"""Draw the pictures in docs/pictures/. ``--check`` writes nothing, and exits with status 1 if one differs.

Each has a light ground of its own, so that it can be read on dark pages too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
BLUE, GREEN, SAND, RED, WHITE = "#dbe9fb", "#dcf2e0", "#fbf0d5", "#fbdfdd", "#ffffff"
_INK: Final = "#1f2933"
_LINE: Final = 17  # pixels from one line of text to the next
_HEAD: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    'role="img" aria-label="{title}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{ink}">\n'
    "<title>{title}</title>\n"
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{ink}"/></marker></defs>\n'
    '<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="8" fill="#ffffff" stroke="#c3ccd5"/>\n'
)


class Picture:
    """An SVG of boxes, arrows and texts; all numbers are pixels from the upper left corner."""

    def __init__(self, title: str, width: int, height: int) -> None:
        self._parts = [
            _HEAD.format(title=escape(title), width=width, height=height, right=width - 1, bottom=height - 1, ink=_INK)
        ]

    def box(self, x: int, y: int, width: int, height: int, text: str, fill: str = WHITE) -> None:
        """A box with lines of text in its middle."""
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{fill}" stroke="{_INK}"/>\n'
        )
        lines = text.split("\n")
        top = y + height / 2 - (len(lines) - 1) * _LINE / 2 + 4.5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + number * _LINE, line, anchor="middle", bold=number == 0 and len(lines) > 1)

    def text(self, x: float, y: float, line: str, *, anchor: str = "start", bold: bool = False) -> None:
        """A line of text, whose base is at ``y``."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>{escape(line)}</text>\n')

    def line(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A line through the points, without a tip."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>\n')

    def arrow(self, *points: tuple[int, int], label: str = "", dashed: bool = False) -> None:
        """A line through the points, with a tip; the label stands above its first part."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x},{y}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{_INK}" stroke-width="1.4" marker-end="url(#tip)"{dash}/>\n'
        )
        if label:
            (x, y), (to_x, to_y) = points[:2]
            if x == to_x:
                self.text(x + 6, (y + to_y) / 2 + 4, label)
            else:
                self.text((x + to_x) / 2, (y + to_y) / 2 - 6, label, anchor="middle")

    def svg(self) -> str:
        return "".join(self._parts) + "</svg>\n"


def header() -> Picture:
    """The bytes of a message."""
    picture = Picture("A message: marker, schema version, datum", 720, 110)
    for x, width, text, fill in (
        (20, 110, "0x03 0x04\nmarker", SAND),
        (130, 250, "schema version\nint64, big-endian", BLUE),
        (380, 320, "Avro datum\nbinary, by that version's schema", GREEN),
    ):
        picture.box(x, 40, width, 50, text, fill)
    for x, offset in ((20, "offset 0"), (130, "2"), (380, "10")):
        picture.text(x, 28, offset)
    return picture


def way() -> Picture:
    """Writing and reading, at a hit and at a miss."""
    picture = Picture("The way of a message, at a hit and at a miss", 800, 330)
    picture.text(20, 30, "write", bold=True)
    picture.text(20, 190, "read", bold=True)
    for y, first, last in ((45, "object", "bytes"), (205, "bytes", "object")):
        picture.box(20, y, 100, 40, first)
        picture.box(210, y, 190, 40, "compiled call path\ncache: topic, version", GREEN)
        picture.box(490, y, 150, 40, "compiled codec\nheader, Avro datum", GREEN)
        picture.box(690, y, 90, 40, last)
        picture.arrow((120, y + 20), (208, y + 20))
        picture.arrow((400, y + 20), (488, y + 20), label="hit")
        picture.arrow((640, y + 20), (688, y + 20))
        picture.arrow((305, y + 40), (305, y + 78), label="miss: once for each topic and version")
    for y, policy, registry in (
        (125, "write policy", "POST returns the schema's version"),
        (285, "read policy", "GET returns a version's schema"),
    ):
        picture.box(210, y, 190, 34, policy, SAND)
        picture.box(490, y - 4, 290, 42, f"Pulsar's registry\n{registry}", BLUE)
        picture.arrow((400, y + 17), (488, y + 17))
    return picture


def rooms() -> Picture:
    """The rooms, from what users call down to words."""
    picture = Picture("The rooms: imports go downwards only", 760, 330)
    rows = (
        ("EDGE", "cli   migration   converters   spark   connect   testing", SAND),
        ("FACE", "serializer   deserializer   auto_consume   compat   integrations   policies", BLUE),
        ("TOPICS", "one object for each topic: its versions, looked up once", GREEN),
        ("MECHANISMS", "registry   header   codec   arrow   formats   models   auth   http", GREEN),
        ("WORDS", "schema   options   Kafka clients   errors   serialization", WHITE),
    )
    for number, (name, content, fill) in enumerate(rows):
        y = 20 + number * 60
        picture.text(20, y + 27, name, bold=True)
        picture.box(130, y, 610, 44, content, fill)
        if number:
            picture.arrow((435, y - 16), (435, y - 2))
    return picture


def decision() -> Picture:
    """The decision which schema reads a message."""
    picture = Picture("Which schema reads a message", 780, 430)
    questions = (
        (20, "begins with 0x03 0x04?"),
        (110, "the registry has the version?"),
        (200, "the latest schema reads the rest whole?"),
        (290, "Confluent's framing, allowed, and readable?"),
    )
    for y, question in questions:
        picture.box(20, y, 330, 44, question, BLUE)
    picture.arrow((185, 64), (185, 108), label="yes")
    picture.arrow((185, 154), (185, 198), label="no")
    picture.arrow((350, 132), (488, 132), label="yes")
    picture.box(490, 110, 270, 44, "read by that version", GREEN)
    picture.arrow((350, 222), (488, 222), label="yes")
    picture.box(490, 200, 270, 44, "read by the latest schema\ncounted as a fallback", GREEN)
    picture.arrow((185, 244), (185, 288), label="no")
    picture.arrow((20, 42), (8, 42), (8, 312), (18, 312))
    picture.text(12, 268, "no")
    picture.arrow((350, 312), (488, 312), label="yes")
    picture.box(490, 290, 270, 44, "read by the id's schema", GREEN)
    picture.arrow((185, 334), (185, 368), label="no")
    picture.box(20, 370, 330, 40, "the latest schema reads all bytes?", BLUE)
    picture.arrow((350, 390), (488, 390), label="yes")
    picture.box(490, 370, 100, 40, "read by it", GREEN)
    picture.arrow((350, 402), (400, 402), (400, 418), (690, 418), (690, 412))
    picture.box(620, 370, 140, 40, "otherwise: error\nthat has all reasons", RED)
    return picture


def history() -> Picture:
    """A topic's versions over time."""
    picture = Picture("A topic's schemas over time", 780, 230)
    picture.arrow((20, 70), (760, 70))
    picture.text(730, 60, "time")
    for x, version, change in (
        (60, "version 0", "name"),
        (260, "version 1", "+ age = 0"),
        (460, "version 2", "+ email = null"),
    ):
        picture.box(x, 30, 130, 40, f"{version}\n{change}", BLUE)
    picture.box(20, 110, 240, 44, "an old producer\nstill writes version 0", SAND)
    picture.box(280, 110, 220, 44, "a new, incompatible schema\nis refused (409)", RED)
    picture.box(520, 110, 240, 44, "a reader with version 2\nreads versions 0, 1 and 2", GREEN)
    picture.box(
        20,
        174,
        740,
        40,
        "a topic that is deleted and created again starts at version 0: noticed, and everything known is dropped",
        WHITE,
    )
    return picture


def migration() -> Picture:
    """The steps of a migration."""
    picture = Picture("Migrating a topic, step by step", 800, 200)
    steps = (
        "1 plan\nboth sides",
        "2 schemas\ncopied",
        "3 messages\ncopied",
        "4 verify\nnothing lost",
        "5 consumers\nchange",
        "6 producers\nchange",
        "7 clean up\nthe old topic",
    )
    for number, step in enumerate(steps):
        x = 14 + number * 112
        picture.box(x, 30, 98, 50, step, (BLUE, BLUE, BLUE, GREEN, SAND, SAND, WHITE)[number])
        if number:
            picture.arrow((x - 14, 55), (x - 2, 55))
    picture.text(14, 115, "old topic: written and read until step 6")
    picture.box(14, 125, 646, 16, "", SAND)
    picture.text(238, 165, "new topic: copied from step 3 on, read from step 5 on, written from step 6 on")
    picture.box(238, 175, 548, 16, "", GREEN)
    return picture


PICTURES = (header, way, rooms, decision, history, migration)


def main() -> None:
    wrong = []
    for draw in PICTURES:
        path, svg = FOLDER / f"{draw.__name__}.svg", draw().svg()
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(svg, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != svg:
            wrong.append(path.name)
    if wrong:
        raise SystemExit(f"differ from what tools/pictures.py draws: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
