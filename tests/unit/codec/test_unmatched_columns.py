"""unmatched.columns and validate.strict: a field whose column was renamed is not written as its default."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest
from rows import Row

from streamnative_serdes import ConfigError, EncodeError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry

MONEY: dict[str, Any] = {
    "type": "record",
    "name": "Money",
    "fields": [{"name": "amount", "type": "long", "default": 0}, {"name": "unit", "type": "string", "default": "EUR"}],
}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "total", "type": ["null", "double"], "default": None},
        {"name": "note", "type": "string", "default": ""},
    ],
}
IGNORE = {"unmatched_columns": "ignore"}
STRICT, ALLOWING = {"validate_strict": True}, {"validate_strict_allow_default": True}


def around(money: Any) -> dict[str, Any]:
    fields = [{"name": "id", "type": "long"}, {"name": "of", "type": money}]
    return {"type": "record", "name": "Outer", "fields": fields}


def batch(**columns: list[Any]) -> Any:
    return pytest.importorskip("pyarrow").RecordBatch.from_pydict(columns)


def columns_of(schema: Any, **options: Any) -> Any:
    pytest.importorskip("pyarrow")
    from streamnative_serdes.arrow import ColumnCodec

    return ColumnCodec(schema, **options)


# --- columns ----------------------------------------------------------------------------------------------------------


def test_a_renamed_column_is_an_error_that_names_column_and_field() -> None:
    with pytest.raises(EncodeError) as caught:
        columns_of(ORDER).encode(batch(id=[1], totl=[2.5], note=["x"]))
    assert str(caught.value) == (
        "record Order has no field for column 'totl', and no column for its field 'total' (hint: is column 'totl' "
        "the field 'total'? rename or drop columns; without validate.strict, unmatched.columns=ignore drops them "
        "and writes the fields' defaults)"
    )
    assert caught.value.row is None


@pytest.mark.parametrize("strict", [STRICT, ALLOWING])
def test_the_hint_says_that_ignore_has_no_effect_with_validate_strict(strict: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match=r"without validate.strict, unmatched.columns=ignore drops them"):
        columns_of(ORDER, **strict, **IGNORE).encode(batch(id=[1], totl=[2.5], note=["x"]))


def test_the_error_names_all_unmatched_columns_and_the_nearest_field() -> None:
    with pytest.raises(
        EncodeError, match=r"no field for columns 'zzz', 'nots', and no column for its fields 'total', 'note'"
    ) as caught:
        columns_of(ORDER).encode(batch(id=[1], zzz=[2], nots=["x"]))
    assert "is column 'nots' the field 'note'? " in str(caught.value)
    with pytest.raises(EncodeError, match=r"for column 'zzz', and no column .*hint: rename or drop columns") as far:
        columns_of(ORDER).encode(batch(id=[1], zzz=[2.5], note=["x"]))
    assert "the field" not in str(far.value).partition("hint")[2].partition("rename")[0]
    many = {f"q{i}": [i] for i in range(9)}
    with pytest.raises(EncodeError, match=r"columns 'q0', 'q1', 'q2', 'q3', 'q4', \.\.\., and no column for its field"):
        columns_of(ORDER).encode(batch(id=[1], **many))


def test_the_error_also_names_unmatched_fields_without_a_default() -> None:
    with pytest.raises(EncodeError, match=r"no field for column 'ident', and no column for its field 'id'"):
        columns_of(ORDER).encode(batch(ident=[1], total=[2.5], note=["x"]))


def test_only_extra_columns_or_only_missing_columns_are_accepted() -> None:
    more = columns_of(ORDER).encode(batch(id=[1], total=[2.5], note=["x"], totl=[9]))
    fewer = columns_of(ORDER).encode(batch(id=[1], total=[2.5]))
    assert more.to_pylist() == [Codec(ORDER).encode({"id": 1, "total": 2.5, "note": "x"})]
    assert fewer.to_pylist() == [Codec(ORDER).encode({"id": 1, "total": 2.5, "note": ""})]


def test_ignore_drops_columns_and_writes_defaults() -> None:
    codec = columns_of(ORDER, **IGNORE)
    assert codec.encode(batch(id=[1], totl=[2.5], note=["x"])).to_pylist() == [
        Codec(ORDER).encode({"id": 1, "total": None, "note": "x"})
    ]
    with pytest.raises(EncodeError, match=r"^field total: there is no column of that name, but there is 'Total'"):
        codec.encode(batch(id=[1], Total=[2.5]))
    with pytest.raises(EncodeError, match=r"^field id: there is no column of that name: the field is missing"):
        codec.encode(batch(ident=[1], total=[2.5]))
    with pytest.raises(EncodeError, match="there is no column for any field of record Money"):
        columns_of(MONEY, **IGNORE).encode(batch(ident=[1]))


def test_a_column_that_differs_only_in_case_is_reported_first() -> None:
    with pytest.raises(
        EncodeError,
        match=r"^field total: there is no column of that name, but there is 'Total' .hint: rename the column",
    ):
        columns_of(ORDER).encode(batch(id=[1], Total=[2.5], other=[1]))


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        (MONEY, {"amont": 5, "unit": "USD"}, "of"),
        (["null", MONEY], {"amont": 5, "unit": "USD"}, "of"),
        (["null", "string", MONEY], {"amont": 5, "unit": "USD"}, "of"),
        ({"type": "array", "items": MONEY}, [{"amont": 5, "unit": "USD"}], "of[]"),
        ({"type": "map", "values": ["null", MONEY]}, [("k", {"amont": 5, "unit": "USD"})], "of[]"),
        (around(MONEY) | {"name": "Middle"}, {"id": 1, "of": {"amont": 5, "unit": "USD"}}, "of.of"),
    ],
    ids=["record", "nullable", "union", "array", "map", "deep"],
)
def test_nested_structs_are_checked_too(schema: Any, value: Any, path: str) -> None:
    pa = pytest.importorskip("pyarrow")
    kind = (
        pa.map_(pa.string(), pa.struct([("amont", pa.int64()), ("unit", pa.string())]))
        if "map" in str(schema)
        else None
    )
    given = pa.record_batch([pa.array([1]), pa.array([value], kind)], ["id", "of"])
    with pytest.raises(
        EncodeError, match="no field for column 'amont', and no column for its field 'amount'"
    ) as caught:
        columns_of(around(schema)).encode(given)
    assert caught.value.path == path
    assert len(columns_of(around(schema), **IGNORE).encode(given)) == 1


def test_the_record_of_a_union_that_matches_the_columns_is_chosen() -> None:
    other = {
        "type": "record",
        "name": "Sum",
        "fields": [{"name": "amont", "type": "long"}, {"name": "unit", "type": "string"}],
    }
    given = batch(id=[1], of=[{"amont": 5, "unit": "USD"}])
    schema = around(["null", MONEY, other])
    (data,) = columns_of(schema).encode(given).to_pylist()
    assert Codec(schema, return_record_name=True).decode(data)["of"] == ("Sum", {"amont": 5, "unit": "USD"})
    with pytest.raises(EncodeError, match=r"^field of: expected a column for a branch of union of record, record"):
        columns_of(around(["null", MONEY, other])).encode(batch(id=[1], of=[{"amunt": 5, "unit": "USD"}]))


@pytest.mark.parametrize("options", [STRICT, ALLOWING, {**STRICT, **IGNORE}, {**ALLOWING, **IGNORE}], ids=str)
def test_strict_modes_allow_only_the_columns_of_the_schema(options: dict[str, Any]) -> None:
    codec = columns_of(ORDER, **options)
    whole = {"id": [1], "total": [2.5], "note": ["x"]}
    assert len(codec.encode(batch(**whole))) == 1
    with pytest.raises(EncodeError, match="record Order has no field 'more'"):
        codec.encode(batch(**whole, more=[1]))
    with pytest.raises(EncodeError, match="no field for column 'totl', and no column for its field 'total'"):
        codec.encode(batch(id=[1], totl=[2.5], note=["x"]))
    if "validate_strict" in options:
        with pytest.raises(
            EncodeError, match=r"^field note: there is no column of that name: validate.strict requires all"
        ):
            codec.encode(batch(id=[1], total=[2.5]))
    else:
        assert len(codec.encode(batch(id=[1], total=[2.5]))) == 1


def test_the_option_of_the_serializer_applies() -> None:
    renamed = batch(id=[1], totl=[2.5], note=["x"])
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        with pytest.raises(
            EncodeError, match=r"^topic orders, schema version 0: record Order has no field for column 'totl'"
        ):
            KafkaAvroSerializer(conf, ORDER).serialize_batch("orders", renamed)
        (data,) = KafkaAvroSerializer({**conf, "unmatched.columns": "ignore"}, ORDER).serialize_batch("orders", renamed)
        assert KafkaAvroDeserializer(conf).deserialize("orders", data.as_py()) == {"id": 1, "total": None, "note": "x"}
        strict = KafkaAvroSerializer({**conf, "validate.strict": True}, ORDER)
        with pytest.raises(EncodeError, match="record Order has no field 'more'"):
            strict.serialize_batch("orders", batch(id=[1], total=[2.5], note=["x"], more=[1]))
        with pytest.raises(ConfigError, match=r"unmatched.columns: expected error or ignore, got 'warn'"):
            KafkaAvroSerializer({**conf, "unmatched.columns": "warn"}, ORDER)


# --- rows of Spark, and other objects ---------------------------------------------------------------------------------


def test_a_row_with_a_renamed_column_is_an_error() -> None:
    with pytest.raises(
        EncodeError,
        match=r"^record Order has no field for column 'totl', and no column for its field 'total' \(hint: is",
    ):
        Codec(ORDER).encode(Row(id=1, totl=2.5, note="x"))
    with pytest.raises(EncodeError, match="no field for column 'ident', and no column for its field 'id'"):
        Codec(ORDER).encode(Row(ident=1, total=2.5, note="x"))
    with pytest.raises(EncodeError, match=r"^field of: record Money has no field for column 'amont'") as caught:
        Codec(around(["null", MONEY])).encode(Row(id=1, of=Row(amont=5, unit="USD")))
    assert caught.value.path == "of"


def test_a_row_with_only_extra_or_only_missing_columns_is_written() -> None:
    for row in (Row(id=1, note="x", total=2.5, more=1), Row(id=1, note="x", total=2.5), Row(total=2.5, note="x", id=1)):
        assert Codec(ORDER).encode(row) == Codec(ORDER).encode({"id": 1, "total": 2.5, "note": "x"})
    assert Codec(ORDER).encode(Row(id=1)) == Codec(ORDER).encode({"id": 1, "total": None, "note": ""})
    with pytest.raises(EncodeError, match=r"^field id: the field is missing and has no default"):
        Codec(ORDER).encode(Row(total=2.5))


def test_with_ignore_a_row_with_a_renamed_column_is_written_with_the_default() -> None:
    codec = Codec(ORDER, unmatched_columns="ignore")
    assert codec.encode(Row(id=1, totl=2.5)) == codec.encode({"id": 1, "total": None, "note": ""})
    with pytest.raises(EncodeError, match="but the row has a column 'Total'"):
        codec.encode(Row(id=1, Total=2.5))
    with pytest.raises(EncodeError, match="no field for any of the row's columns 'totl'"):
        Codec(MONEY, unmatched_columns="ignore").encode(Row(totl=1))


def test_other_mappings_may_have_unmatched_keys() -> None:
    expected = Codec(ORDER).encode({"id": 1, "total": None, "note": ""})
    assert Codec(ORDER).encode({"id": 1, "totl": 2.5}) == expected
    assert Codec(ORDER).encode(types.MappingProxyType({"id": 1, "totl": 2.5})) == expected


def test_compat_writes_rows_with_renamed_columns_unless_told_otherwise() -> None:
    from streamnative_serdes.compat import SchemaRegistryClient
    from streamnative_serdes.compat.avro import AvroSerializer
    from streamnative_serdes.serialization import MessageField, SerializationContext

    with LocalRegistry() as registry:
        text = json.dumps(ORDER)
        serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), text)
        context = SerializationContext("orders", MessageField.VALUE)
        assert serializer(Row(id=1, totl=2.5), context) == serializer({"id": 1}, context)
        given = AvroSerializer(SchemaRegistryClient({"url": registry.url}), text, conf={"unmatched.columns": "error"})
        with pytest.raises(EncodeError, match="no field for column 'totl'"):
            given(Row(id=1, totl=2.5), context)


def test_a_real_pyspark_row_with_a_renamed_column_is_an_error() -> None:
    row = pytest.importorskip("pyspark.sql").Row
    with pytest.raises(EncodeError, match="no field for column 'totl'"):
        Codec(ORDER).encode(row(id=1, totl=2.5, note="x"))
