"""Faults as data: each is one small change of a source file; there are two lists of two files each.

``drawn.toml`` has faults drawn at random (drawing.py), ``by_hand.toml`` those that a person wrote. The second list
is of rooms that were built after the first one was drawn; its ids begin with ``new-``. A place in a file is named by
its text, never by its line number, so that it survives edits elsewhere (places.py).
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DRAWN, BY_HAND = HERE / "drawn.toml", HERE / "by_hand.toml"
NEW = "new-"
NEW_DRAWN, NEW_BY_HAND = HERE / "new_drawn.toml", HERE / "new_by_hand.toml"


class ListError(Exception):
    """A list of faults that is invalid."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``old`` becomes ``new`` in ``file``, at the place that ``where``, ``line`` and ``nth`` name.

    id: unique over all files; begins with "new-" in those of the second list only.
    kind: the kind of fault, such as "comparison" or "second time".
    where: a text before the place, such as "def read"; the search begins after its first occurrence.
    line: the stripped line in which ``old`` begins; if empty, ``old`` itself is searched for.
    nth: which of several such lines, or such texts, from 1.
    lives: why the fault may live although a test could detect it.
    equivalent: why no test can detect it.
    """

    id: str
    file: str
    old: str
    new: str
    kind: str
    where: str = ""
    line: str = ""
    nth: int = 0
    lives: str = ""
    equivalent: str = ""

    @property
    def is_new(self) -> bool:
        return self.id.startswith(NEW)

    @property
    def compiled(self) -> bool:
        return self.file.startswith("ext/")


def read_list(path: Path) -> list[Fault]:
    """Read the faults in ``path``. Raises ListError."""
    known = {field.name for field in fields(Fault)}
    faults = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("fault", []):
        if unknown := set(entry) - known:
            raise ListError(f"{path.name}: {entry.get('id', entry)} has the unknown keys {sorted(unknown)}")
        try:
            faults.append(Fault(**entry))
        except TypeError as error:
            raise ListError(f"{path.name}: {entry.get('id', entry)}: {error}") from None
    return faults


def all_faults() -> list[Fault]:
    """Read both lists, and check each. Raises ListError."""
    first, second = ([fault for file in files for fault in read_list(file)] for files in
                     ((DRAWN, BY_HAND), (NEW_DRAWN, NEW_BY_HAND)))  # fmt: skip
    if wrong := [fault.id for fault in first if fault.is_new] + [fault.id for fault in second if not fault.is_new]:
        raise ListError(f"the ids of the second list alone begin with {NEW!r}: {', '.join(wrong)}")
    faults = first + second
    twice = [name for name, count in Counter(fault.id for fault in faults).items() if count > 1]
    if twice:
        raise ListError(f"more than one fault is called {', '.join(sorted(twice))}")
    for fault in faults:
        if fault.lives and fault.equivalent:
            raise ListError(f"{fault.id} cannot be equivalent and live for another reason as well")
        if fault.old.strip() == fault.new.strip():
            raise ListError(f"{fault.id} changes nothing")
    return faults


def write_list(path: Path, head: str, faults: list[Fault]) -> None:
    """Write ``faults`` as TOML after ``head``, which is TOML too: comments and the seed."""
    parts = [head.rstrip()]
    for fault in faults:
        given = {field.name: getattr(fault, field.name) for field in fields(Fault)}
        lines = [f"{name} = {_toml(value)}" for name, value in given.items() if value or name == "new"]
        parts.append("\n".join(["[[fault]]", *lines]))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, str) and not set("'\n\t") & set(value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)  # basic strings of TOML have the same escapes as JSON
