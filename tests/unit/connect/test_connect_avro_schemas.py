"""Connect schemas as Avro schemas and back: Confluent's conventions, and the cases that went wrong in Java."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest

from streamnative_serdes import _schema as avro
from streamnative_serdes.connect import (
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Date,
    Decimal,
    Enum,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
    Type,
)
from streamnative_serdes.connect.avro.from_schema import connect_schema
from streamnative_serdes.connect.avro.options import AvroOptions
from streamnative_serdes.connect.avro.to_schema import avro_schema
from streamnative_serdes.errors import SchemaError

ENHANCED = AvroOptions(enhanced_schema_support=True)
COLOUR_PARAMETERS = {
    "io.confluent.connect.avro.Enum": "org.example.Colour",
    "io.confluent.connect.avro.Enum.RED": "RED",
    "io.confluent.connect.avro.Enum.BLUE": "BLUE",
}
COLOUR = Schema(Type.STRING, name="org.example.Colour", parameters=COLOUR_PARAMETERS)


def to_avro(schema: Schema, options: AvroOptions = AvroOptions()) -> Any:  # noqa: B008 - it is immutable
    return json.loads(avro_schema(schema, options).text)


def from_avro(tree: Any, options: AvroOptions = AvroOptions(), version: int | None = None) -> Schema:  # noqa: B008
    found = connect_schema(avro.parse(tree, strict=False), options, version)
    assert found is not None
    return found


def with_field(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind, **more}]}


def field_of(tree: Any, options: AvroOptions = AvroOptions()) -> Schema:  # noqa: B008
    field = from_avro(tree, options).field("f")
    assert field is not None
    return field.schema


def struct(**fields: Schema) -> Schema:
    builder = SchemaBuilder.struct("R")
    for name, kind in fields.items():
        builder.field(name, kind)
    return builder.build()


# --- the conventions --------------------------------------------------------------------------------------------------


def test_what_avro_has_no_place_for_is_kept_in_properties() -> None:
    builder = SchemaBuilder.struct("org.example.User", version=3, doc="a user").parameter("a", "b")
    tree = to_avro(builder.field("id", Schema(Type.INT8, default=5, doc="its id")).build())
    assert tree == {
        "type": "record",
        "name": "org.example.User",
        "fields": [
            {
                "name": "id",
                "type": {"type": "int", "connect.doc": "its id", "connect.default": 5, "connect.type": "int8"},
                "default": 5,
            }
        ],
        "connect.doc": "a user",
        "connect.version": 3,
        "connect.parameters": {"a": "b"},
        "connect.name": "org.example.User",
    }
    assert from_avro(tree).field("id") == builder.build().field("id")


def test_without_meta_data_only_avros_own_words_are_written() -> None:
    schema = struct(a=Schema(Type.INT8, True, 5, "n", 2, "doc", {"p": "q"}))
    tree = to_avro(schema, AvroOptions(meta_data=False))
    assert tree == {
        "type": "record",
        "name": "R",
        "namespace": "",
        "fields": [{"name": "a", "type": ["int", "null"], "default": 5}],
    }


@pytest.mark.parametrize(
    ("schema", "logical"),
    [
        (Date.schema(), {"type": "int", "logicalType": "date"}),
        (Timestamp.schema(), {"type": "long", "logicalType": "timestamp-millis"}),
        (Decimal.schema(3), {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 3}),
        (
            Decimal.schema(3, parameters={"connect.decimal.precision": "9"}),
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
        ),
    ],
    ids=["date", "timestamp", "decimal", "decimal with a precision"],
)
def test_logical_types_are_avros_too(schema: Schema, logical: dict[str, Any]) -> None:
    tree = to_avro(schema)
    assert tree.items() >= logical.items()
    assert from_avro(tree) == schema
    without_connects = {key: value for key, value in tree.items() if not key.startswith("connect.")}
    assert from_avro(without_connects).name == schema.name


def test_a_map_with_keys_other_than_text_is_a_list_of_entries() -> None:
    tree = to_avro(SchemaBuilder.map(INT32, STRING).build())
    entry = "io.confluent.connect.avro.MapEntry"
    fields = [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}]
    assert tree == {"type": "array", "items": {"type": "record", "name": entry, "fields": fields}}
    named = SchemaBuilder.map(INT32, STRING).name("org.example.Counts").build()
    items = to_avro(named)["items"]
    assert (items["name"], items["connect.internal.type"]) == ("org.example.Counts", "MapEntry")
    assert from_avro(to_avro(named)) == named


def test_unnamed_structs_get_default_names_in_their_order_and_equal_ones_share_one() -> None:
    one, two = SchemaBuilder.struct().field("a", INT32).build(), SchemaBuilder.struct().field("b", INT32).build()
    schema = struct(x=one, y=two, z=one)
    types = [field["type"] for field in to_avro(schema)["fields"]]
    prefix = "io.confluent.connect.avro.ConnectDefault"
    assert [types[0]["name"], types[1]["name"], types[2]] == [prefix, f"{prefix}2", prefix]
    assert from_avro(to_avro(schema)) == schema


def test_the_registrys_version_is_the_schemas_unless_it_has_one() -> None:
    assert from_avro("int", version=4).version == 4
    assert from_avro({"type": "int", "connect.version": 2}, version=4).version == 2
    assert from_avro({"type": "int", "logicalType": "date"}, version=4).version == 1


@pytest.mark.parametrize("enhanced", [False, True])
def test_a_union_becomes_a_struct_with_a_field_for_each_branch(enhanced: bool) -> None:
    options = AvroOptions(enhanced_schema_support=enhanced)
    record = {"type": "record", "name": "org.example.Inner", "fields": []}
    found = from_avro(["null", "int", "string", record], options)
    assert found.name == "io.confluent.connect.avro.Union"
    assert found.optional
    assert list(found.fields_by_name) == ["int", "string", "org.example.Inner" if enhanced else "Inner"]
    assert to_avro(found, options)[:3] == ["null", "int", "string"]


# --- what went wrong in Java ------------------------------------------------------------------------------------------


def test_a_nullable_enum_stays_an_enum() -> None:
    """Confluent's schema-registry, issues 558 and 658."""
    tree = with_field(
        ["null", {"type": "enum", "name": "org.example.Colour", "symbols": ["RED", "BLUE"]}], default=None
    )
    schema = from_avro(tree, ENHANCED)
    kind = schema.field("f").schema  # type: ignore[union-attr]
    assert (kind.type, kind.optional, Enum.symbols(kind)) == (Type.STRING, True, {"RED": 0, "BLUE": 1})
    null, enum = to_avro(schema, ENHANCED)["fields"][0]["type"]
    assert (null, enum["type"], enum["symbols"]) == ("null", "enum", ["RED", "BLUE"])
    assert from_avro(to_avro(schema, ENHANCED), ENHANCED) == schema


@pytest.mark.parametrize("optional", [False, True])
def test_the_default_of_a_decimal_comes_back(optional: bool) -> None:
    """Issues 833, 695 and 1430."""
    schema = struct(f=Decimal.schema(2, optional=optional, default=PythonDecimal("-12.50")))
    tree = to_avro(schema)
    assert tree["fields"][0]["default"] == b"\xfb\x1e".decode("latin-1")
    assert from_avro(tree) == schema


def test_a_default_of_a_field_wins_over_one_that_old_versions_wrote_in_base64() -> None:
    """The schema of issue 1430: the property is base64, and the default of the field is Avro's own form."""
    kind = {
        "type": "bytes",
        "scale": 4,
        "precision": 15,
        "connect.version": 1,
        "connect.parameters": {"scale": "4", "connect.decimal.precision": "15"},
        "connect.default": "AA==",
        "connect.name": "org.apache.kafka.connect.data.Decimal",
        "logicalType": "decimal",
    }
    assert field_of(with_field([kind, "null"], default="\0")).default == PythonDecimal("0.0000")
    assert field_of(with_field(kind, default="\0")).default == PythonDecimal("0.0000")


def test_a_whole_number_is_the_default_of_a_long_a_float_and_a_double() -> None:
    """Issue 1376, with its schema."""
    kind = {"type": "long", "connect.version": 1, "connect.default": 0, "connect.name": "io.debezium.time.Timestamp"}
    found = field_of(with_field([kind, "null"], default=0))
    assert (found.type, found.default, found.optional) == (Type.INT64, 0, True)
    for name, schema in (("float", FLOAT32), ("double", FLOAT64)):
        found = field_of(with_field({"type": name, "connect.default": 1}))
        assert found == schema.replaced(default=1.0)


def test_a_default_of_a_record_comes_back_with_its_optional_fields() -> None:
    """Issue 1357; Java still loses such a default if one of its optional fields is set."""
    inner = SchemaBuilder.struct("I").field("a", INT32).field("b", OPTIONAL_STRING).build()
    default = Struct(inner, a=1, b="x")
    for optional in (False, True):
        schema = struct(f=inner.replaced(default=default, optional=optional))
        found = from_avro(to_avro(schema)).field("f")
        assert found is not None
        assert dict(found.schema.default) == {"a": 1, "b": "x"}


def test_a_record_default_in_avro_may_leave_out_what_has_a_default_itself() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "a", "type": "int", "default": 7}]}
    found = field_of(with_field(inner, default={}))
    assert found.default is not None
    assert found.default["a"] == 7


def test_parameters_of_a_type_that_is_used_twice_are_written_once() -> None:
    """Issue 4458: a reused named type, with and without the mark that its default is that of an Avro field."""
    enum = {"type": "enum", "name": "org.example.Colour", "symbols": ["RED", "BLUE"], "connect.parameters": {"a": "b"}}
    fields = [
        {"name": "f", "type": enum, "default": "RED"},
        {"name": "g", "type": "org.example.Colour", "default": "BLUE"},
        {"name": "h", "type": ["null", "org.example.Colour"], "default": None},
    ]
    schema = from_avro({"type": "record", "name": "R", "fields": fields}, ENHANCED)
    tree = to_avro(schema, ENHANCED)
    assert tree["fields"][0]["type"]["connect.parameters"] == COLOUR_PARAMETERS | {"a": "b"}
    assert [field["type"] for field in tree["fields"][1:]] == ["org.example.Colour", ["null", "org.example.Colour"]]
    assert [field.get("default") for field in tree["fields"]] == ["RED", "BLUE", None]
    assert from_avro(tree, ENHANCED) == schema


# --- a name that stands for two types ---------------------------------------------------------------------------------


def test_one_name_for_two_types_is_an_error_that_names_both_places() -> None:
    one, two = SchemaBuilder.struct("S").field("a", INT32).build(), SchemaBuilder.struct("S").field("a", INT64).build()
    with pytest.raises(SchemaError, match=r"two different types.*the other one is 'x'") as raised:
        to_avro(struct(x=one, y=SchemaBuilder.array(two).build()))
    assert raised.value.path == "y[]"


def test_uses_of_one_type_with_different_defaults_leave_them_to_their_fields() -> None:
    first, second = COLOUR.replaced(default="RED"), COLOUR.replaced(default="BLUE")
    tree = to_avro(struct(x=first, y=second, z=COLOUR), ENHANCED)
    assert "connect.default" not in tree["fields"][0]["type"]
    assert [field.get("default") for field in tree["fields"]] == ["RED", "BLUE", None]
    found = from_avro(tree, ENHANCED)
    assert [field.schema.default for field in found.fields or ()] == ["RED", "BLUE", None]
    with pytest.raises(SchemaError, match="different defaults") as raised:
        to_avro(struct(x=first, y=SchemaBuilder.array(second).build()), ENHANCED)
    assert raised.value.path == "y[]"


def test_a_default_that_no_avro_field_can_have_is_not_lost_if_the_type_is_used_without_it() -> None:
    inner = SchemaBuilder.struct("I").field("b", OPTIONAL_STRING).build()
    with pytest.raises(SchemaError, match="which Avro allows for fields only") as raised:
        to_avro(struct(f=inner.replaced(default=Struct(inner, b="x")), g=inner))
    assert raised.value.path == "f"


def test_several_maps_with_keys_other_than_text_get_entries_of_different_names() -> None:
    """Java calls all of them MapEntry, and fails."""
    maps = [SchemaBuilder.map(INT32, kind).build() for kind in (STRING, INT64, INT32, INT64)]
    schema = struct(**{f"m{at}": kind for at, kind in enumerate(maps)})
    types = [field["type"]["items"] for field in to_avro(schema)["fields"]]
    prefix = "io.confluent.connect.avro.MapEntry"
    assert [kind if isinstance(kind, str) else kind["name"] for kind in types] == [
        prefix,
        f"{prefix}2",
        f"{prefix}3",
        f"{prefix}2",
    ]
    assert from_avro(to_avro(schema)) == schema


# --- what cannot be translated ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (struct(**{"a-b": INT32}), "a-b"),
        (struct(a=SchemaBuilder.struct("x-y").build()), "a"),
        (struct(a=SchemaBuilder.array(SchemaBuilder.struct("1").build()).build()), "a[]"),
    ],
    ids=["field", "type", "item"],
)
def test_a_name_that_avro_does_not_allow_is_an_error_with_its_path(schema: Schema, path: str) -> None:
    with pytest.raises(SchemaError, match="not a valid Avro name") as raised:
        to_avro(schema)
    assert raised.value.path == path
    assert "scrub.invalid.names" in str(raised.value.hint)
    to_avro(schema, AvroOptions(scrub_invalid_names=True))


def test_two_fields_with_one_scrubbed_name_are_an_error() -> None:
    with pytest.raises(SchemaError, match="two fields have the Avro name 'a_b'"):
        to_avro(struct(**{"a-b": INT32, "a_b": INT32}), AvroOptions(scrub_invalid_names=True))


@pytest.mark.parametrize(
    ("tree", "words", "path"),
    [
        (with_field("null"), "null alone", "f"),
        (with_field(["null", "R"]), "contains itself", "f"),
        (with_field({"type": "int", "connect.type": "int7"}), "int8 or int16", "f"),
        (with_field({"type": "int", "connect.version": 1.5}), "connect.version", "f"),
        (with_field({"type": "int", "connect.parameters": {"a": 1}}), "object of texts", "f"),
        (with_field({"type": "int", "connect.name": 3}), "connect.name as text", "f"),
        (with_field({"type": "int", "logicalType": "date", "connect.name": "x"}), "connect.name", "f"),
        (with_field({"type": "int", "logicalType": "date", "connect.version": 2}), "version 1", "f"),
        (with_field({"type": "int", "connect.type": ["int8"]}), "int8 or int16", "f"),
        (with_field({"type": "string", "connect.name": Date.LOGICAL_NAME}), "expected the type int32, got string", "f"),
        (with_field({"type": "bytes", "connect.name": Decimal.LOGICAL_NAME}), "the parameter scale, got None", "f"),
    ],
    ids=[
        "null",
        "recursion",
        "type",
        "version",
        "parameters",
        "name",
        "logical name",
        "logical version",
        "a list as type",
        "base of a date",
        "scale of a decimal",
    ],
)
def test_avro_that_contradicts_itself_is_an_error_with_its_path(tree: Any, words: str, path: str) -> None:
    with pytest.raises(SchemaError, match=words) as raised:
        from_avro(tree)
    assert raised.value.path == path


def test_none_is_no_key_of_a_default_that_is_an_avro_map() -> None:
    kind = Schema(Type.MAP, default={None: 1}, key_schema=OPTIONAL_STRING, value_schema=INT32)
    assert field_of(to_avro(struct(f=kind))).default == {None: 1}
    with pytest.raises(SchemaError, match="expected a text as the key of a map in a default, got None"):
        to_avro(struct(f=kind), AvroOptions(allow_optional_map_keys=True))


def test_a_small_schema_that_names_make_huge_is_an_error() -> None:
    tree: Any = {"type": "record", "name": "R0", "fields": []}
    for number in range(1, 40):
        again = {"name": "again", "type": ["null", f"R{number - 1}"]}
        tree = {"type": "record", "name": f"R{number}", "fields": [{"name": "first", "type": ["null", tree]}, again]}
    with pytest.raises(SchemaError, match="expected at most 50000 types when each use of a name is counted"):
        from_avro(tree)


@pytest.mark.parametrize("wrong", [5, 1.5, True, [["x"]], {"a": 1}, {"a": [1]}], ids=repr)
@pytest.mark.parametrize(
    "kind",
    [
        {"type": "bytes"},
        {"type": "fixed", "name": "F", "size": 2},
        {"type": "array", "items": "int"},
        {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]},
    ],
    ids=lambda kind: kind["type"],
)
def test_a_default_of_any_other_type_is_left_out_as_in_java(kind: dict[str, Any], wrong: Any) -> None:
    assert field_of(with_field({**kind, "connect.default": wrong})).default is None
    assert field_of(with_field(kind, default=wrong)).default is None


def test_a_map_of_entries_with_other_fields_is_an_error() -> None:
    entry = {
        "type": "record",
        "name": "E",
        "fields": [{"name": "key", "type": "int"}],
        "connect.internal.type": "MapEntry",
    }
    with pytest.raises(SchemaError, match="fields key and value"):
        from_avro({"type": "array", "items": entry})


def test_a_default_that_does_not_fit_is_left_out_as_in_java() -> None:
    assert field_of(with_field("int", default="x")) == Schema(
        Type.INT32, parameters={"io.confluent.connect.avro.field.default": "true"}
    )
    assert field_of(with_field({"type": "int", "connect.default": 2**40})).default is None


@pytest.mark.parametrize("value", [0.1, 3.4028234663852886e38, 1e-45, 16777216.0])
def test_floats_of_32_bits_have_the_fewest_digits_in_the_property(value: float) -> None:
    import struct as bits

    (single,) = bits.unpack("<f", bits.pack("<f", value))
    schema = struct(f=Schema(Type.FLOAT32, default=single))
    tree = to_avro(schema)
    assert len(str(tree["fields"][0]["type"]["connect.default"])) <= len(str(single))
    assert from_avro(tree).field("f") == schema.field("f")


def test_times_at_their_edges_are_defaults() -> None:
    kinds = [
        Date.schema(default=dt.date.min),
        Date.schema(default=2**31 - 1),
        Timestamp.schema(default=-(2**63)),
        Timestamp.schema(default=dt.datetime(9999, 12, 31, 23, 59, 59, 999000, dt.UTC)),
    ]
    schema = struct(**{f"f{at}": kind for at, kind in enumerate(kinds)})
    assert from_avro(to_avro(schema)) == schema


@pytest.mark.parametrize("small", [INT8, INT16])
def test_small_ints_keep_their_types(small: Schema) -> None:
    assert from_avro(to_avro(small)) == small
