"""What confluent-kafka's own unit tests check of its Avro SerDes, checked of ours, at the address ``mock://``.

Confluent's tests are in ``tests/schema_registry/_sync/test_avro_serdes.py`` of confluentinc/confluent-kafka-python. The
table has all that need no rules, encryption or associations; their names are without ``test_avro_`` and ``serialize_``.
Tests marked * pin an error or other bytes; docs/tested.md gives the reasons. As there, all tests use one topic, and
delete its schemas for good afterwards.

====================================================  =============================================================
Confluent's test                                      ours
====================================================  =============================================================
basic_serialization                                   test_a_record_of_primitives_round_trips
guid_in_header                                        * test_a_guid_in_a_message_header_is_refused
use_schema_id                                         * test_a_global_schema_id_is_refused
bytes                                                 * test_bytes_at_the_root_round_trip_but_with_their_length
nested                                                test_a_record_in_a_record_round_trips
references                                            test_the_latest_schema_was_registered_with_a_reference
references_with_namespace                             test_a_reference_may_be_named_without_its_namespace
union                                                 * test_a_union_at_the_root_is_refused[of a record]
union_with_record_references                          * test_a_union_at_the_root_is_refused[whose record refers]
union_with_references                                 * test_a_union_at_the_root_is_refused[of references]
diamond_dependency_references                         test_two_references_may_share_a_third
schema_evolution                                      * test_a_field_without_a_default_may_not_go_under_full
reference                                             test_objects_whose_schemas_refer_to_each_other_round_trip
strict_extra_fields_rejected                          test_strict_refuses[another field]
strict_missing_field_with_default                     test_strict_refuses[no field, although it has a default]
strict_allow_default_extra_fields_rejected            test_strict_refuses[another field, allow default]
strict_nested_record                                  test_strict_refuses[another field in a nested record]
strict_allow_default_missing_field_with_default       test_strict_allow_default_writes_defaults[of primitives]
strict_allow_default_union_with_default               test_strict_allow_default_writes_defaults[of a union]
deserialize_strict                                    test_strict_writes_what_fits_the_schema
====================================================  =============================================================
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections import namedtuple
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import confluent_kafka.schema_registry as confluent
import fastavro
import pytest
import record_shop
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import record

from streamnative_serdes.compat import Schema, SchemaReference, SchemaRegistryClient
from streamnative_serdes.compat.avro import AvroDeserializer, AvroSerializer
from streamnative_serdes.compat.error import SchemaRegistryError
from streamnative_serdes.errors import EncodeError
from streamnative_serdes.testing import registry_of

TOPIC, SUBJECT, PATH = "topic1", "topic1-value", "public/default/topic1"
CTX = SerializationContext(TOPIC, MessageField.VALUE)
REGISTER = {"auto.register.schemas": True}
LATEST = {"auto.register.schemas": False, "use.latest.version": True}
STRICT, ALLOW_DEFAULT = {"validate.strict": True}, {"validate.strict.allow.default": True}

PLACE = record("Place", ("floor", "int"), ("area", "double"), ("name", "string"), ("open", "boolean"), ("tag", "bytes"))
CAVE = {"floor": -3, "area": 20.25, "name": "cave", "open": True, "tag": b"\x00\xff"}
POINT = record("Point", ("x", "int"), namespace="geo")
AGED = record("User", ("name", "string"), ("age", "int", 18))


@pytest.fixture
def client() -> Iterator[SchemaRegistryClient]:
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    yield client
    for subject in (SUBJECT, "Place", "Point", "Start", "End", "Label", "Album", "Buyer"):
        client.delete_subject(subject, True)
    registry_of("").set_strategy("UNDEFINED", PATH)


def there_and_back(client: SchemaRegistryClient, value: Any, schema: Any = None, conf: Any = LATEST) -> Any:
    """``value`` as it is read without a reader's schema; the writer's is the topic's latest if none is given."""
    serializer = AvroSerializer(client, schema_str=schema and json.dumps(schema), conf=conf)
    return AvroDeserializer(client)(serializer(value, CTX), CTX)


def refer(client: SchemaRegistryClient, name: str, tree: Any, *references: SchemaReference) -> SchemaReference:
    """A reference by ``name``, after its schema has become version 1 of the subject with the record's name."""
    client.register_schema(tree["name"], Schema(json.dumps(tree), "AVRO", list(references)))
    return SchemaReference(name, tree["name"], 1)


def test_a_record_of_primitives_round_trips(client: SchemaRegistryClient) -> None:
    assert there_and_back(client, CAVE, PLACE, REGISTER) == CAVE


def test_a_record_in_a_record_round_trips(client: SchemaRegistryClient) -> None:
    assert there_and_back(client, {"at": CAVE}, record("Map", ("at", PLACE)), REGISTER) == {"at": CAVE}


def test_the_latest_schema_was_registered_with_a_reference(client: SchemaRegistryClient) -> None:
    reference = refer(client, "Place", PLACE)
    schema = Schema(json.dumps(record("Map", ("at", "Place"))), "AVRO", [reference])
    client.register_schema(SUBJECT, schema)
    assert there_and_back(client, {"at": CAVE}) == {"at": CAVE}


def test_a_reference_may_be_named_without_its_namespace(client: SchemaRegistryClient) -> None:
    reference = refer(client, "Point", POINT)
    schema = Schema(json.dumps(record("Pin", ("at", "Point"), namespace="geo")), "AVRO", [reference])
    client.register_schema(SUBJECT, schema)
    assert there_and_back(client, {"at": {"x": 1}}) == {"at": {"x": 1}}


def test_two_references_may_share_a_third(client: SchemaRegistryClient) -> None:
    point = refer(client, "geo.Point", POINT)
    both = [
        refer(client, f"geo.{name}", record(name, (field, "geo.Point"), namespace="geo"), point)
        for name, field in (("Start", "leaves"), ("End", "reaches"))
    ]
    trip = record("Trip", ("start", "geo.Start"), ("end", "geo.End"), namespace="geo")
    client.register_schema(SUBJECT, Schema(json.dumps(trip), "AVRO", both))
    value = {"start": {"leaves": {"x": 1}}, "end": {"reaches": {"x": 2}}}
    assert there_and_back(client, value) == value


def test_objects_whose_schemas_refer_to_each_other_round_trip(client: SchemaRegistryClient) -> None:
    schema = record_shop.registered(client)
    message = AvroSerializer(client, schema, record_shop.to_dict)(record_shop.SALE, CTX)
    assert AvroDeserializer(client, schema, record_shop.from_dict)(message, CTX) == record_shop.SALE


# validate.strict and validate.strict.allow.default

HOME = record("Home", ("user", AGED))


@pytest.mark.parametrize(
    ("schema", "value", "conf", "where"),
    [
        pytest.param(AGED, {"name": "Ada", "age": 36, "is": 1}, STRICT, "'is'", id="another field"),
        pytest.param(AGED, {"name": "Ada"}, STRICT, "age", id="no field, although it has a default"),
        pytest.param(
            AGED, {"name": "Ada", "age": 36, "is": 1}, ALLOW_DEFAULT, "'is'", id="another field, allow default"
        ),
        pytest.param(
            HOME, {"user": {"name": "Ada", "age": 36, "is": 1}}, STRICT, "user", id="another field in a nested record"
        ),
    ],
)
def test_strict_refuses(
    client: SchemaRegistryClient, schema: Any, value: Any, conf: dict[str, Any], where: str
) -> None:
    with pytest.raises(ValueError, match=f"topic {TOPIC}.*{where}"):
        AvroSerializer(client, json.dumps(schema), conf={**REGISTER, **conf})(value, CTX)


@pytest.mark.parametrize(
    ("field", "default"),
    [
        pytest.param(("age", "int", 18), 18, id="of primitives"),
        pytest.param(("mail", ["null", "string"], None), None, id="of a union"),
    ],
)
def test_strict_allow_default_writes_defaults(
    client: SchemaRegistryClient, field: tuple[str, Any, Any], default: Any
) -> None:
    schema = record("User", ("name", "string"), field, ("city", "string", "none"))
    read = there_and_back(client, {"name": "Ada"}, schema, {**REGISTER, **ALLOW_DEFAULT})
    assert read == {"name": "Ada", field[0]: default, "city": "none"}


def test_strict_writes_what_fits_the_schema(client: SchemaRegistryClient) -> None:
    assert there_and_back(client, CAVE, PLACE, {**REGISTER, **STRICT}) == CAVE


# What Pulsar's registry and SNIP 42 do not allow


def test_a_guid_in_a_message_header_is_refused(client: SchemaRegistryClient) -> None:
    with pytest.raises(ImportError, match="not into a message header"):
        from streamnative_serdes.compat import header_schema_id_serializer  # type: ignore[attr-defined]  # noqa: F401
    conf = {**REGISTER, "schema.id.serializer": confluent.header_schema_id_serializer}
    with pytest.raises(ValueError, match=r"schema\.id\.serializer='header_schema_id_serializer' is not supported"):
        AvroSerializer(client, schema_str=json.dumps(PLACE), conf=conf)


def test_a_global_schema_id_is_refused(client: SchemaRegistryClient) -> None:
    with pytest.raises(ValueError, match=r"use\.schema\.id is not supported: .*no global schema ids"):
        AvroSerializer(client, schema_str=None, conf={"auto.register.schemas": False, "use.schema.id": 1})


def test_bytes_at_the_root_round_trip_but_with_their_length(client: SchemaRegistryClient) -> None:
    """Confluent's message is 00, the id and the bytes alone; Avro puts their length before them, here 06."""
    message = AvroSerializer(client, schema_str='"bytes"', conf=REGISTER)(b"\x02\x03\x04", CTX)
    assert message == b"\x03\x04" + bytes(8) + b"\x06\x02\x03\x04"
    assert AvroDeserializer(client)(message, CTX) == b"\x02\x03\x04"


@pytest.mark.parametrize(
    ("union", "referred"),
    [
        pytest.param(["null", POINT], {}, id="of a record"),
        pytest.param(["null", record("Pin", ("at", "geo.Point"))], {"geo.Point": POINT}, id="whose record refers"),
        pytest.param(["geo.Point", "Place"], {"geo.Point": POINT, "Place": PLACE}, id="of references"),
    ],
)
def test_a_union_at_the_root_is_refused(
    client: SchemaRegistryClient, union: list[Any], referred: dict[str, Any]
) -> None:
    references = [refer(client, name, tree) for name, tree in referred.items()]
    with pytest.raises(SchemaRegistryError, match=f"topic {TOPIC}: .*UNION") as caught:
        client.register_schema(SUBJECT, Schema(json.dumps(union), "AVRO", references))
    assert (caught.value.http_status_code, caught.value.error_code) == (422, 42201)
    inside = Schema(json.dumps(record("Top", ("is", union))), "AVRO", references)
    assert client.register_schema(SUBJECT, inside) == 0


def test_a_field_without_a_default_may_not_go_under_full(client: SchemaRegistryClient) -> None:
    """Pulsar's own strategy. With Confluent's, BACKWARD, the rest holds: the latest schema reads what was written."""
    old, new = record("Event", ("a", "string")), record("Event", ("b", ["string", "null"], "none"))
    client.register_schema(SUBJECT, Schema(json.dumps(old)))
    message = AvroSerializer(client, schema_str=None, conf=LATEST)({"a": "x"}, CTX)
    with pytest.raises(SchemaRegistryError, match="with strategy FULL") as caught:
        client.register_schema(SUBJECT, Schema(json.dumps(new)))
    assert (caught.value.http_status_code, caught.value.error_code) == (409, 409)
    registry_of("").set_strategy("BACKWARD", PATH)
    client.register_schema(SUBJECT, Schema(json.dumps(new)))
    client.clear_latest_caches()
    reader = AvroDeserializer(client, conf={"use.latest.version": True})
    assert reader(message, CTX) == {"b": "none"}


# Values that fastavro, by which Confluent's classes write, takes otherwise: docs/values.md

DATE, MICROS = ({"type": base, "logicalType": name} for base, name in (("int", "date"), ("long", "timestamp-micros")))
LOCAL, MONEY = {**MICROS, "logicalType": "local-timestamp-micros"}, {"type": "bytes", "logicalType": "decimal"}
NOON, INTS = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC), {"type": "array", "items": "int"}
LETTER = {"type": "enum", "name": "Letter", "symbols": ["A"]}


def by_fastavro(schema: Any, value: Any) -> Any:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, {"a": value})
    return fastavro.schemaless_reader(io.BytesIO(out.getvalue()), schema, None)["a"]  # type: ignore[call-overload, index]


@pytest.mark.parametrize(
    ("kind", "make", "read"),
    [
        ("int", lambda: 1.0, 1),
        ("long", lambda: Decimal("1.5"), 1),
        ("float", lambda: Decimal("1.5"), 1.5),
        ("double", lambda: "1.5", 1.5),
        ("float", lambda: 16777217, 16777216.0),
        ("double", lambda: 2**53 + 1, 2.0**53),
        ("boolean", lambda: "no", True),
        ("boolean", lambda: None, False),
        *((INTS, lambda made=made: made, [1]) for made in ({1}, {1: 2}, b"\1", namedtuple("One", "a")(1))),
        (INTS, lambda: iter([1]), [1]),
        (INTS, lambda: "", []),
        (DATE, lambda: NOON, NOON.date()),
        (DATE, lambda: "2020-01-01", NOON.date()),
        (DATE, lambda: True, dt.date(1970, 1, 2)),
        (MICROS, lambda: True, dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)),
        (MICROS, lambda: 1.5, dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)),
        (MICROS, lambda: Decimal(1), dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)),
        (LOCAL, lambda: NOON, NOON.replace(tzinfo=None)),
        ({**MONEY, "precision": 4, "scale": 2}, lambda: b"\1", Decimal("0.01")),
    ],
)
def test_values_that_fastavro_changes_are_refused(
    client: SchemaRegistryClient, kind: Any, make: Callable[[], Any], read: Any
) -> None:
    schema = record("Value", ("a", kind))
    assert by_fastavro(schema, make()) == read
    with pytest.raises(EncodeError, match="field a"):
        there_and_back(client, {"a": make()}, schema, REGISTER)


@pytest.mark.parametrize(
    ("union", "value", "theirs", "ours"),
    [
        (["float", "int"], 1, 1.0, 1),
        (["double", "long"], 1, 1.0, 1),
        (["null", DATE, "string"], "2020-01-01", NOON.date(), "2020-01-01"),
        ([DATE, MICROS], NOON, NOON.date(), NOON),
    ],
)
def test_fastavro_chooses_another_branch(
    client: SchemaRegistryClient, union: Any, value: Any, theirs: Any, ours: Any
) -> None:
    schema = record("Value", ("a", union))
    assert repr(by_fastavro(schema, value)) == repr(theirs)
    assert repr(there_and_back(client, {"a": value}, schema, REGISTER)["a"]) == repr(ours)


@pytest.mark.parametrize(("union", "value"), [(["long", "int"], 1), (["string", LETTER], "A")])
def test_fastavro_chooses_the_first_branch_and_ours_the_closest(
    client: SchemaRegistryClient, union: Any, value: Any
) -> None:
    schema, out = record("Value", ("a", union)), io.BytesIO()
    fastavro.schemaless_writer(out, schema, {"a": value})
    message = AvroSerializer(client, json.dumps(schema), conf=REGISTER)({"a": value}, CTX)
    assert (out.getvalue()[0], message[10]) == (0, 2)  # branch 0 and 1


def test_logical_types_follow_the_readers_schema_and_fastavros_the_writers(client: SchemaRegistryClient) -> None:
    plain, micros = record("Value", ("a", "long")), record("Value", ("a", MICROS))
    message = AvroSerializer(client, json.dumps(micros), conf=REGISTER)({"a": NOON}, CTX)
    number = int(NOON.timestamp()) * 1_000_000
    assert fastavro.schemaless_reader(io.BytesIO(message[10:]), micros, plain) == {"a": NOON}
    assert AvroDeserializer(client, json.dumps(plain))(message, CTX) == {"a": number}
