"""Hypothesis strategies for schema evolution: a writer's schema, a reader's schema derived from it, and a datum."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from avro_strategies import ALL_LOGICAL, LOGICAL, PRIMITIVES, Maker, identity
from hypothesis import strategies as st

PROMOTIONS = {
    "int": ["long", "float", "double"],
    "long": ["float", "double"],
    "float": ["double"],
    "string": ["bytes"],
    "bytes": ["string"],
}
EXACT = {"int": ["long", "double"], "float": ["double"]}
PLAIN_DEFAULTS = [
    ("null", None),
    ("boolean", True),
    ("long", -5),
    ("double", 2.5),
    ("string", "é𝄞"),
    (["null", "int"], None),
]
PLAIN_DEFAULTS += [
    (["int", "null"], 7),
    ({"type": "array", "items": "int"}, [1]),
    ({"type": "map", "values": "int"}, {}),
]
NAMED = ("record", "enum", "fixed")
# How Java finds the branch of a union for a default: the first branch whose type fits the JSON type.
JSON_KINDS = {"int": "number", "long": "number", "float": "number", "double": "number"}
JSON_KINDS |= {"string": "text", "bytes": "text", "fixed": "text", "enum": "text", "map": "object", "record": "object"}
JAVA_TAKES_ANYTHING_FOR = ("enum", "array", "map", "record")
NAMESPACES = ("n", "m.x")


class NoDefaultError(Exception):
    """No finite default of this type is known yet: it contains a record that is still being created."""


def definitions(schema: Any) -> dict[str, Any]:
    """Return the named types that ``schema`` defines, by name."""
    found: dict[str, Any] = {}
    for part in parts(schema):
        if isinstance(part, dict) and part["type"] in NAMED:
            found[part["name"]] = part
    return found


def parts(schema: Any) -> Iterator[Any]:
    """Yield ``schema`` and every type inside it."""
    yield schema
    inner = schema if isinstance(schema, list) else []
    if isinstance(schema, dict):
        inner = [schema[key] for key in ("items", "values") if key in schema]
        inner += [part["type"] for part in schema.get("fields", ())]
    for part in inner:
        yield from parts(part)


def logical_names(schema: Any) -> set[str]:
    """Return the logical types in ``schema``."""
    return {part["logicalType"] for part in parts(schema) if isinstance(part, dict) and "logicalType" in part}


def renamed(schema: Any, names: dict[str, str]) -> Any:
    """Return ``schema`` with other names for its named types."""
    if isinstance(schema, str):
        return names.get(schema, schema)
    if isinstance(schema, list):
        return [renamed(branch, names) for branch in schema]
    changed = dict(schema)
    if changed["type"] in NAMED:
        changed["name"] = names[schema["name"]]
    for key in ("items", "values"):
        if key in changed:
            changed[key] = renamed(changed[key], names)
    if "fields" in changed:
        changed["fields"] = [{**part, "type": renamed(part["type"], names)} for part in changed["fields"]]
    return changed


@dataclass
class Evolver:
    """Builds one reader's schema. Types are referred to by keys, which ``names`` maps to full names at the end."""

    draw: Any
    writer: dict[str, Any]  # the writer's named types, by key
    writer_names: dict[str, str]  # key -> full name; all in some namespace, or none
    maker: Maker  # creates types that the writer does not have
    made: dict[str, str] = field(default_factory=dict)  # writer's key -> reader's
    done: dict[str, Any] = field(default_factory=dict)  # reader's key -> its definition, when it is complete
    names: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def shuffled(self, items: list[Any], percent: int) -> list[Any]:
        return list(self.draw(st.permutations(items))) if self.chance(percent) else items

    # --- types

    def type(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return self.union(tree)
        if self.chance(15):
            return self.branches([lambda: self.one(tree)], decoys=self.draw(st.integers(0, 2)))
        return self.one(tree)

    def one(self, tree: Any) -> Any:
        """Return a reader's type for a writer's type that is not a union. The result is not a union either."""
        tree = self.writer.get(tree, tree) if isinstance(tree, str) else tree
        kind = tree if isinstance(tree, str) else tree["type"]
        if self.chance(2):
            return self.pick(sorted(PRIMITIVES))
        if kind in NAMED:
            return self.named(tree)
        if kind == "array":
            return {"type": "array", "items": self.type(tree["items"])}
        if kind == "map":
            return {"type": "map", "values": self.type(tree["values"])}
        return self.primitive(kind, tree)

    def primitive(self, kind: str, tree: Any) -> Any:
        if kind in PROMOTIONS and self.chance(20):
            kind, tree = (promoted := self.pick(PROMOTIONS[kind])), promoted
        if self.chance(10):
            fitting = sorted(name for name in self.maker.allowed if LOGICAL.get(name, ("",))[0] == kind)
            return self.pick([kind, *({"type": kind, "logicalType": name} for name in fitting)])
        return tree

    def union(self, branches: list[Any]) -> Any:
        closed = [branch for branch in branches if not self.is_open(branch)]
        if closed and self.chance(10):
            return self.type(self.pick(closed))
        kept = [branch for branch in branches if not self.chance(8)] or branches[:1]
        makes = [lambda branch=branch: self.one(branch) for branch in self.shuffled(kept, 25)]
        return self.branches(makes, decoys=self.draw(st.integers(0, 2)) if self.chance(20) else 0)

    def is_open(self, tree: Any) -> bool:
        """Whether it is a record inside itself, which would be endless without a union in between."""
        return isinstance(tree, str) and tree in self.made and self.made[tree] not in self.done

    def branches(self, makes: list[Callable[[], Any]], decoys: int) -> list[Any]:
        """Return a union of the types that ``makes`` create, in order, with others in between and no duplicates."""
        for _ in range(decoys):
            makes.insert(self.draw(st.integers(0, len(makes))), self.decoy)
        union: list[Any] = []
        seen: set[str] = set()
        for make in makes:
            before = dict(self.made), dict(self.done), dict(self.names), dict(self.maker.data)
            branch = make()
            own = identity(branch)
            if own in seen:
                self.made, self.done, self.names, self.maker.data = before
            else:
                seen.add(own)
                union.append(branch)
        return union

    def decoy(self) -> Any:
        """Return a branch that may match the writer's data, though it should not be chosen."""
        records = [tree for tree in self.writer.values() if tree["type"] in NAMED]
        if records and self.chance(20):
            return self.named(self.pick(records), again=True)
        if self.chance(70):
            return self.pick(["null", *sorted(PRIMITIVES)])
        return self.new_type(1, union=False)

    # --- named types

    def named(self, tree: Any, *, again: bool = False) -> Any:
        old = tree["name"]
        if old in self.made and not again and not self.chance(5):
            return self.made[old]
        key = self.new_key(old)
        self.made[old] = key
        changed = {"type": tree["type"], "name": key, **self.called(old, key, other=again)}
        changed |= {"record": self.record, "enum": self.enum, "fixed": self.fixed}[tree["type"]](tree)
        self.done[key] = changed
        return changed

    def new_key(self, old: str) -> str:
        self.count += 1
        return f"{old}~{self.count}"

    def called(self, old: str, key: str, *, other: bool) -> dict[str, Any]:
        """Choose the full name, and return the aliases for it."""
        before = self.writer_names[old]
        space, _, short = before.rpartition(".")
        if self.chance(10):
            short = f"{short}New"
        if space and self.chance(10):
            space = self.pick([*NAMESPACES, "o"])
        full = f"{space}.{short}" if space else short
        if full in self.names.values():
            full = f"{full}_{self.count}"  # no digits alone: Record1 and 4 would be the name of the fourteenth type
        self.names[key] = full
        aliases = [before] if (full != before and self.chance(60)) or (other and self.chance(10)) else []
        if self.chance(3):
            aliases.append(self.pick(sorted(self.writer_names.values())))
        return {"aliases": aliases} if aliases else {}

    def record(self, tree: Any) -> dict[str, Any]:
        kept = [part for part in tree["fields"] if not self.chance(10)]
        plan: list[Any] = self.shuffled(kept, 20)
        for _ in range(self.draw(st.sampled_from([0, 0, 0, 1, 2]))):
            plan.insert(self.draw(st.integers(0, len(plan))), None)
        return {"fields": [self.kept_field(part) if part else self.new_field() for part in plan]}

    def kept_field(self, part: Any) -> dict[str, Any]:
        changed = {"name": part["name"], "type": self.type(part["type"])}
        if self.chance(6):
            self.count += 1
            changed["name"] = f"{part['name']}_{self.count}"
            changed |= {"aliases": [part["name"]]} if self.chance(80) else {}
        return self.with_default(changed, 30)

    def new_field(self) -> dict[str, Any]:
        self.count += 1
        return self.with_default({"name": f"new_{self.count}", "type": self.new_type(1)}, 97)

    def new_type(self, depth: int, *, union: bool = True) -> Any:
        tree, _ = self.maker.type(depth, union=union)
        for name, definition in definitions(tree).items():
            self.done[name] = definition
            self.names[name] = f"new.{name}" if self.namespaced() else name
        return tree

    def namespaced(self) -> bool:
        return any("." in name for name in self.writer_names.values())

    def enum(self, tree: Any) -> dict[str, Any]:
        symbols = [symbol for symbol in tree["symbols"] if not self.chance(12)]
        if not symbols or self.chance(15):
            symbols.append(f"{tree['name']}_new")
        symbols = self.shuffled(symbols, 20)
        return {"symbols": symbols, **({"default": self.pick(symbols)} if self.chance(30) else {})}

    def fixed(self, tree: Any) -> dict[str, Any]:
        size = tree["size"] + (1 if self.chance(4) else 0)
        same = size == tree["size"] and not self.chance(10)
        return {
            "size": size,
            **{key: tree[key] for key in ("logicalType", "precision", "scale") if key in tree and same},
        }

    # --- defaults

    def with_default(self, part: dict[str, Any], percent: int) -> dict[str, Any]:
        if not self.chance(percent):
            return part
        try:
            return {**part, "default": self.default(part["type"], 0)}
        except NoDefaultError:
            return part

    def default(self, tree: Any, depth: int) -> Any:
        """Return a default as JSON; for a union, one that Java assigns to the intended branch."""
        if depth > 5:
            raise NoDefaultError
        if isinstance(tree, list):
            return self.union_default(tree, depth)
        if isinstance(tree, str) and tree not in PRIMITIVES:
            if tree not in self.done:
                raise NoDefaultError
            tree = self.done[tree]
        kind = tree if isinstance(tree, str) else tree["type"]
        if kind == "array":
            return [self.default(tree["items"], depth + 1)] if depth < 2 and self.chance(50) else []
        if kind == "map":
            return {"é𝄞": self.default(tree["values"], depth + 1)} if depth < 2 and self.chance(50) else {}
        if kind == "record":
            given = [part for part in tree["fields"] if "default" not in part or self.chance(50)]
            return {part["name"]: self.default(part["type"], depth + 1) for part in given}
        return self.plain_default(kind, tree)

    def union_default(self, branches: list[Any], depth: int) -> Any:
        first: dict[str, Any] = {}
        for branch in branches:
            kind = self.kind(branch)
            first.setdefault(JSON_KINDS.get(kind, kind), branch)
            if kind in JAVA_TAKES_ANYTHING_FOR:
                break
        choice = first["null"] if "null" in first and depth > 2 else self.pick(list(first.values()))
        return self.default(choice, depth + 1)

    def kind(self, tree: Any) -> str:
        kind: str = tree if isinstance(tree, str) else tree["type"]
        if kind in (*PRIMITIVES, "array", "map", *NAMED):
            return kind
        return str(self.done[kind]["type"]) if kind in self.done else "record"

    def plain_default(self, kind: str, tree: Any) -> Any:
        logical = tree.get("logicalType") if isinstance(tree, dict) else None
        if kind == "enum":
            return self.pick(tree["symbols"])
        if kind == "fixed":
            size = tree["size"]
            data = (
                bytes(size - 1) + b"\x07"
                if logical == "decimal"
                else self.draw(st.binary(min_size=size, max_size=size))
            )
            return data.decode("latin-1")
        if logical == "uuid":
            return str(self.draw(st.uuids()))
        if logical in ("decimal", "big-decimal"):
            return "\x07" if logical == "decimal" else "\x02\x07\x04"
        if logical:
            return self.draw(st.integers(0, 86_399_999))
        if kind == "bytes":
            return self.draw(st.binary(max_size=4)).decode("latin-1")
        if kind in ("float", "double"):
            return self.draw(st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-(2**24), 2**24))
        return self.draw(PRIMITIVES[kind])


class Gentle(Evolver):
    """Changes that every library should handle: fields are added, dropped and moved, numbers widen, null is allowed."""

    def type(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.one(branch) for branch in tree]
        changed = self.one(tree)
        return ["null", changed] if changed != "null" and self.chance(10) else changed

    def named(self, tree: Any, *, again: bool = False) -> Any:
        return self.made.get(tree["name"]) or super().named(tree)

    def one(self, tree: Any) -> Any:
        tree = self.writer.get(tree, tree) if isinstance(tree, str) else tree
        kind = tree if isinstance(tree, str) else tree["type"]
        if kind in NAMED:
            return self.named(tree)
        if kind == "array":
            return {"type": "array", "items": self.type(tree["items"])}
        if kind == "map":
            return {"type": "map", "values": self.type(tree["values"])}
        if isinstance(tree, dict) and "logicalType" in tree:
            return tree
        return self.pick(EXACT[kind]) if kind in EXACT and self.chance(20) else kind

    def called(self, old: str, key: str, *, other: bool) -> dict[str, Any]:
        self.names[key] = self.writer_names[old]
        return {}

    def kept_field(self, part: Any) -> dict[str, Any]:
        return {"name": part["name"], "type": self.type(part["type"])}

    def new_field(self) -> dict[str, Any]:
        self.count += 1
        kind, default = self.pick(PLAIN_DEFAULTS)
        return {"name": f"new_{self.count}", "type": kind, "default": default}

    def enum(self, tree: Any) -> dict[str, Any]:
        return {"symbols": [*tree["symbols"], f"{tree['name']}_new"]}

    def fixed(self, tree: Any) -> dict[str, Any]:
        return {"size": tree["size"]}


@st.composite
def writer_reader_datum(
    draw: Any, logical: frozenset[str] = ALL_LOGICAL, depth: int = 3, *, any_floats: bool = False, gentle: bool = False
) -> tuple[Any, Any, Any]:
    """Draw a writer's schema, a reader's schema derived from it, and a datum of the writer's schema.

    Most pairs can be resolved; some only if the datum has the right branch, and some never. All gentle pairs can.
    """
    maker = Maker(draw, logical, any_floats, mixed=not gentle)
    tree, data = maker.record(depth) if draw(st.integers(0, 3)) else maker.type(depth)
    keys = definitions(tree)
    namespaced = draw(st.booleans())
    names = {key: f"{draw(st.sampled_from(NAMESPACES))}.{key}" if namespaced else key for key in keys}
    evolver = (Gentle if gentle else Evolver)(draw, keys, names, Maker(draw, logical, mixed=True, count=maker.count))
    reader = evolver.type(tree)
    reader = renamed(reader, evolver.names)
    return renamed(tree, names), json.loads(json.dumps(reader)), draw(data)


@st.composite
def defaulted_record(draw: Any) -> Any:
    """Draw a record whose fields all have defaults."""
    evolver = Evolver(draw, {}, {}, Maker(draw, ALL_LOGICAL, mixed=True))
    fields = [evolver.new_field() for _ in range(draw(st.integers(1, 4)))]
    # Up to the first field without a default, because later fields may use the types that it defines.
    return {"type": "record", "name": "Whole", "fields": list(takewhile(lambda part: "default" in part, fields))}
