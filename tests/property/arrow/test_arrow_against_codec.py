"""Columns contain what Codec decodes, and bytes that Codec refuses are errors with the same texts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from arrow_values import NOT_HELD, as_object, equal, plain_numbers
from avro_evolution import writer_reader_datum
from avro_strategies import EDITS, edited, schema_and_data, unions
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._schema import parse
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, SchemaError


def column_codec(*schemas: Any, **options: Any) -> ColumnCodec:
    try:
        return ColumnCodec(*schemas, dialect="spark", **options)
    except SchemaError as error:
        assume("contains itself" not in str(error))  # Arrow has no recursive types
        raise


def rows(codec: ColumnCodec, data: list[bytes | None]) -> list[tuple[Any, str | None]]:
    """Return (datum, error) for each row; a row with an error must be null in all columns."""
    batch = codec.decode(pa.array(data, pa.binary()), error_column="")
    batch.validate(full=True)
    root = codec.reader_schema.root
    found = []
    for row in batch.to_pylist():
        error = row.pop("")
        assert error is None or not any(value is not None for value in row.values())
        datum = as_object(row if root.kind == "record" else row["value"], root)
        found.append((datum, error))
    return found


def check(codec: Codec, columns: ColumnCodec, data: list[bytes]) -> None:
    """Decode ``data`` as one batch, with a null after each message, and compare with Codec row by row."""
    got = rows(columns, [row for one in data for row in (one, None)])
    compare(codec, columns, data, got[::2])
    assert all(error is None for _, error in got[1::2])


def compare(codec: Codec, columns: ColumnCodec, data: list[bytes], got: list[tuple[Any, str | None]]) -> None:
    root = columns.reader_schema.root
    for one, (datum, error) in zip(data, got, strict=True):
        if error is not None and NOT_HELD in error:
            continue
        try:
            expected = codec.decode(one)
        except DecodeError as refused:
            assert error == str(refused), one.hex()
        else:
            assert error is None, one.hex()
            assert equal(datum, plain_numbers(expected, root)), (one.hex(), datum, expected)


OPTIONAL = 6  # fields that are null in most rows, neighbours of the field that may be null
FORMS = st.sampled_from(["plain", "optional", "items", "entries"])


def in_a_record(kind: Any, form: str, *, left_out: bool = False) -> Any:
    """A record with a field of this type, or of a container of such records, among others: it is read in blocks."""
    holder = {"type": "record", "name": "Holder", "fields": [{"name": "v", "type": kind}, {"name": "w", "type": "int"}]}
    forms: dict[str, Any] = {
        "plain": kind,
        "optional": ["null", holder],
        "items": {"type": "array", "items": holder},
        "entries": {"type": "map", "values": holder},
    }
    some = [(f"o{number}", ["null", "long"]) for number in range(OPTIONAL)]
    before, behind = [("n", "long"), ("text", "string"), *some[:3]], [*some[3:], ("flag", "boolean"), ("last", "int")]
    fields = [*before, *([] if left_out else [("x", forms[form])]), *behind]
    return {"type": "record", "name": "Block", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def held(value: Any, form: str, row: int) -> Any:
    """The field's value in this row."""
    one = {"v": value, "w": row}
    forms = {
        "plain": value,
        "optional": one if row % 3 == 1 else None,
        "items": [one] * (row % 4),
        "entries": {f"{number}": one for number in range(row % 3)},
    }
    return forms[form]


BLOCK = 40  # messages
PLACES = st.integers(0, BLOCK - 1)


def neighbours(codec: Codec, data: list[Any], form: str, edits: list[tuple[int, Any]]) -> list[bytes]:
    """So many messages with data of the field, of which some are damaged."""
    found = []
    for row in range(BLOCK):
        rest = {f"o{number}": row if row % 11 == number else None for number in range(OPTIONAL)}
        rest |= {"n": row**9, "text": "é" * (row % 19), "flag": row % 3 == 0, "last": row}
        found.append(codec.encode({"x": held(data[row % len(data)], form, row), **rest}))
    for place, edit in edits:
        found[place] = edited(found[place], edit)
    return found


@given(schema_and_data(), st.data())
@examples(120)
def test_columns_contain_the_data_that_was_encoded(sample: tuple[Any, Any], draw: st.DataObject) -> None:
    schema, strategy = sample
    columns, codec = column_codec(schema), Codec(schema)
    check(codec, columns, [codec.encode(datum) for datum in draw.draw(st.lists(strategy, max_size=5))])


@given(schema_and_data(), st.data())
@examples(50)
def test_truncated_messages_are_refused_as_by_the_codec(sample: tuple[Any, Any], draw: st.DataObject) -> None:
    schema, strategy = sample
    columns, codec = column_codec(schema), Codec(schema)
    data = codec.encode(draw.draw(strategy))
    check(codec, columns, [data[:end] for end in range(min(len(data), 200) + 1)])


@given(schema_and_data(), st.data(), st.lists(EDITS, min_size=1, max_size=20))
@examples(100)
def test_damaged_messages_are_read_or_refused_as_by_the_codec(
    sample: tuple[Any, Any], draw: st.DataObject, edits: list[Any]
) -> None:
    schema, strategy = sample
    columns, codec = column_codec(schema), Codec(schema)
    data = codec.encode(draw.draw(strategy))
    check(codec, columns, [edited(data, edit) for edit in edits])


@given(writer_reader_datum(), st.lists(EDITS, max_size=20), st.sampled_from(["java", "spec"]))
@examples(200)
def test_a_readers_schema_reads_or_refuses_as_the_codec_does(
    pair: tuple[Any, Any, Any], edits: list[Any], rules: Any
) -> None:
    writer, reader, datum = pair
    try:
        codec = Codec(writer, reader, schema_resolution=rules)
    except SchemaError:
        assume(False)
    columns = column_codec(writer, reader, schema_resolution=rules)
    data = codec.encode(datum)
    check(codec, columns, [data, *(edited(data, edit) for edit in edits)])


@given(schema_and_data(), FORMS, st.data(), st.lists(st.tuples(PLACES, EDITS), max_size=5))
@examples(200)
def test_neighbouring_messages_are_read_or_refused_as_by_the_codec(
    sample: tuple[Any, Any], form: str, draw: st.DataObject, edits: list[tuple[int, Any]]
) -> None:
    schema, strategy = sample
    columns, codec = column_codec(in_a_record(schema, form)), Codec(in_a_record(schema, form))
    data = neighbours(codec, draw.draw(st.lists(strategy, min_size=1, max_size=5)), form, edits)
    compare(codec, columns, data, rows(columns, list(data)))


@given(
    writer_reader_datum(),
    FORMS,
    st.booleans(),
    st.lists(st.tuples(PLACES, EDITS), max_size=5),
    st.sampled_from(["java", "spec"]),
)
@examples(250)
def test_a_readers_schema_reads_or_refuses_neighbouring_messages_as_the_codec_does(
    pair: tuple[Any, Any, Any], form: str, left_out: bool, edits: list[tuple[int, Any]], rules: Any
) -> None:
    writer, reader, datum = in_a_record(pair[0], form), in_a_record(pair[1], form, left_out=left_out), pair[2]
    try:
        codec = Codec(writer, reader, schema_resolution=rules)
    except SchemaError:
        assume(False)
    columns = column_codec(writer, reader, schema_resolution=rules)
    data = neighbours(codec, [datum], form, edits)
    compare(codec, columns, data, rows(columns, list(data)))


@given(schema_and_data(), st.lists(st.binary(max_size=60), max_size=20))
@examples(50)
def test_garbage_is_read_or_refused_as_by_the_codec(sample: tuple[Any, Any], data: list[bytes]) -> None:
    columns = column_codec(sample[0])
    check(Codec(parse(sample[0])), columns, data)


@given(schema_and_data(), st.data(), st.sampled_from(["arrow", "spark", "spark-4.0"]), st.booleans())
@examples(150)
def test_decoded_columns_are_encoded_to_the_same_bytes(
    sample: tuple[Any, Any], draw: st.DataObject, dialect: Any, large: bool
) -> None:
    schema, strategy = sample
    column_codec(schema)
    codec, columns = Codec(schema), ColumnCodec(schema, dialect=dialect, large_types=large)
    data = [codec.encode(datum) for datum in draw.draw(st.lists(strategy, max_size=6))]
    batch = columns.decode(pa.array(data, pa.binary()))
    batch.validate(full=True)
    start, end = sorted(draw.draw(st.tuples(*[st.integers(0, len(data))] * 2)))
    part = batch.slice(start, end - start)

    again = columns.encode(part)
    again.validate(full=True)
    assert again.type == (pa.large_binary() if large else pa.binary())
    assert columns.decode(again).equals(part)
    if not any(has_numbers(union) for union in unions(schema)):
        assert again.to_pylist() == data[start:end]


@given(schema_and_data(), st.data(), st.integers(0, 9), st.booleans(), FORMS)
@examples(150)
def test_neighbouring_rows_are_encoded_as_by_the_codec_and_as_alone(
    sample: tuple[Any, Any], draw: st.DataObject, start: int, optional: bool, form: str
) -> None:
    schema, strategy = sample
    kind = schema["type"] if isinstance(schema, dict) else schema
    if optional and not isinstance(schema, list) and kind != "null":
        schema, strategy = ["null", schema], st.none() | strategy
    whole = in_a_record(schema, form)
    columns, codec = column_codec(whole), Codec(whole)
    data = neighbours(codec, draw.draw(st.lists(strategy, min_size=1, max_size=5)), form, [])
    batch = columns.decode(pa.array(data, pa.binary())).slice(start)
    again = columns.encode(batch)
    again.validate(full=True)
    assert again.to_pylist() == [columns.encode(batch.slice(row, 1))[0].as_py() for row in range(len(again))]
    if not any(has_numbers(union) for union in unions(whole)):
        assert again.to_pylist() == data[start:]


def has_numbers(union: list[Any]) -> bool:
    """Whether the union becomes a column of plain numbers, which does not show the branch of each number."""
    kinds = {branch if isinstance(branch, str) else branch["type"] for branch in union} - {"null"}
    return kinds in ({"int", "long"}, {"float", "double"})
