"""Four options of AvroConverter, by the cases of Confluent's own AvroDataTest.

Source: ``AvroDataTest`` in Confluent's schema-registry, which is newer than the AvroData that the tests run in Java.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamnative_serdes import _schema as avro
from streamnative_serdes.codec import Codec
from streamnative_serdes.connect import INT32, OPTIONAL_STRING, STRING, Schema, SchemaBuilder, Struct
from streamnative_serdes.connect.avro.names import scrubbed
from streamnative_serdes.connect.avro.options import AvroOptions
from streamnative_serdes.connect.avro.reading import reader_of, with_branches
from streamnative_serdes.connect.avro.to_schema import avro_schema
from streamnative_serdes.connect.avro.writing import converter_of, datum_of


def written(schema: Schema, value: Any, options: AvroOptions) -> tuple[Any, bytes]:
    """The Avro schema, and the message."""
    translated = avro_schema(schema, options)
    codec = Codec(avro.parse(translated.text, strict=False), avro_logical_types=False)
    return json.loads(translated.text), codec.encode(datum_of(schema, converter_of(schema, options, translated), value))


def read(tree: Any, message: bytes, options: AvroOptions) -> Any:
    schema = avro.parse(tree, strict=False)
    codec = Codec(with_branches(schema), avro_logical_types=False, return_record_name=True)
    return reader_of(schema, codec.decode, options, None)(message)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", ""),
        ("abc_DEF_123", "abc_DEF_123"),
        ("abc+-.*_", "abc_2B____"),
        ("abc-def", "abc_def"),
        ("abc+def", "abc_2Bdef"),
        ("abc  def", "abc__def"),
        ("abc.def", "abc_def"),
        ("0abc.def", "x0abc_def"),
        ("0abc", "x0abc"),
    ],
)
def test_names_are_scrubbed(name: str, expected: str) -> None:
    assert scrubbed(name, AvroOptions(scrub_invalid_names=True)) == expected


def test_scrubbing_reaches_namespaces_records_and_fields() -> None:
    options = AvroOptions(scrub_invalid_names=True, meta_data=False)
    schema = SchemaBuilder.struct("org.acme-corp.invalid record-name").field("invalid field-name", STRING).build()
    tree, message = written(schema, Struct(schema, {"invalid field-name": "foo"}), options)
    assert tree == {
        "type": "record",
        "name": "org.acme_corp.invalid_record_name",
        "fields": [{"name": "invalid_field_name", "type": "string"}],
    }
    assert message == b"\x06foo"


def test_an_enum_of_the_generalized_kind_is_an_avro_enum() -> None:
    options = AvroOptions(generalized_sum_type_support=True)
    kind = "org.apache.kafka.connect.data.Enum"
    parameters = {"io.confluent.connect.avro.enum.doc.TestEnum": "some documentation", kind: "TestEnum"}
    parameters |= {f"{kind}.{symbol}": str(number) for number, symbol in enumerate(("foo", "bar", "baz"))}
    schema = SchemaBuilder.string().name("TestEnum").parameters(parameters).build()
    tree, message = written(schema, "bar", options)
    assert (tree["type"], tree["name"], tree["symbols"]) == ("enum", "TestEnum", ["foo", "bar", "baz"])
    assert (tree["doc"], tree["connect.name"]) == ("some documentation", "TestEnum")
    assert tree["connect.parameters"] == parameters
    assert message == b"\x02"
    assert read(tree, message, options) == (schema, "bar")


@pytest.mark.parametrize(
    ("field", "value", "message"), [(0, 12, b"\x00\x18"), (1, "teststring", b"\x02\x14teststring")]
)
def test_a_union_of_the_generalized_kind_is_an_avro_union(field: int, value: Any, message: bytes) -> None:
    options = AvroOptions(generalized_sum_type_support=True)
    schema = union()
    tree, found = written(schema, Struct(schema, {f"connect_union_field_{field}": value}), options)
    assert [one if isinstance(one, str) else one["name"] for one in tree] == [
        "int",
        "string",
        "Test1",
        "io.confluent.Test2",
    ]
    assert found == message


@pytest.mark.parametrize("field", [2, 3])
def test_records_in_such_a_union_are_told_apart_by_the_number_of_their_field(field: int) -> None:
    schema = union()
    kind = schema.fields_by_name[f"connect_union_field_{field}"].schema
    value = Struct(schema, {f"connect_union_field_{field}": Struct(kind, test=12)})
    tree, found = written(schema, value, AvroOptions(generalized_sum_type_support=True))
    assert found == bytes([2 * field, 24])
    back = read(tree, found, AvroOptions(generalized_sum_type_support=True)).value
    assert {name: dict(one) for name, one in back.items()} == {f"connect_union_field_{field}": {"test": 12}}


def union() -> Schema:
    records = [
        SchemaBuilder.struct(name).field("test", INT32).optional().build() for name in ("Test1", "io.confluent.Test2")
    ]
    kinds = [INT32.replaced(optional=True), OPTIONAL_STRING, *records]
    builder = SchemaBuilder.struct("connect_union_0").parameter(
        "org.apache.kafka.connect.data.Union", "connect_union_0"
    )
    for number, kind in enumerate(kinds):
        builder.field(f"connect_union_field_{number}", kind)
    return builder.build()


def test_a_map_with_optional_text_as_keys_is_an_avro_map_only_where_that_is_allowed() -> None:
    schema = SchemaBuilder.map(OPTIONAL_STRING, OPTIONAL_STRING).build()
    tree, message = written(schema, {"a": None}, AvroOptions(allow_optional_map_keys=True))
    assert tree == {"type": "map", "values": ["null", "string"]}
    assert message == b"\x02\x02a\x00\x00"
    entries, _ = written(schema, {"a": None}, AvroOptions())
    assert (entries["type"], entries["items"]["name"]) == ("array", "io.confluent.connect.avro.MapEntry")


TYPE_DOC = {
    "type": "record",
    "name": "R",
    "doc": "record's doc",
    "fields": [
        {"name": "text", "type": "string", "doc": "field's doc"},
        {"name": "plain", "type": "string"},
        {
            "name": "inner",
            "type": {"type": "record", "name": "I", "doc": "inner's doc", "fields": []},
            "doc": "inner field's doc",
        },
    ],
}


def test_only_the_docs_of_fields_are_kept_where_those_of_types_are_discarded() -> None:
    message = Codec(TYPE_DOC).encode({"text": "a", "plain": "b", "inner": {}})
    found = read(TYPE_DOC, message, AvroOptions(enhanced_schema_support=True, discard_type_doc_default=True)).schema
    docs = {field.name: field.schema.doc for field in found.fields}
    assert docs == {"text": "field's doc", "plain": None, "inner": "inner field's doc"}
    kept = read(TYPE_DOC, message, AvroOptions(enhanced_schema_support=True)).schema
    assert kept.parameters["io.confluent.connect.avro.record.doc"] == "record's doc"
    assert kept.parameters["io.confluent.connect.avro.field.doc.text"] == "field's doc"
