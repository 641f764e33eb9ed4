"""Randomly drawn faults: comparisons, +-1, and/or, early returns, defaults.

The same seed and sources give the same list. In Python, places are found in the syntax tree; in Cython and C line by
line: a part of the line that can be put in parentheses.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from faults import Fault
from rooms import ROOMS, Room, room_of

COMPARISONS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is not": "is", "is": "is not", "not in": "in", "in": "not in",
}  # fmt: skip
JOINTS = {"and": "or", "or": "and", "&&": "||", "||": "&&"}
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
KINDS = ("comparison", "one off", "and/or", "early return", "default")


@dataclass(frozen=True)
class Change:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str
    kind: str


def draw(root: Path, seed: int, new: bool = False) -> list[Fault]:
    """Draw ``drawn`` (or ``new``) faults of each room, of all kinds in turn as long as there are any."""
    chance = random.Random(seed)
    return [fault for room in ROOMS for fault in _draw_room(root, room, chance, new)]


def _draw_room(root: Path, room: Room, chance: random.Random, new: bool) -> Iterator[Fault]:
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in _files(root, room)}
    by_kind: dict[str, list[tuple[str, Change]]] = {kind: [] for kind in KINDS}
    for file, text in texts.items():
        for change in changes(file, text):
            by_kind[change.kind].append((file, change))
    kinds = [kind for kind in KINDS if by_kind[kind]]
    chance.shuffle(kinds)
    taken: list[tuple[str, Change]] = []
    while len(taken) < (room.new if new else room.drawn) and any(by_kind.values()):
        pool = by_kind[kinds[0]]
        kinds = [*kinds[1:], kinds[0]]
        if pool:
            file, change = pool.pop(chance.randrange(len(pool)))
            if not any(file == other and change.start < c.end and c.start < change.end for other, c in taken):
                taken.append((file, change))
    for number, (file, change) in enumerate(taken, 1):
        yield _fault(f"{'new-' * new}{room.name.replace(' ', '-')}-drawn-{number}", file, texts[file], change)


def _files(root: Path, room: Room) -> list[Path]:
    found = {path for pattern in room.files for path in root.glob(pattern.removesuffix("/*") + "/**/*"
             if pattern.endswith("/*") else pattern)}  # fmt: skip
    sources = sorted(path for path in found if path.suffix in {".py", ".pyx", ".pxd", ".h"})
    # A folder of the room may have folders of rooms before it.
    return [path for path in sources if room_of(path.relative_to(root).as_posix()) is room]


def _fault(name: str, file: str, text: str, change: Change) -> Fault:
    """Return the fault for ``change``. Its place is named by the line, and by the function if several lines match."""
    begin = text.rfind("\n", 0, change.start) + 1
    line = text[begin:].partition("\n")[0].strip()
    where = _function(text, begin)
    if where and text.count(where) > 1:
        where = ""
    behind = text.find(where) + len(where) if where else 0
    same = [at for at in _lines_like(text, line) if at + len(line) > behind]
    nth = 0 if len(same) == 1 else same.index(begin) + 1
    if len(same) == 1 and len(_lines_like(text, line)) == 1:
        where = ""
    return Fault(name, file, text[change.start : change.end], change.new, change.kind, where, line, nth)


def _lines_like(text: str, line: str) -> list[int]:
    found, at = [], 0
    for one in text.splitlines(keepends=True):
        if one.strip() == line:
            found.append(at)
        at += len(one)
    return found


def _function(text: str, begin: int) -> str:
    """Return the start of the nearest `def` above, up to its bracket."""
    for line in reversed(text[:begin].splitlines()):
        found = re.match(r"\s*((?:async )?c?p?def [^=(]*\()", line)
        if found:
            return found[1]
    return ""


# --- where something can be changed ---------------------------------------------------------------------------------


def changes(file: str, text: str) -> Iterator[Change]:
    """Return all changes that could be drawn in ``file``."""
    return _in_python(text) if file.endswith(".py") else _in_lines(text, is_c=file.endswith(".h"))


def _in_python(text: str) -> Iterator[Change]:
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        ends = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return len(raw[: ends[0]].decode()), len(raw[: ends[1]].decode())

    def whole(node: ast.expr, start: int, end: int, new: str, kind: str) -> Change:
        """Return a change of all of ``node``: ``text[start:end]`` alone may be too short to be unique in its line."""
        first, last = span(node)
        return Change(first, last, text[first:start] + new + text[end:last], kind)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            found = _operator(text, span(node.left)[1], span(node.comparators[0])[0], COMPARISONS)
            yield whole(node, *found, "comparison")
        elif isinstance(node, ast.BoolOp):
            yield whole(node, *_operator(text, span(node.values[0])[1], span(node.values[1])[0], JOINTS), "and/or")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _is_one(node.right):
            yield whole(node, span(node.left)[1], span(node)[1], "", "one off")
        elif isinstance(node, ast.If) and isinstance(node.body[0], LEAVES):
            yield Change(*span(node.test), "False", "early return")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            named = [*node.args.posonlyargs, *node.args.args]
            pairs = zip(named[len(named) - len(node.args.defaults) :], node.args.defaults, strict=True)
            for name, default in [*pairs, *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]:
                if default is not None and (other := _other(default)):
                    start, end = span(default)
                    first = len(raw[: starts[name.lineno - 1] + name.col_offset].decode())
                    yield Change(first, end, text[first:start] + other, "default")
        elif _is_option(node) and (other := _other(node.args[1])):
            first, (start, end) = span(node.args[0])[0], span(node.args[1])
            yield Change(first, end, text[first:start] + other, "default")


def _operator(text: str, start: int, end: int, table: dict[str, str]) -> tuple[int, int, str]:
    """Return the place of the operator between two operands (with blanks and brackets), and its replacement."""
    for operator in sorted(table, key=len, reverse=True):
        found = re.search(rf"(?<!\S){re.escape(operator)}(?!\S)", text[start:end])
        if found:
            return start + found.start(), start + found.end(), table[operator]
    raise ValueError(f"no operator in {text[start:end]!r}")


def _is_option(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Option"


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _other(node: ast.expr) -> str:
    """Return another default; "" if there is none."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int | float) else ""


# A part of one line that can be put in parentheses: a condition, or a value that is assigned or returned.
PARTS = (
    re.compile(r"^\s*(?:if|elif|while) (?P<part>.+):\s*(?:#.*)?$"),
    re.compile(r"^\s*return (?P<part>[^#]+?)\s*(?:#.*)?$"),
    re.compile(r"^\s*(?:cdef [\w* ]+ )?[\w.\[\]]+ = (?P<part>[^#]+?)\s*(?:#.*)?$"),
)
PARTS_OF_C = (
    re.compile(r"^\s*(?:\} else )?if \((?P<part>.+)\) (?:return .*;|\{|\w+.*;)\s*(?:/\*.*)?$"),
    re.compile(r"^\s*return (?P<part>[^;]+);\s*(?:\})?\s*(?:/\*.*)?$"),
)


def _in_lines(text: str, is_c: bool) -> Iterator[Change]:
    at, in_docstring = 0, False
    lines = text.splitlines(keepends=True)
    for line, following in zip(lines, [*lines, ""][1:], strict=True):
        in_docstring ^= line.count('"""') % 2 == 1
        for pattern in () if in_docstring else PARTS_OF_C if is_c else PARTS:
            found = pattern.match(line)
            if found and _is_whole(found["part"]):
                place = at + found.start("part"), at + found.end("part")
                yield from _in_part(found["part"], place, line, following, is_c)
        at += len(line)


def _is_whole(part: str) -> bool:
    """Whether it is one value with balanced brackets, and without quoted text, which could contain anything."""
    depth = 0
    for letter in part:
        depth += (letter in "([{") - (letter in ")]}")
        if letter in "\"'\\" or (letter == "," and not depth):
            return False
    return depth == 0


def _in_part(part: str, place: tuple[int, int], line: str, following: str, is_c: bool) -> Iterator[Change]:
    for kind, table in (("comparison", COMPARISONS), ("and/or", JOINTS)):
        longest = "|".join(re.escape(o) for o in sorted(table, key=len, reverse=True))
        for found in re.finditer(rf"(?<= )(?:{longest})(?= )", part):
            if is_c or found[0] not in ("&&", "||"):
                yield Change(*place, part[: found.start()] + table[found[0]] + part[found.end() :], kind)
    for found in re.finditer(r" [+-] \d+\b(?! [*/])", part):
        yield Change(*place, part[: found.start()] + part[found.end() :], "one off")
    leaves = r"\s*(?:return|raise|continue|break)\b"
    if not is_c and line.lstrip().startswith("if ") and re.match(leaves, following):
        yield Change(*place, "False", "early return")
    elif is_c and re.match(r"\s*if \(.*\) (?:return|break|continue)", line):
        yield Change(*place, "0", "early return")
