"""Names in schemas: which of them Java's Avro takes, 1.11 (Pulsar 4.0's brokers) and 1.12 (Pulsar 4.2's).

Recorded from Avro 1.11.4, 1.12.0 and 1.12.1. Pulsar 4.2.4 allows $ beside what its Avro allows.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Named(NamedTuple):
    """A schema, and whether Avro 1.11 and 1.12 take it, and Pulsar 4.2 if it differs from Avro 1.12."""

    what: str
    schema: Any
    by_1_11: bool
    by_1_12: bool
    with_dollar: bool = False

    @property
    def by_4_2(self) -> bool:
        return self.by_1_12 or self.with_dollar


def _record(*types: Any, name: str = "R", **more: Any) -> Any:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields, **more}


def _field(name: str, **more: Any) -> Any:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": "int", **more}]}


def _symbol(symbol: str) -> Any:
    return _record({"type": "enum", "name": "E", "symbols": [symbol]})


_NULL: Final = {"type": "record", "name": "N", "namespace": "", "fields": []}

NAMES: Final = [
    Named("a namespace with a hyphen", _record(namespace="my-server.shop"), True, False),
    Named("a namespace with a hyphen in the name", _record(name="my-server.R"), True, False),
    Named("a namespace of a digit", _record(namespace="1.a"), True, False),
    Named("a namespace with an empty part", _record(namespace="a..b"), True, False),
    Named("a namespace with a dot at its end", _record(namespace="a."), True, False),
    Named("a namespace with a dollar sign", _record(namespace="a.Outer$"), True, False, with_dollar=True),
    Named("a namespace with a dollar sign in front", _record(namespace="$a"), True, False, with_dollar=True),
    Named("a namespace of a dot", _record(name="..R"), True, False),
    Named("a namespace with an umlaut", _record(namespace="größe"), True, True),
    Named("a namespace that is empty", _record(namespace=""), True, True),
    Named("a name with a dot in front", _record(name=".R"), True, True),
    Named("a name with a dot in front, in a namespace", _record(["null", "R"], name=".R", namespace="a"), True, True),
    Named("a name with a dot at its end", _record(name="R."), False, False),
    Named("a name with an umlaut", _record(name="größe"), True, True),
    Named("a name with a Japanese letter", _record(name="注文"), True, True),
    Named("a name with an Arabic digit", _record(name="a٣"), True, True),
    Named("a name with an Arabic digit in front", _record(name="٣a"), False, False),
    Named("a name with a digit in front", _record(name="1R"), False, False),
    Named("a name with a superscript", _record(name="a²"), False, False),
    Named("a name with a superscript in front", _record(name="²a"), False, False),
    Named("a name with a Roman numeral", _record(name="aⅣ"), False, False),
    Named("a name with a tie", _record(name="a‿b"), False, False),
    Named("a name with an accent of its own", _record(name="e\u0301"), False, False),
    Named("a name with a letter of two halves", _record(name="\U0001d49c"), False, False),
    Named("a name with a dollar sign", _record(name="a$"), False, False, with_dollar=True),
    Named("a name with a hyphen", _record(name="a-b"), False, False),
    Named("the name of a primitive", _record(name="string"), False, False),
    Named("the name of a primitive with a dot in front", _record(name=".string"), False, False),
    Named("the name of a primitive in a namespace", _record(name="a.string"), True, True),
    Named("a field with an umlaut", _field("größe"), True, True),
    Named("a field with a hyphen", _field("a-b"), False, False),
    Named("a field with a superscript", _field("a²"), False, False),
    Named("a field without a name", _field(""), False, False),
    Named("a symbol with an umlaut", _symbol("größe"), True, True),
    Named("a symbol with a hyphen", _symbol("a-b"), False, False),
    Named("a symbol that is empty", _symbol(""), False, False),
    Named("an alias with an umlaut", _record(aliases=["größe"]), True, True),
    Named("an alias with a hyphen", _record(aliases=["a-b"]), False, False),
    Named("an alias with a hyphen behind a dot", _record(aliases=["a.b-c"]), False, False),
    Named("an alias with a hyphen in its namespace", _record(aliases=["my-server.B"]), True, True),
    Named("an alias with a dot in front", _record(aliases=[".B"]), True, True),
    Named("an alias that is empty", _record(aliases=[""]), False, False),
    Named("an alias that is a number", _record(aliases=[1]), False, False),
    Named("aliases other than a list", _record(aliases="B"), False, False),
    Named("an alias of a field with a hyphen", _field("a", aliases=["a-b"]), True, True),
    Named("an alias of a field that is empty", _field("a", aliases=[""]), True, True),
    Named("an alias of a field that is a number", _field("a", aliases=[1]), False, False),
    Named("aliases of a field other than a list", _field("a", aliases="b"), False, False),
    Named("a reference with a dot in front", _record(["null", ".R"]), True, False),
    Named("a reference with a dot in front, in an empty namespace", _record(["null", ".R"], namespace=""), True, False),
    Named("a reference with a dot in front, out of a namespace", _record(_NULL, ".N", namespace="a"), True, False),
    Named("a reference as an object with a dot in front", _record(_NULL, {"type": ".N"}), True, False),
    Named("a reference with a dot in front, into a namespace", _record(["null", ".R"], name="a.R"), False, False),
    Named("a reference out of a namespace", _record(_NULL, "N", namespace="a"), True, True),
    Named("a reference with another namespace", _record(["null", "zz.R"]), False, False),
    Named("a reference with two dots in front", _record(["null", "..R"]), False, False),
    Named("a reference to a primitive with a dot in front", _record(".int"), False, False),
]
