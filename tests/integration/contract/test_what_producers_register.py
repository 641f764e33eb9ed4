"""The schemas that Pulsar's own producers register, over the binary protocol, and the same over REST."""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import Any, Final

import pytest
import requests
from java_pulsar import JavaPulsar
from pulsar import Client
from pulsar.schema import AvroSchema, BytesSchema, JsonSchema, Record, String, StringSchema
from servers import Pulsar

from streamnative_serdes.testing import LocalRegistry

NOTHING: Final = None
USER: Final = (
    '{"type":"record","name":"User","fields":[{"name":"age","type":"int"},'
    '{"name":"name","type":["null","string"],"default":null}]}'
)
POINT: Final = '{"type":"record","name":"Point","fields":[{"name":"x","type":"int"},{"name":"y","type":"int"}]}'
OF_CLASS: Final = {"__alwaysAllowNull": "true", "__jsr310ConversionEnabled": "false"}
AS_TEXT: Final = '{"__alwaysAllowNull":"true","__jsr310ConversionEnabled":"false"}'
TIMESTAMP: Final = "PROTOBUF_NATIVE com.google.protobuf.Timestamp"

# Constant of Java's Schema -> type in the registry, and the name of a half of this type.
PRIMITIVES: Final = {
    "STRING": ("STRING", "String"),
    "BOOL": ("BOOLEAN", "Boolean"),
    "INT8": ("INT8", "INT8"),
    "INT16": ("INT16", "INT16"),
    "INT32": ("INT32", "INT32"),
    "INT64": ("INT64", "INT64"),
    "FLOAT": ("FLOAT", "Float"),
    "DOUBLE": ("DOUBLE", "Double"),
    "DATE": ("DATE", "Date"),
    "TIME": ("TIME", "Time"),
    "TIMESTAMP": ("TIMESTAMP", "Timestamp"),
    "INSTANT": ("INSTANT", "Instant"),
    "LOCAL_DATE": ("LOCAL_DATE", "LocalDate"),
    "LOCAL_TIME": ("LOCAL_TIME", "LocalTime"),
    "LOCAL_DATE_TIME": ("LOCAL_DATE_TIME", "LocalDateTime"),
}

Registered = tuple[str, str, dict[str, str]]  # type, text, properties


class User(Record):
    name = String()


def pair(encoding: str, key: tuple[str, str, str, str], value: tuple[str, str, str, str]) -> Registered:
    """A pair of halves: type, text, name, properties."""
    properties = {"kv.encoding.type": encoding}
    for half, (kind, _, name, more) in (("key", key), ("value", value)):
        properties |= {f"{half}.schema.type": kind, f"{half}.schema.name": name, f"{half}.schema.properties": more}
    return "KEY_VALUE", f'{{"key":{key[1]},"value":{value[1]}}}', properties


STRING_HALF: Final = ("STRING", '""', "String", "{}")
BYTES_HALF: Final = ("BYTES", '""', "Bytes", "{}")


def of_class(kind: str, text: str) -> tuple[str, str, str, str]:
    return kind, text, "", AS_TEXT


# What Java's client is asked for: a schema, or encoding, key and value of a pair.
JAVA: Final[dict[str | tuple[str, str, str], Registered | None]] = {
    "BYTES": NOTHING,
    "BYTEBUFFER": NOTHING,
    **{constant: (kind, "", {}) for constant, (kind, _) in PRIMITIVES.items()},
    "User": ("AVRO", USER, OF_CLASS),
    "JSON User": ("JSON", USER, OF_CLASS),
    **{
        ("INLINE", constant, "STRING"): pair("INLINE", (kind, '""', name, "{}"), STRING_HALF)
        for constant, (kind, name) in PRIMITIVES.items()
    },
    ("SEPARATED", "BYTES", "User"): pair("SEPARATED", BYTES_HALF, of_class("AVRO", USER)),
    ("SEPARATED", "Point", "User"): pair("SEPARATED", of_class("AVRO", POINT), of_class("AVRO", USER)),
    ("INLINE", "JSON Point", "JSON User"): pair("INLINE", of_class("JSON", POINT), of_class("JSON", USER)),
    ("SEPARATED", "STRING", "JSON User"): pair("SEPARATED", STRING_HALF, of_class("JSON", USER)),
}
each = partial(pytest.mark.parametrize, "name", ids=str)


def attach(client: JavaPulsar, topic: str, name: str | tuple[str, str, str]) -> None:
    """Connect a producer, and send nothing."""
    client.produce(topic, name if isinstance(name, str) else dict(zip(("encoding", "key", "value"), name, strict=True)))


@pytest.fixture
def topic() -> str:
    return f"registered-{uuid.uuid4()}"


def schemas(url: str, topic: str) -> list[Any]:
    answer = requests.get(f"{url}/admin/v2/schemas/public/default/{topic}/schemas", timeout=30)
    found: list[Any] = answer.json()["getSchemaResponses"]
    return found


def post(url: str, topic: str, schema: dict[str, Any]) -> int:
    """POST what a GET returned."""
    body = {"type": schema["type"], "schema": schema["data"], "properties": schema["properties"]}
    answer = requests.post(f"{url}/admin/v2/schemas/public/default/{topic}/schema", json=body, timeout=30)
    version: int = answer.json()["version"]["version"]
    return version


def check_the_same_over_rest(pulsar: Pulsar, topic: str, schema: dict[str, Any]) -> None:
    """The same over REST is the same version; LocalRegistry stores and shows it in the same way."""
    assert post(pulsar.url, topic, schema) == 0
    with LocalRegistry() as registry:
        assert post(registry.url, topic, schema) == post(registry.url, topic, schema) == 0
        (ours,) = schemas(registry.url, topic)
    assert ours | {"timestamp": 0} == schema | {"timestamp": 0}


@each(JAVA)
def test_a_java_producer_registers_this(pulsar: Pulsar, java_client: JavaPulsar, topic: str, name: Any) -> None:
    attach(java_client, topic, name)
    found, expected = schemas(pulsar.url, topic), JAVA[name]
    if expected is NOTHING:
        assert found == []
        return
    assert [(one["type"], one["data"], one["properties"]) for one in found] == [expected]
    check_the_same_over_rest(pulsar, topic, found[0])


@each([TIMESTAMP, ("INLINE", "STRING", TIMESTAMP), ("SEPARATED", TIMESTAMP, "User")])
def test_a_java_producer_registers_a_descriptor(pulsar: Pulsar, java_client: JavaPulsar, topic: str, name: Any) -> None:
    attach(java_client, topic, name)
    (found,) = schemas(pulsar.url, topic)
    tree = json.loads(found["data"])
    native = tree if name == TIMESTAMP else tree["key"] if name[1] == TIMESTAMP else tree["value"]
    assert native["rootMessageTypeName"] == "google.protobuf.Timestamp"
    check_the_same_over_rest(pulsar, topic, found)


@each([name for name, expected in JAVA.items() if expected is not NOTHING])
def test_a_java_producer_finds_what_was_registered_over_rest(
    pulsar: Pulsar, java_client: JavaPulsar, topic: str, name: Any
) -> None:
    expected = JAVA[name]
    assert expected
    kind, text, properties = expected
    assert post(pulsar.url, topic, {"type": kind, "data": text, "properties": properties}) == 0
    attach(java_client, topic, name)
    assert [one["version"] for one in schemas(pulsar.url, topic)] == [0]


@pytest.mark.parametrize(
    ("schema", "kind", "text"),
    [
        (StringSchema(), "STRING", "null"),
        (JsonSchema(User), "JSON", json.dumps(User.schema(), indent=1)),
        (AvroSchema(User), "AVRO", json.dumps(User.schema(), indent=1)),
    ],
    ids=["STRING", "JSON", "AVRO"],
)
def test_a_python_producer_registers_this(
    pulsar: Pulsar, pulsar_client: Client, topic: str, schema: Any, kind: str, text: str
) -> None:
    pulsar_client.create_producer(topic, schema=schema).close()
    (found,) = schemas(pulsar.url, topic)
    assert (found["type"], found["data"], found["properties"]) == (kind, text, {})
    check_the_same_over_rest(pulsar, topic, found)


def test_a_python_producer_of_bytes_registers_nothing(pulsar: Pulsar, pulsar_client: Client, topic: str) -> None:
    pulsar_client.create_producer(topic, schema=BytesSchema()).close()
    assert schemas(pulsar.url, topic) == []


def test_pulsars_java_and_python_clients_make_two_versions_of_a_topic_of_text(
    pulsar: Pulsar, pulsar_client: Client, java_client: JavaPulsar, topic: str
) -> None:
    for _ in range(2):
        pulsar_client.create_producer(topic, schema=StringSchema()).close()
        attach(java_client, topic, "STRING")
    found = schemas(pulsar.url, topic)
    assert [(one["version"], one["data"]) for one in found] == [(0, "null"), (1, "")]
    with LocalRegistry() as registry:
        assert [post(registry.url, topic, one) for one in (*found, *found)] == [0, 1, 0, 1]
