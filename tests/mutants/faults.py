"""Faults as data: one small change of a source each, and the files that list them.

``drawn.toml`` is what a seed drew (drawing.py), ``by_hand.toml`` what a person thought of. A place in a file is named
by its text, never by the number of a line, so that edits elsewhere leave it where it is (places.py).
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


class ListError(Exception):
    """A list of faults that cannot be tried as it stands."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``old`` becomes ``new`` in ``file``, at a place that the next three name.

    id: unique over both lists.
    kind: what it is an example of, such as "comparison" or "second time".
    where: a text that stands before the place, such as "def read"; the search begins behind its first occurrence.
    line: the line, stripped, in which ``old`` begins; without it ``old`` itself is looked for.
    nth: which of several such lines, or such texts, from 1.
    lives: why it may live although tests could tell.
    equivalent: why no test can tell.
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
    def compiled(self) -> bool:
        return self.file.startswith("ext/")


def read_list(path: Path) -> list[Fault]:
    """The faults in ``path``. Raises ListError."""
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
    """Both lists, checked by themselves. Raises ListError."""
    faults = read_list(DRAWN) + read_list(BY_HAND)
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
    """``faults`` as TOML below ``head``, which is TOML too: comments, and the seed."""
    parts = [head.rstrip()]
    for fault in faults:
        given = {field.name: getattr(fault, field.name) for field in fields(Fault)}
        lines = [f"{name} = {_toml(value)}" for name, value in given.items() if value or name == "new"]
        parts.append("\n".join(["[[fault]]", *lines]))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, str) and not set("'\n\t") & set(value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)  # a basic string of TOML has JSON's escapes
