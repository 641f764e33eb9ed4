"""Our JsonConverter and SchemaProjector against those of Kafka's connect-json and connect-api (4.1.1)."""

from __future__ import annotations

import json
import struct
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from connect import JavaConnect, RefusedError
from connect.described import comparable, described, described_value, schema_of, value_of
from connect_strategies import EDGES, changed, data, pairs, schemas
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamnative_serdes.connect import Decimal, JsonConverter, Schema, SchemaProjector
from streamnative_serdes.errors import EncodeError, SerdesError

pytestmark = pytest.mark.usefixtures("java_connect")
slow = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
# A struct whose default is a struct never has the schema that Java requires; and Java's JSON has no null as a key.
JAVA_CANNOT = ("Mismatching schema", "null key", "Null key")


def parsed(message: bytes | None) -> Any:
    """JSON with numbers as floats of 32 bits, since Java before 19 does not print the fewest digits."""
    assert message is not None

    def rounded(digits: str) -> Any:
        number = float(digits)
        return struct.unpack("<f", struct.pack("<f", number))[0] if abs(number) < 3e38 else digits

    return _sorted(json.loads(message, parse_float=rounded))


def _sorted(tree: Any) -> Any:
    """Entries of maps, which are pairs, in one order, since Java has another."""
    if isinstance(tree, dict):
        return {key: _sorted(item) for key, item in tree.items()}
    return sorted(map(_sorted, tree), key=json.dumps) if isinstance(tree, list) else tree


def unsigned(shown: Any) -> Any:
    """A description in which -0.0 is 0.0, as Java reads it from JSON."""
    text = json.dumps(shown).replace('"FLOAT32": "80000000"', '"FLOAT32": "0"').replace(f'"8{"0" * 15}"', '"0"')
    return comparable(json.loads(text))  # sorted after that


@pytest.mark.parametrize("enabled", [True, False], ids=["with schemas", "without schemas"])
@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@pytest.mark.parametrize("replaced", [True, False], ids=["defaults for null", "null"])
@slow
@given(pair=data())
def test_random_data_is_written_and_read_as_java_does(
    java_connect: JavaConnect, replaced: bool, decimals: str, enabled: bool, pair: tuple[Schema, Any]
) -> None:
    chosen = {"decimal.format": decimals, "schemas.enable": enabled, "replace.null.with.default": replaced}
    assert_written_and_read_as_java_does(java_connect, chosen, pair)


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize("replaced", [True, False], ids=["defaults for null", "null"])
def test_every_type_optional_and_default_is_written_and_read_as_java_does(
    java_connect: JavaConnect, replaced: bool, kind: str
) -> None:
    chosen = {"decimal.format": "NUMERIC", "replace.null.with.default": replaced}
    for pair in pairs(kind):
        assert_written_and_read_as_java_does(java_connect, chosen, pair)


def assert_written_and_read_as_java_does(
    java_connect: JavaConnect, chosen: dict[str, Any], pair: tuple[Schema, Any]
) -> None:
    names = {name.replace(".", "_"): value for name, value in chosen.items()}
    converter = JsonConverter(chosen)
    try:
        java = java_connect.to_json(described(pair[0]), described_value(*pair), **names)
    except RefusedError as error:
        if "null value for field that is required" in error.message:
            assert not chosen["replace.null.with.default"]
            with pytest.raises(EncodeError, match=r"got None|None cannot be a key"):
                converter.from_connect_data("t", *pair)
            return
        assert any(words in error.message for words in JAVA_CANNOT), error
        return
    try:
        ours = converter.from_connect_data("t", *pair)
    except EncodeError as error:  # Java writes the text "null", which is another key
        assert "None cannot be a key" in error.message
        return
    assert (ours is None) == (java is None)
    if ours is None or java is None:
        return
    assert parsed(ours) == parsed(java)
    for message in {ours, java}:
        assert_read_as_java_does(java_connect, converter, message, names)


def assert_read_as_java_does(
    java_connect: JavaConnect, converter: JsonConverter, message: bytes, names: dict[str, Any]
) -> None:
    try:
        schema, value = java_connect.from_json(message, **names)
    except RefusedError:
        with pytest.raises(SerdesError):
            converter.to_connect_data("t", message)
        return
    found = converter.to_connect_data("t", message)
    assert unsigned(described(found.schema)) == unsigned(schema)
    if names.get("schemas_enable", True):  # without schemas, Java's whole numbers are INT64
        assert unsigned(described_value(*found)) == unsigned(value)


@pytest.mark.parametrize(
    "text",
    ["1.0000001788139343", "1.00000017881393433", "1.0000000596046447753906250001", "16777217.0000001", "16777219",
     "9007199791611905", "7.006492321624086e-46", "7.006492321624085e-46", "3.4028235677973365e38", "0.1", "-0.5"],
)  # fmt: skip
def test_a_float_is_rounded_as_java_does(java_connect: JavaConnect, text: str) -> None:
    message = f'{{"schema":{{"type":"float","optional":false}},"payload":{text}}}'.encode()
    assert_read_as_java_does(java_connect, JsonConverter(), message, {})


@st.composite
def versions(draw: st.DrawFn) -> tuple[Schema, Any, Schema]:
    """A schema with a value, and another schema: mostly one that the first may have become, or any."""
    schema, value = draw(data(depth=2))
    return schema, value, draw(changed(schema) if draw(st.integers(0, 9)) else schemas(depth=1))


@settings(slow, max_examples=200)
@given(each=versions())
def test_random_data_is_projected_or_refused_as_java_does(
    java_connect: JavaConnect, each: tuple[Schema, Any, Schema]
) -> None:
    schema, value, wanted = each
    try:
        java = java_connect.project(described(schema), described_value(schema, value), described(wanted))
    except RefusedError as error:
        if "Struct schemas do not match" not in error.message:  # a struct as default, of the added field
            with pytest.raises(SerdesError):
                SchemaProjector.project(schema, value, wanted)
        return
    assert comparable(described_value(wanted, SchemaProjector.project(schema, value, wanted))) == comparable(java)


@pytest.mark.parametrize("text", ["1.50", "1.5", "1.500", "0", "0.00", "1E+2", "0E+1"])
def test_a_decimal_of_another_scale_is_refused_as_java_does(java_connect: JavaConnect, text: str) -> None:
    """By the converters: Java's Struct takes it, and so does its NUMERIC format, which looks at no scale."""
    schema, value = Decimal.schema(2), PythonDecimal(text)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    shown = {"DECIMAL": f"{-unscaled if sign else unscaled} {-exponent}"}
    for convert in (java_connect.to_json, java_connect.to_avro):
        try:
            convert(described(schema), shown)
        except RefusedError as error:
            assert "mismatching scale" in str(error)
            with pytest.raises(EncodeError, match="a decimal of scale 2"):
                JsonConverter().from_connect_data("t", schema, value)
        else:
            assert JsonConverter().from_connect_data("t", schema, value) is not None


def test_the_descriptions_of_the_oracle_are_read_back() -> None:
    @settings(max_examples=30, deadline=None)
    @given(pair=data(defaults=False))
    def check(pair: tuple[Schema, Any]) -> None:
        shown = described(pair[0])
        assert schema_of(shown) == pair[0]
        assert comparable(described_value(pair[0], value_of(pair[0], described_value(*pair)))) == comparable(
            described_value(*pair)
        )

    check()
