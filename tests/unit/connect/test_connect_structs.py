"""Structs: fields by name, checked when they are set, with the path in each error; and projection."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes.connect import (
    BYTES,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_INT32,
    STRING,
    Date,
    Schema,
    SchemaBuilder,
    SchemaProjector,
    Struct,
    Type,
    validate,
)
from streamnative_serdes.errors import EncodeError, SchemaError

INNER = SchemaBuilder.struct("inner").field("n", INT8).build()
SCHEMA = (
    SchemaBuilder.struct("outer")
    .field("id", INT32)
    .field("note", STRING, optional=True)
    .field("size", INT32, default=7)
    .field("items", SchemaBuilder.array(INNER), optional=True)
    .field("by_id", SchemaBuilder.map(INT32, INNER), optional=True)
    .build()
)


def test_a_field_that_is_not_set_has_its_default_or_none() -> None:
    value = Struct(SCHEMA)
    assert (value["size"], value["note"], value["id"]) == (7, None, None)
    assert (value.get("size"), "size" in value, len(value)) == (None, False, 0)
    value.put("size", 8)
    assert (value["size"], value.get("size")) == (8, 8)


def test_none_removes_the_value_of_a_field_that_may_be_unset() -> None:
    value = Struct(SCHEMA, id=1, size=8, note="x").put("note", None)
    del value["size"]
    assert dict(value) == {"id": 1}
    with pytest.raises(EncodeError, match="field id: expected int32, got None"):
        value.put("id", None)
    assert value["id"] == 1


@pytest.mark.parametrize(
    ("values", "path", "message"),
    [
        ({"id": "1"}, "id", "expected int32"),
        ({"items": [Struct(INNER, n=1), 5]}, "items[1]", "expected struct inner, a Struct, got 5"),
        ({"items": [{"n": 1}]}, "items[0]", "expected struct inner, a Struct"),
        ({"by_id": {1: Struct.of_checked(INNER, {"n": 300})}}, "by_id[1].n", "expected int8"),
        ({"by_id": {"1": Struct(INNER, n=1)}}, 'by_id["1"] (key)', "expected int32"),
        ({"by_id": {1: None}}, "by_id[1]", "expected struct inner, got None"),
        ({"items": [Struct(SCHEMA)]}, "items[0]", "got one with another schema"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_path(values: Any, path: str, message: str) -> None:
    value = Struct(SCHEMA, id=1)
    for set_values in (lambda: Struct(SCHEMA, values), lambda: value.update(values)):
        with pytest.raises(EncodeError) as caught:
            set_values()
        assert caught.value.path == path
        assert message in caught.value.message
    assert dict(value) == {"id": 1}


def test_an_unknown_field_is_refused_with_the_nearest_name() -> None:
    for wrong in (lambda: Struct(SCHEMA, notes="x"), lambda: Struct(SCHEMA)["notes"]):
        with pytest.raises(EncodeError, match=r"has no field 'notes' \(hint: did you mean note"):
            wrong()


def test_a_struct_is_valid_when_all_required_fields_are_set() -> None:
    value = Struct(SCHEMA)
    with pytest.raises(EncodeError, match="field id: expected int32, got None"):
        value.validate()
    value["id"] = 1
    value.validate()
    value["items"] = []
    value["items"].append(Struct(INNER))  # behind the struct's back
    with pytest.raises(EncodeError, match=r"field items\[0\]\.n: expected int8, got None"):
        value.validate()
    with pytest.raises(EncodeError, match=r"field outer\.items\[0\]\.n: "):
        validate(SCHEMA, value, "outer")


def test_what_would_bypass_the_check_of_values_is_checked_or_refused() -> None:
    value = Struct(SCHEMA, id=1)
    with pytest.raises(EncodeError):
        value |= {"id": "x"}
    with pytest.raises(EncodeError):
        value.setdefault("note", 1)
    assert value.setdefault("note", "x") == "x"
    for refused in (value.pop, value.popitem, value.clear):
        with pytest.raises(TypeError, match="put"):
            refused()
    with pytest.raises(TypeError):
        hash(value)
    with pytest.raises(SchemaError, match="expected a schema of the type struct"):
        Struct(INT8)


def test_structs_are_equal_by_schema_and_values() -> None:
    value = Struct(SCHEMA, id=1, items=[Struct(INNER, n=1)])
    assert value == value.copy()
    assert value != value.copy().put("id", 2)
    assert value != dict(value)
    assert Struct(INNER, n=1) != Struct(INNER.replaced(name="other"), n=1)
    assert Struct(INNER, n=1) == Struct(INNER.replaced(optional=True, doc="doc"), n=1)
    assert repr(value) == "Struct{id=1,items=[Struct{n=1}]}"


@pytest.mark.parametrize(
    "change",
    [{"name": "b"}, {"version": 2}, {"parameters": {"a": "b"}}, {"fields": (*(INNER.fields or ()),) * 2}],
    ids=str,
)
def test_a_struct_of_another_name_version_parameters_or_fields_does_not_fit(change: dict[str, Any]) -> None:
    other = INNER.replaced(**change)
    outer = SchemaBuilder.struct().field("inner", INNER).build()
    with pytest.raises(EncodeError, match="got one with another schema"):
        Struct(outer, inner=Struct(other, n=1))
    Struct(outer, inner=Struct(INNER.replaced(optional=True, doc="doc"), n=1))


# Projection


def test_projection_drops_fields_fills_in_defaults_and_widens_numbers() -> None:
    target = (
        SchemaBuilder.struct("outer")
        .field("id", INT64)
        .field("items", SchemaBuilder.array(INNER), optional=True)
        .field("new", STRING, default="x")
        .field("newer", STRING, optional=True)
        .build()
    )
    found = SchemaProjector.project(SCHEMA, Struct(SCHEMA, id=1, note="gone", items=[Struct(INNER, n=1)]), target)
    assert found == Struct(target, id=1, items=[Struct(INNER, n=1)], new="x")
    found.validate()


def test_an_optional_field_that_the_source_lacks_is_not_set_even_if_it_has_a_default() -> None:
    target = SchemaBuilder.struct("outer").field("id", INT32).field("new", STRING, optional=True, default="x").build()
    found = SchemaProjector.project(SCHEMA, Struct(SCHEMA, id=1), target)
    assert found.get("new") is None  # as Java's getWithoutDefault
    assert found["new"] == "x"


@pytest.mark.parametrize("source", list(Type)[:6])
@pytest.mark.parametrize("target", list(Type)[:6])
def test_a_number_becomes_a_wider_one_and_no_narrower_one(source: Type, target: Type) -> None:
    order = list(Type)[:6]
    value: Any = 1 if order.index(source) < 4 else 1.0
    if order.index(source) > order.index(target):
        with pytest.raises(SchemaError, match=f"{source.value} cannot become {target.value}"):
            SchemaProjector.project(Schema(source), value, Schema(target))
        return
    found = SchemaProjector.project(Schema(source), value, Schema(target))
    assert found == 1
    assert type(found) is (int if order.index(target) < 4 else float)


def test_a_large_integer_is_rounded_to_a_float_as_in_java() -> None:
    assert SchemaProjector.project(INT64, 2**53 + 1, FLOAT64) == 2.0**53
    assert SchemaProjector.project(INT64, 2**24 + 1, Schema(Type.FLOAT32)) == 2.0**24


def test_an_optional_source_needs_an_optional_target_or_a_default() -> None:
    with_default = SchemaBuilder.int32().default(9).build()
    assert SchemaProjector.project(OPTIONAL_INT32, None, with_default) == 9
    assert SchemaProjector.project(OPTIONAL_INT32, 1, with_default) == 1
    assert SchemaProjector.project(OPTIONAL_INT32, None, OPTIONAL_INT32) is None
    with pytest.raises(SchemaError, match="expected an optional int32 or one with a default"):
        SchemaProjector.project(OPTIONAL_INT32, 1, INT32)
    both = SchemaBuilder.int32().optional().default(5).build()
    assert SchemaProjector.project(both, None, with_default) == 9, "the target's default, not that of the source"


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (INT32, STRING, "int32 cannot become string"),
        (STRING, BYTES, "string cannot become bytes"),
        (INT32, Date.schema(), "expected schemas of the same name, got None and"),
        (INT32, INT32.replaced(parameters={"a": "b"}), "the same parameters, got None and {'a': 'b'}"),
    ],
)
def test_schemas_that_are_not_compatible_are_refused_with_the_path(
    source: Schema, target: Schema, message: str
) -> None:
    def of(inner: Schema) -> Schema:
        return SchemaBuilder.struct().field("a", SchemaBuilder.map(STRING, SchemaBuilder.array(inner))).build()

    value = {INT32: 1, STRING: "x"}[source]
    with pytest.raises(SchemaError) as caught:
        SchemaProjector.project(of(source), Struct(of(source), a={"k": [value]}), of(target))
    assert caught.value.path == 'a["k"][0]'
    assert message in caught.value.message


def test_a_required_field_that_the_source_lacks_is_named() -> None:
    target = SchemaBuilder.struct("outer").field("id", INT32).field("must", STRING).build()
    with pytest.raises(SchemaError, match="field must: the field is required, and the source does not have it"):
        SchemaProjector.project(SCHEMA, Struct(SCHEMA, id=1), target)
