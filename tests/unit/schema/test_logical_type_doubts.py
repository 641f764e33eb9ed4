"""Misspelt logical types in a user's schema cause a warning with the nearest name; other unknown names do not."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import pytest

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SchemaError, SchemaWarning
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.testing import LocalRegistry


def long(name: str, key: str = "logicalType") -> dict[str, str]:
    return {"type": "long", key: name}


def record(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind, **more}]}


def told(schema: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse(schema, **options)
    assert all(one.category is SchemaWarning for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("timestamp-milis", "timestamp-millis"),
        ("timestamp_millis", "timestamp-millis"),
        ("timestampMicros", "timestamp-micros"),
        ("TIMESTAMP-NANOS", "timestamp-nanos"),
        ("local-timestamp-milli", "local-timestamp-millis"),
        ("timestamp", "timestamp-millis"),
        ("localTimestamp", "local-timestamp-millis"),
        ("timestamp-ms", "timestamp-millis"),
        ("timestamp_us", "timestamp-micros"),
        ("timestamp-ns", "timestamp-nanos"),
        ("time-micro", "time-micros"),
        ("Decimal", "decimal"),
        ("BigDecimal", "big-decimal"),
        ("UUID", "uuid"),
        ("Date", "date"),
        ("durations", "duration"),
    ],
)
def test_the_warning_for_a_misspelt_logical_type_suggests_the_nearest_name(written: str, meant: str) -> None:
    near = f'"logicalType": "{meant}"'
    text = f'"logicalType": "{written}" is unknown to Avro, so the type is a plain long: did you mean {near}?'
    assert told(long(written)) == [text]
    for place in (long(written), {"type": "array", "items": long(written)}, ["null", long(written)]):
        (found,) = told(record(place))
        assert found.startswith("field f")
        assert text in found
    assert (
        'plain fixed: did you mean "logicalType": "'
        in told({"type": "fixed", "name": "F", "size": 16, "logicalType": written})[0]
    )


@pytest.mark.parametrize("key", ["logicaltype", "logical_type", "LogicalType", "logicalTypes", "logicType"])
def test_a_misspelt_key_is_warned_about_if_its_value_is_a_logical_type(key: str) -> None:
    assert told(long("timestamp-millis", key)) == [
        f'"{key}": "timestamp-millis" is unknown to Avro, so the type is a plain long: '
        'did you mean "logicalType": "timestamp-millis"?'
    ]
    assert told(long("something", key)) == []


def test_a_logical_type_outside_its_type_is_warned_about() -> None:
    expected = (
        'field f: "logicalType": "timestamp-millis" is outside the type, where Avro ignores it: '
        'did you mean {"type": "long", "logicalType": "timestamp-millis"}?'
    )
    assert told(record("long", logicalType="timestamp-millis")) == [expected]
    assert len(told(record(["null", "long"], logicalType="timestamp-millis"))) == 1
    assert told(record(long("timestamp-millis"), logicalType="timestamp-millis")) == []


@pytest.mark.parametrize(
    "name", ["", "json", "varchar", "map", "interval", "datetime", "state", "com.example.Money", "x" * 10**6, 5, None]
)
def test_other_unknown_logical_types_are_ignored_as_avro_requires(name: Any) -> None:
    begin = time.process_time()
    assert told({"type": "string", "logicalType": name}) == []
    assert told({"type": "string", "java-class": name, "avro.java.string": "String", "physicalType": "date"}) == []
    assert time.process_time() - begin < 5


def test_each_misspelling_is_warned_about_once() -> None:
    fields = [{"name": f"f{number}", "type": long("timestamp-milis")} for number in range(1000)]
    found = told({"type": "record", "name": "R", "fields": [*fields, {"name": "d", "type": long("Decimal")}]})
    assert [text.partition('"')[0] for text in found] == ["field f0: ", "field d: "]


def test_a_known_logical_type_on_a_wrong_type_is_an_error() -> None:
    for kind in ("array", "map", "record", "enum"):
        schema = {"type": kind, "name": "N", "items": "int", "values": "int", "fields": [], "symbols": ["A"]}
        with pytest.raises(SchemaError, match=f"logical type date: annotates int, not {kind}"):
            parse({**schema, "logicalType": "date"})
        assert told({**schema, "logicalType": "set"}) == []
    with pytest.raises(SchemaError, match="logical type date: annotates int, not long"):
        parse(long("date"))


def test_schemas_from_the_registry_cause_no_warning(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    assert told(long("timestamp-milis"), strict=False) == []
    with pytest.warns(SchemaWarning):
        framed = KafkaAvroSerializer(conf, record(long("timestamp-milis"))).serialize("t", {"f": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KafkaAvroDeserializer(conf).deserialize("t", framed) == {"f": 1}
        assert KafkaAvroSerializer(conf).serialize("t", {"f": 1}) == framed


def test_the_warning_points_to_the_users_code(registry: LocalRegistry) -> None:
    conf, schema = {"schema.registry.url": registry.url}, json.dumps(record(long("time-mikros")))
    makers = (
        lambda: parse(schema),
        lambda: Codec(schema),
        lambda: KafkaAvroSerializer(conf, schema),
        lambda: KafkaAvroDeserializer(conf, schema),
    )
    for make in makers:
        with pytest.warns(SchemaWarning, match='did you mean "logicalType": "time-micros"') as caught:
            make()
        assert {one.filename for one in caught} == {__file__}


def test_a_warning_filter_can_turn_the_warning_into_an_error() -> None:
    with pytest.raises(SchemaWarning):  # warnings are errors in these tests
        Codec(long("timestamp-milis"))
    assert issubclass(SchemaWarning, UserWarning)
