"""Connect's data becomes JSON and comes back, over random schemas; the losses are those that docs/connect.md lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from connect_strategies import data, filled, filled_schema
from hypothesis import assume, given
from hypothesis import strategies as st

from streamnative_serdes.connect import JsonConverter, Schema
from streamnative_serdes.connect.schema import same_value
from streamnative_serdes.errors import DecodeError, EncodeError


def written(converter: JsonConverter, schema: Schema, value: Any) -> bytes:
    try:
        message = converter.from_connect_data("topic", schema, value)
    except EncodeError as error:
        assume("None cannot be a key" not in error.message)
        raise
    assert message is not None
    return message


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@given(pair=data())
def test_a_value_comes_back_with_its_schema_and_with_defaults_filled_in(
    decimals: str, pair: tuple[Schema, Any]
) -> None:
    converter = JsonConverter({"decimal.format": decimals})
    schema, value = pair
    message = written(converter, schema, value)
    assert json.loads(message).keys() == {"schema", "payload"}
    for _ in range(2):  # the second time, the schema is known by its bytes
        found = converter.to_connect_data("topic", message)
        assert found.schema == filled_schema(schema)
        assert same_value(found.value, filled(schema, value))


@given(data(defaults=False))
def test_without_replacing_null_a_value_is_read_back_unchanged(pair: tuple[Schema, Any]) -> None:
    converter = JsonConverter({"replace.null.with.default": "false"})
    message = written(converter, *pair)
    found = converter.to_connect_data("topic", message)
    assert found.schema == pair[0]
    assert same_value(found.value, pair[1])


@given(data(), st.data())
def test_a_damaged_message_is_read_or_refused_by_a_typed_error(pair: tuple[Schema, Any], draw: st.DataObject) -> None:
    converter = JsonConverter()
    message = bytearray(written(converter, *pair))
    assert converter.to_connect_data("topic", bytes(message)).schema is not None  # its schema is known from now on
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(message) - 1))
        message[at : at + draw.draw(st.integers(0, 3))] = draw.draw(st.sampled_from([b"", b"0", b'"', b"{", b"null"]))
        assume(message)
    try:
        once = converter.to_connect_data("topic", bytes(message))
    except DecodeError as error:
        assert error.topic == "topic"
        with pytest.raises(DecodeError):
            JsonConverter().to_connect_data("topic", bytes(message))
    else:
        again = JsonConverter().to_connect_data("topic", bytes(message))
        assert once.schema == again.schema
        assert same_value(once.value, again.value)
