"""The columns of a KEY_VALUE batch hold what KafkaAvroDeserializer gives for each message, or the same error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pytest
from arrow_values import NOT_HELD, as_object, equal, plain_numbers
from avro_strategies import EDITS, edited, schema_and_data
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes import (
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValueSchema,
    SchemaError,
    SerdesError,
    header,
)
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.testing import LocalRegistry

NUMBERS: Final = count()
NOTHING: Final = object()


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalRegistry]:
    with LocalRegistry() as running:
        yield running


def registered(registry: LocalRegistry, key: Any, value: Any, encoding: Any) -> tuple[str, KafkaAvroDeserializer]:
    topic, conf = f"t{next(NUMBERS)}", {"schema.registry.url": registry.url}
    deserializer = KafkaAvroDeserializer(conf)
    try:
        KafkaAvroSerializer(conf, KeyValueSchema(key, value, encoding)).warm_up(topic)
        deserializer.columns(topic, dialect="spark")
    except SchemaError as error:
        assume("contains itself" not in str(error))  # Arrow has no recursive types
        raise
    except SerdesError:  # a schema that the registry refuses
        assume(False)
    return topic, deserializer


def joined(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(b"\xff" * 4 if half is None else len(half).to_bytes(4) + half for half in (key, value))


def single(work: Any) -> Any:
    try:
        return work()
    except DecodeError as error:
        return error


def check(row: dict[str, Any], expected: tuple[Any, Any], roots: tuple[Any, Any]) -> None:
    for name, half, root in zip(("key", "value"), expected, roots, strict=True):
        got = row[name] if row[name] is None else as_object(row[name], root)
        assert equal(got, plain_numbers(half, root)), (name, row, half)


HALVES = st.tuples(schema_and_data(), schema_and_data())
EDITED = st.lists(EDITS, max_size=8)


@given(HALVES, st.data(), EDITED, st.sampled_from([b"", header.pack(0)]), st.booleans(), st.booleans())
@examples(120)
def test_inline_columns_equal_single_messages(
    shared: LocalRegistry, halves: Any, draw: st.DataObject, edits: list[Any], head: bytes, no_key: bool, no_value: bool
) -> None:
    codecs = [Codec(schema) for schema, _ in halves]
    topic, deserializer = registered(shared, halves[0][0], halves[1][0], "INLINE")
    data = [codec.encode(draw.draw(strategy)) for codec, (_, strategy) in zip(codecs, halves, strict=True)]
    whole = joined(None if no_key else data[0], None if no_value else data[1])
    messages = [head + whole, *(head + edited(whole, edit) for edit in edits)]
    batch = deserializer.deserialize_batch(
        topic, [row for one in messages for row in (one, None)], error_column="", dialect="spark"
    )
    batch.validate(full=True)
    roots = parse(halves[0][0]).root, parse(halves[1][0]).root
    for message, row in zip(messages, batch.to_pylist()[::2], strict=True):
        expected, error = single(lambda: deserializer.deserialize(topic, message)), row.pop("")  # noqa: B023
        if error is not None and NOT_HELD in error:
            continue
        if isinstance(expected, DecodeError):
            assert error == str(expected), message.hex()
            assert row == {"key": None, "value": None}
        else:
            assert error is None, message.hex()
            check(row, expected, roots)
    assert batch.slice(1, 1).to_pylist() == [{"key": None, "value": None, "": None}]


@given(HALVES, st.data(), EDITED, EDITED, st.sampled_from([b"", header.pack(0)]))
@examples(120)
def test_separated_columns_equal_single_keys_and_messages(
    shared: LocalRegistry, halves: Any, draw: st.DataObject, of_key: list[Any], of_value: list[Any], head: bytes
) -> None:
    codecs = [Codec(schema) for schema, _ in halves]
    topic, deserializer = registered(shared, halves[0][0], halves[1][0], "SEPARATED")
    of_keys = KafkaAvroDeserializer({"schema.registry.url": shared.url}, is_key=True)
    key, value = (codec.encode(draw.draw(strategy)) for codec, (_, strategy) in zip(codecs, halves, strict=True))
    keys: list[bytes | None] = [key, None, *(edited(key, edit) for edit in of_key)]
    values: list[bytes | None] = [value, None, *(edited(value, edit) for edit in of_value)]
    pairs = [(one, other if other is None else head + other) for one in keys for other in values]
    batch = deserializer.deserialize_batch(
        topic, pa.array([pair[1] for pair in pairs], pa.binary()), keys=[pair[0] for pair in pairs],
        error_column="", dialect="spark",
    )  # fmt: skip
    batch.validate(full=True)
    roots = parse(halves[0][0]).root, parse(halves[1][0]).root
    for (one, other), row in zip(pairs, batch.to_pylist(), strict=True):
        expected = (
            single(lambda: of_keys.deserialize(topic, one)),  # noqa: B023
            single(lambda: deserializer.deserialize(topic, other)),  # noqa: B023
        )
        error = row.pop("")
        if error is not None and NOT_HELD in error:
            continue
        if any(isinstance(half, DecodeError) for half in expected):
            assert error is not None, (one, other)
            assert row == {"key": None, "value": None}
        else:
            assert error is None, (one, other)
            check(row, expected, roots)


@given(HALVES, st.data(), st.sampled_from(["INLINE", "SEPARATED"]), st.sampled_from(["bare", "value"]))
@examples(80)
def test_columns_are_written_as_the_messages_that_they_were_read_from(
    shared: LocalRegistry, halves: Any, draw: st.DataObject, encoding: Any, framing: str
) -> None:
    codecs = [Codec(schema) for schema, _ in halves]
    topic, deserializer = registered(shared, halves[0][0], halves[1][0], encoding)
    pairs = [
        [
            draw.draw(st.one_of(st.none(), strategy.map(codec.encode)))
            for codec, (_, strategy) in zip(codecs, halves, strict=True)
        ]
        for _ in range(3)
    ]
    if encoding == "INLINE":
        keys, values = None, [joined(*pair) for pair in pairs]
    else:
        keys, values = ([pair[half] for pair in pairs] for half in (0, 1))
    batch = deserializer.deserialize_batch(topic, pa.array(values, pa.binary()), keys=keys)
    serializer = KafkaAvroSerializer({"schema.registry.url": shared.url, "key.value.framing": framing})
    written = serializer.serialize_batch(topic, batch)
    written.validate(full=True)
    again = deserializer.deserialize_batch(topic, written["value"], keys=written["key"])
    assert again.equals(batch) or repr(again.to_pylist()) == repr(batch.to_pylist())  # nan
    assert all(value is None or value.startswith(header.pack(0)) for value in written["value"].to_pylist()) or (
        framing == "bare"
    )
