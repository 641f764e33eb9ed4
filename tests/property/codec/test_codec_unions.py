"""Unions of several records, numbers or containers: named values go to their branch, decoded values encode again.

Unlike in avro_strategies' unions, several branches accept values of one Python type, and differ in the names and types
of their fields.
"""

from __future__ import annotations

import io
import itertools
import json
import math
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st
from schemas import array, enum, fixed, mapping, record

from examples import examples
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

Sample = tuple[str, Any]  # the name of a branch, and a value of it

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("double", st.floats(allow_nan=False)),
    ("string", st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    ("bytes", st.binary(max_size=5)),
    (array("int"), st.lists(st.integers(0, 9), max_size=3)),
    (mapping("string"), st.dictionaries(st.sampled_from("xyz"), st.just("v"), max_size=3)),
]


def called(schema: Any) -> str:
    """Return the name of a branch in a union."""
    if isinstance(schema, str):
        return schema
    name = schema.get("name", schema["type"])
    return f"{schema['namespace']}.{name}" if "namespace" in schema else name


@st.composite
def records(draw: st.DrawFn, name: str, inner: list[tuple[Any, Any]]) -> tuple[Any, st.SearchStrategy[Any]]:
    """Draw a record with some of the fields x, y and z, of few types, so that many records match each other's data."""
    chosen = {field: draw(st.sampled_from(inner)) for field in draw(st.sets(st.sampled_from("xyz"), min_size=1))}
    schema = record(name, *[(field, kind) for field, (kind, _) in sorted(chosen.items())], namespace="n")
    return schema, st.fixed_dictionaries({field: data for field, (_, data) in sorted(chosen.items())})


@st.composite
def unions(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Sample]]:
    """Draw a union of records and other types, with a strategy of pairs (name of a branch, value of it)."""
    branches = [draw(records(name, LEAVES)) for name in "ABCD"[: draw(st.integers(2, 4))]]
    branches += draw(st.lists(st.sampled_from(LEAVES), max_size=4, unique_by=lambda leaf: called(leaf[0])))
    branches = draw(st.permutations(branches))
    data = [st.tuples(st.just(called(kind)), values) for kind, values in branches]
    return [kind for kind, _ in branches], st.one_of(data)


@st.composite
def named_samples(draw: st.DrawFn) -> tuple[Any, Sample]:
    schema, data = draw(unions())
    return schema, draw(data)


def theirs(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), datum)
    return out.getvalue()


@given(named_samples())
@examples(300)
def test_a_named_value_is_written_to_its_branch_as_by_fastavro(sample: tuple[Any, Sample]) -> None:
    schema, (name, value) = sample
    data = Codec(schema).encode((name, value))

    assert data[0] == 2 * [called(branch) for branch in schema].index(name)
    assert Codec(schema).decode(data) == value
    assert data == theirs(schema, (name, value))
    if name.startswith("n."):
        hinted = {"-type": name, **value}
        assert data == Codec(schema).encode(hinted) == Codec(schema, validate_strict=True).encode(hinted)
        # if a map accepts all its values, fastavro writes it as a map, including "-type"
        assert data == theirs(schema, hinted) or "map" in map(called, schema)


@given(named_samples())
@examples(300)
def test_values_read_with_record_names_can_be_written_again(sample: tuple[Any, Sample]) -> None:
    schema, (name, value) = sample
    whole = record("W", ("many", array(schema)), ("by", mapping(["null", "n.A"])))
    codec = Codec(whole, return_record_name=True)
    data = codec.encode({"many": [(name, value)] * 2, "by": {"k": value if name == "n.A" else None}})
    back = codec.decode(data)

    again = codec.decode(codec.encode(back))
    assert again == back or name == "map"  # a map that matches a record is written as the record
    if name.startswith("n."):
        assert back["many"] == [(name, value)] * 2
        assert codec.encode(back) == data


@given(named_samples(), st.booleans())
@examples(300)
def test_a_value_without_a_branch_name_is_read_back_equal(sample: tuple[Any, Sample], strict: bool) -> None:
    schema, (_, value) = sample
    codec = Codec(schema, validate_strict=strict)

    assert codec.decode(codec.encode(value)) == value


@given(named_samples(), named_samples())
@examples(300)
def test_a_value_of_another_union_is_refused_or_can_be_read_back(
    one: tuple[Any, Sample], two: tuple[Any, Sample]
) -> None:
    for datum in (two[1], two[1][1]):
        try:
            data = Codec(one[0]).encode(datum)
        except EncodeError as error:
            assert error.message
            continue
        Codec(one[0]).decode(data)


NUMBERS = ["int", "long", "float", "double"]
ORDERS = [list(order) for size in (1, 2, 3, 4) for order in itertools.permutations(NUMBERS, size)]
EDGES = [sign * 2**bits + step for bits in (24, 31, 53, 63, 64, 127, 1024) for sign in (1, -1) for step in (-1, 0, 1)]


@given(st.sampled_from(ORDERS), st.sampled_from(EDGES) | st.integers(-(2**70), 2**70) | st.integers(-9, 9))
def test_an_int_is_written_without_loss_in_any_union_of_numbers(order: list[str], value: int) -> None:
    codec = Codec([*order, "null", "string"])
    fits = {"int": -(2**31) <= value < 2**31, "long": -(2**63) <= value < 2**63}
    fits |= {"double": holds(value, 53, 1024), "float": holds(value, 24, 128)}
    expected = [kind for kind in ("int", "long", "double", "float") if kind in order and fits[kind]]
    try:
        data = codec.encode(value)
    except EncodeError:
        assert not expected
        return
    assert order[data[0] // 2] == expected[0]
    assert codec.decode(data) == value


def holds(value: int, digits: int, exponent: int) -> bool:
    """Whether a float with ``digits`` binary digits can hold ``value`` exactly."""
    size = abs(value).bit_length()
    return size <= exponent and abs(value) % (1 << max(size - digits, 0)) == 0


@given(st.sampled_from(ORDERS), st.floats())
def test_a_float_is_written_as_double_if_the_union_has_one(order: list[str], value: float) -> None:
    codec = Codec([*order, "null"])
    narrow = "float" in order and not (math.isfinite(value) and abs(value) > 3.4028235677973366e38)
    try:
        data = codec.encode(value)
    except EncodeError:
        assert "double" not in order
        assert not narrow
        return
    assert order[data[0] // 2] == ("double" if "double" in order else "float")


SUIT = enum("Suit", "SPADES", "HEARTS")
TEXTS = [list(order) for order in itertools.permutations(["string", SUIT, "bytes", fixed("F", 3)])]


@given(st.sampled_from(TEXTS), st.sampled_from(["SPADES", "HEARTS", "spades", ""]) | st.binary(max_size=4))
def test_text_and_bytes_are_written_to_their_branch_in_any_order(order: list[Any], value: str | bytes) -> None:
    branch = order[Codec(order).encode(value)[0] // 2]

    if isinstance(value, str):
        assert branch == (SUIT if value in SUIT["symbols"] else "string")
    elif len(value) == 3:
        assert branch == next(kind for kind in order if kind in ("bytes", fixed("F", 3)))
    else:
        assert branch == "bytes"
