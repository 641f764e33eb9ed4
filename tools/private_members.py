"""No class touches the private members of another file.

A private name begins with one underscore. The syntax tree of each file of the package is checked for:

- touched: ``x._name``, where ``x`` is neither ``self`` nor ``cls`` and this file defines no ``_name``;
- inherited: ``self._name`` of a base class in another file;
- overridden: a method or attribute ``_name`` that a base class in another file defines too;
- imported: ``from module import _name``, unless ``_name`` is a module or package.

private_members.toml, next to this file, lists the exceptions with their reasons. Prints each finding as
``file:line: kind: text``, and exits with status 1 if there is any; `make lint` runs it.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from syntax import bound_by

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "streamnative_serdes"
ALLOWED = Path(__file__).with_name("private_members.toml")
# Named tuples and enums: their public methods begin with an underscore, so that no field has their name.
PUBLIC = frozenset({"_asdict", "_fields", "_field_defaults", "_make", "_replace", "_missing_", "_value_", "_name_"})


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC and name != "_"


@dataclass(frozen=True, order=True)
class Finding:
    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text}"


@dataclass
class Class:
    """A class: the names of its bases, and the line on which it defines each private member."""

    name: str
    file: str
    bases: tuple[str, ...]
    defined: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)


def classes_of(tree: ast.Module, file: str) -> Iterator[Class]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found = Class(node.name, file, tuple(ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases))
            _fill(found, node)
            yield found


def _fill(found: Class, node: ast.ClassDef) -> None:
    for part in node.body:
        for name in bound_by(part):
            if is_private(name):
                found.defined.setdefault(name, part.lineno)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and is_private(inner.attr) and _is_own(inner.value):
            into = found.defined if isinstance(inner.ctx, ast.Store) else found.used
            into.setdefault(inner.attr, inner.lineno)


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def touched(tree: ast.Module, file: str) -> Iterator[Finding]:
    """Yield uses of private members that this file does not define."""
    own = {name for found in classes_of(tree, file) for name in found.defined}
    own |= {name for part in tree.body for name in bound_by(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not _is_own(node.value):
            if node.attr not in own:
                yield Finding(file, node.lineno, "touched", ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            name = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else ""
            if isinstance(name, str) and is_private(name) and name not in own:
                yield Finding(file, node.lineno, "touched", ast.unparse(node))


def imported(tree: ast.Module, file: str, modules: frozenset[str]) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == PACKAGE):
            for alias in node.names:
                if is_private(alias.name) and alias.name not in modules:
                    yield Finding(file, node.lineno, "imported", f"{alias.name} from {node.module or '.'}")


def inherited(classes: Iterable[Class]) -> Iterator[Finding]:
    """Yield private members of a base in another file that are overridden or used. Bases are found by name."""
    known: dict[str, list[Class]] = {}
    classes = list(classes)
    for found in classes:
        known.setdefault(found.name, []).append(found)
    for found in classes:
        for base in _bases_of(found, known, {found.name}):
            if base.file == found.file:
                continue
            for name in sorted(base.defined.keys() & found.defined.keys()):
                yield Finding(found.file, found.defined[name], "overridden", f"{found.name}.{name} of {base.name}")
            for name in sorted(base.defined.keys() & found.used.keys() - found.defined.keys()):
                yield Finding(found.file, found.used[name], "inherited", f"{found.name} uses {name} of {base.name}")


def _bases_of(found: Class, known: dict[str, list[Class]], seen: set[str]) -> Iterator[Class]:
    for name in found.bases:
        if name in seen:
            continue
        seen.add(name)
        for base in known.get(name, []):
            yield base
            yield from _bases_of(base, known, seen)


def findings(root: Path, package: str = PACKAGE) -> list[Finding]:
    """Return all findings of a package; stubs describe its compiled classes; ``file`` is relative to ``root``."""
    paths = sorted([*(root / package).rglob("*.py"), *(root / package).rglob("*.pyi")])
    trees = {path.relative_to(root).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    modules = frozenset({path.stem for path in paths} | {path.parent.name for path in paths})
    found = set(inherited(c for file, tree in trees.items() for c in classes_of(tree, file)))
    for file, tree in trees.items():
        found |= {*touched(tree, file), *imported(tree, file, modules)}
    return sorted(found)


def main() -> None:
    allowed = tomllib.loads(ALLOWED.read_text()).get("allowed", [])
    keys = {(entry["file"], entry["text"]) for entry in allowed}
    found = findings(ROOT)
    wrong = [str(one) for one in found if (one.file, one.text) not in keys]
    gone = keys - {(one.file, one.text) for one in found}
    wrong += [f"{ALLOWED.name}: no longer found: {file}: {text}" for file, text in sorted(gone)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
