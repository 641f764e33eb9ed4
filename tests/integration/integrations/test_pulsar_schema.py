"""pulsar_schema and its helpers on a real Pulsar, with messages of Kafka producers as KoP stores them."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from java_pulsar import JavaPulsar
from kop_entries import Record, kafka_entry, kop_entry, pulsar_entry, send_entries
from pulsar import ConsumerType, IncompatibleSchema, InitialPosition, Message, MessageId
from pulsar import asyncio as pulsar_asyncio
from pulsar.schema import AvroSchema, Integer, String
from pulsar.schema import Record as PulsarRecord
from pulsar_topic import PulsarTopic
from schemas import record
from servers import Pulsar

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValue,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.integrations.pulsar_client import is_tombstone, key_of, pulsar_schema, schema_version_of

pytestmark = [
    pytest.mark.usefixtures("nothing_is_known"),
    pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning"),  # of AvroSchema's log
]

FIRST = record("User", ("name", "string"), ("age", "int"))
SECOND = record("User", ("email", ["null", "string"], None), ("name", "string"), ("age", "int"))
ADA, BOB = {"name": "Ada", "age": 36}, {"email": "b@c", "name": "Bob", "age": 7}
PATIENCE_MS = 20_000
PAGE = Path(__file__).parents[3] / "docs" / "interoperability.md"
# KeyValue(K(1), User("bob", 7)) as Pulsar's Java producer stores it with encoding SEPARATED: no ordering key.
JAVA_KEY_VALUE = bytes.fromhex(
    "0e011fe28e02000000380a0f7374616e64616c6f6e652d302d3132100018b3e0c6ec9f3422060a0170120171320441673d3d480682010800"
    "000000000000008801010e0206626f62"
)
# A Kafka batch of four records: (k1, a value), (00ff, a value), (k3, null), (no key, empty).
KAFKA_BATCH = bytes.fromhex(
    "00000000000000000000007100000000027d047f8e00000000000300000174876e800000000174876e8000ffffffffffffffffffffffffffff"
    "0000000432000000046b311a0304000000000000000002610202026802762a0000020400ff1a03040000000000000001026204001000000404"
    "6b3301000c000006010000"
)


@dataclass
class User:
    name: str
    age: int


class Person(PulsarRecord):
    name = String()
    age = Integer(required=True)


def framed(topic: PulsarTopic, schema: Any, value: Any) -> bytes:
    """A message of our serializer, which registers the schema."""
    data = KafkaAvroSerializer(topic.conf, schema).serialize(topic.name, value)
    assert data
    return data


def messages(topic: PulsarTopic, schema: Any, name: str | None = None) -> list[Message]:
    """All messages of a topic, or of one with another name, as a reader with that schema receives them."""
    reader, found = topic.client.create_reader(name or topic.name, MessageId.earliest, schema=schema), []
    try:
        while reader.has_message_available():
            found.append(reader.read_next(PATIENCE_MS))
    finally:
        reader.close()
    return found


def values(topic: PulsarTopic, schema: Any, name: str | None = None) -> list[Any]:
    return [message.value() for message in messages(topic, schema, name)]


@pytest.fixture
def mixed(pulsar_topic: PulsarTopic, pulsar: Pulsar) -> PulsarTopic:
    """Two versions from both sides by turns: Pulsar 0, Kafka 0, Kafka 1, Pulsar 1, Kafka 0, Pulsar 0."""
    first, second = (pulsar_schema(pulsar_topic.conf, schema) for schema in (FIRST, SECOND))
    pulsar_topic.send(first, ADA)
    old, new = framed(pulsar_topic, FIRST, ADA), framed(pulsar_topic, SECOND, BOB)
    send_entries(pulsar, pulsar_topic.name, kop_entry(Record(old, b"a"), Record(new, b"b")))
    pulsar_topic.send(second, BOB)
    send_entries(pulsar, pulsar_topic.name, kop_entry(Record(old)))
    pulsar_topic.send(first, ADA)
    return pulsar_topic


MIXED = [ADA, ADA, BOB, BOB, ADA, ADA]
AS_SECOND = [{"email": None, **ADA} if value is ADA else BOB for value in MIXED]
WITHOUT_EMAIL = [ADA if value is ADA else {"name": "Bob", "age": 7} for value in MIXED]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_each_message_is_read_by_the_version_in_its_header_or_in_the_metadata(mixed: PulsarTopic) -> None:
    Binding.forget()
    schema = pulsar_schema(mixed.conf)
    asked = schema.deserializer.registry_calls()
    found = messages(mixed, schema)
    assert [schema_version_of(message) for message in found] == [0, None, None, 1, None, 0]
    assert [message.value() for message in found] == MIXED
    assert found[0].value() == ADA  # again, from the cache
    assert schema.deserializer.stats()["fallbacks"] == 0
    assert schema.deserializer.registry_calls() - asked == 2  # one per version


@pytest.mark.parametrize(("schema", "expected"), [(FIRST, WITHOUT_EMAIL), (SECOND, AS_SECOND)], ids=["old", "new"])
def test_each_message_is_converted_to_the_readers_schema(mixed: PulsarTopic, schema: Any, expected: Any) -> None:
    given = json.loads(json.dumps(schema))
    assert values(mixed, pulsar_schema(mixed.conf, given)) == expected
    assert given == schema
    assert mixed.schemas() == [FIRST, SECOND]


def test_a_record_of_another_name_is_read_and_cached_schemas_stay_as_they_are(pulsar_topic: PulsarTopic) -> None:
    """pulsar-client's AvroSchema gives the cached writer's schema the name of the reader's."""
    union = record("Box", ("user", [FIRST, "null"]))
    pulsar_topic.send(pulsar_schema(pulsar_topic.conf, union), {"user": ADA})
    other = {**json.loads(json.dumps(union)), "name": "Other"}
    theirs = AvroSchema(None, schema_definition=other)
    assert values(pulsar_topic, theirs) == [{"user": ADA}]
    ((cached,),) = [of_topic.values() for of_topic in theirs._writer_schemas.values()]
    assert cached["name"] == "Other"
    named = {**pulsar_topic.conf, "return.record.name": True}
    for _ in range(2):
        assert values(pulsar_topic, pulsar_schema(pulsar_topic.conf, other)) == [{"user": ADA}]
        assert values(pulsar_topic, pulsar_schema(named)) == [{"user": ("User", ADA)}]
    assert other == {**union, "name": "Other"}
    assert pulsar_topic.schemas() == [union]


def test_a_class_gives_objects_and_from_dict_is_called(mixed: PulsarTopic) -> None:
    objects = [User(value["name"], value["age"]) for value in MIXED]
    for schema in (
        pulsar_schema(mixed.conf, User, announce=False),
        pulsar_schema({**mixed.conf, "value.type": User}),
        pulsar_schema(mixed.conf, FIRST, lambda data, ctx: User(**data)),
        pulsar_schema(mixed.conf, User, lambda data, ctx: User(**data), announce=False),
    ):
        assert values(mixed, schema) == objects


def test_from_dict_gets_the_topic_without_its_partition_and_the_headers(
    pulsar: Pulsar, pulsar_topic: PulsarTopic
) -> None:
    name = pulsar_topic.name
    assert pulsar.admin("PUT", f"persistent/public/default/{name}/partitions", json=2).ok
    message = framed(pulsar_topic, FIRST, ADA)
    for partition in (0, 1):
        send_entries(
            pulsar, f"{name}-partition-{partition}", kop_entry(Record(message, headers=[("unit", "caf\u00e9")]))
        )
    pulsar_topic.send(AvroSchema(None, schema_definition=FIRST), ADA)
    Binding.forget()
    schema = pulsar_schema(pulsar_topic.conf, from_dict=lambda data, ctx: (data, ctx.topic, ctx.headers))
    asked = schema.deserializer.registry_calls()
    consumer = pulsar_topic.client.subscribe(name, "all", initial_position=InitialPosition.Earliest, schema=schema)
    found = [consumer.receive(PATIENCE_MS).value() for _ in range(3)]
    consumer.close()
    full = f"persistent://public/default/{name}"
    headers = [("unit", "caf\u00e9".encode())]
    assert sorted(found, key=str) == sorted([(ADA, full, headers)] * 2 + [(ADA, full, None)], key=str)
    assert schema.deserializer.registry_calls() - asked == 1  # partitions share their topic's schemas


def test_the_same_topic_name_in_two_namespaces_means_two_topics(pulsar: Pulsar, pulsar_topic: PulsarTopic) -> None:
    assert pulsar.admin("PUT", f"namespaces/public/{pulsar_topic.name}").ok
    other = f"persistent://public/{pulsar_topic.name}/{pulsar_topic.name}"
    for topic, definition, value in ((other, SECOND, BOB), (pulsar_topic.name, FIRST, ADA)):
        producer = pulsar_topic.client.create_producer(topic, schema=pulsar_schema(pulsar_topic.conf, definition))
        producer.send(value)
        producer.close()
    schema = pulsar_schema(pulsar_topic.conf)
    consumer = pulsar_topic.client.subscribe(
        [other, pulsar_topic.name], "both", initial_position=InitialPosition.Earliest, schema=schema
    )
    assert sorted((consumer.receive(PATIENCE_MS).value() for _ in range(2)), key=len) == [ADA, BOB]
    consumer.close()


def test_a_topic_that_is_not_persistent_has_schemas_too(pulsar_topic: PulsarTopic, pulsar: Pulsar) -> None:
    name, schema = f"non-persistent://public/default/{pulsar_topic.name}", pulsar_schema(pulsar_topic.conf, FIRST)
    consumer = pulsar_topic.client.subscribe(name, "now", schema=schema)
    producer = pulsar_topic.client.create_producer(name, schema=schema)
    producer.send(ADA)
    assert consumer.receive(PATIENCE_MS).value() == ADA
    for client in (producer, consumer):
        client.close()
    assert pulsar.admin("GET", f"schemas/public/default/{pulsar_topic.name}/schema").json()["version"] == 0


def test_a_listener_gets_values(mixed: PulsarTopic) -> None:
    found, done = [], threading.Event()

    def listen(consumer: Any, message: Message) -> None:
        found.append(message.value())
        consumer.acknowledge(message)
        if len(found) == len(MIXED):
            done.set()

    consumer = mixed.client.subscribe(
        mixed.name,
        "listener",
        message_listener=listen,
        initial_position=InitialPosition.Earliest,
        schema=pulsar_schema(mixed.conf),
    )
    assert done.wait(PATIENCE_MS / 1000)
    consumer.close()
    assert found == MIXED


def test_the_clients_asyncio_module_reads_and_writes(mixed: PulsarTopic, pulsar: Pulsar) -> None:
    async def play() -> list[Any]:
        schema = pulsar_schema(mixed.conf, SECOND)
        await asyncio.to_thread(schema.deserializer.warm_up, f"persistent://public/default/{mixed.name}")
        client = pulsar_asyncio.Client(pulsar.service_url)
        producer = await client.create_producer(mixed.name, schema=schema)
        await producer.send(BOB)
        consumer = await client.subscribe(
            mixed.name,
            "asyncio",
            consumer_type=ConsumerType.Exclusive,
            initial_position=InitialPosition.Earliest,
            schema=schema,
        )
        found = [(await consumer.receive()).value() for _ in range(len(MIXED) + 1)]
        await client.close()
        return found

    assert asyncio.run(play()) == [*AS_SECOND, BOB]


def test_a_table_view_reads_framed_values_by_their_version_and_others_by_the_latest(
    mixed: PulsarTopic, pulsar: Pulsar
) -> None:
    name = mixed.name
    send_entries(pulsar, name, kop_entry(Record(framed(mixed, FIRST, ADA), b"old")))
    producer = mixed.client.create_producer(name, schema=pulsar_schema(mixed.conf, SECOND))
    producer.send(BOB, partition_key="new")
    producer.close()
    view = mixed.client.create_table_view(name, schema=pulsar_schema(mixed.conf, topic=name))
    assert (view.get("b2xk"), view.get("new"), view.get("none")) == (ADA, BOB, None)  # base64 of "old"
    view.close()
    view = mixed.client.create_table_view(name, schema=pulsar_schema(mixed.conf))
    with pytest.raises(ConfigError, match="expected a topic"):
        view.get("new")
    view.close()


def test_a_message_that_cannot_be_read_is_an_error_and_the_next_one_is_read(
    pulsar_topic: PulsarTopic, pulsar: Pulsar
) -> None:
    good = framed(pulsar_topic, FIRST, ADA)
    send_entries(pulsar, pulsar_topic.name, *(kop_entry(Record(data)) for data in (b"garbage", good, good[:-1], good)))
    bad, first, cut, second = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf, FIRST))
    full = f"topic persistent://public/default/{pulsar_topic.name}, schema version 0"
    for message in (bad, cut, cut):
        with pytest.raises(DecodeError, match=full):
            message.value()
    assert [first.value(), second.value()] == [ADA, ADA]


def test_a_topic_of_another_type_is_a_clear_error(pulsar_topic: PulsarTopic) -> None:
    pulsar_topic.register("JSON", json.dumps(FIRST))
    pulsar_topic.send_raw(b'{"name":"Ada","age":36}')
    (message,) = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    with pytest.raises(SchemaError, match="type JSON"):
        message.value()


def test_options_decide_as_for_the_deserializer(mixed: PulsarTopic) -> None:
    mixed.send_raw(b"\x06Ada\x48")  # no version anywhere
    strict = messages(mixed, pulsar_schema({**mixed.conf, "fallback.to.latest": False}))
    assert [message.value() for message in strict[:-1]] == MIXED
    with pytest.raises(DecodeError, match="no schema version header"):
        strict[-1].value()


@pytest.mark.promise("shared-topics")
def test_the_code_of_the_interoperability_page_runs(pulsar: Pulsar, pulsar_topic: PulsarTopic) -> None:
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    code = code.replace("http://localhost:8080", pulsar.url).replace('"users"', f'"{pulsar_topic.name}"')
    message = framed(pulsar_topic, User, User("Ada", 36))
    send_entries(pulsar, pulsar_topic.name, kop_entry(Record(message, b"k")))
    reading = pulsar_topic.client.subscribe(pulsar_topic.name, "readers", initial_position=InitialPosition.Earliest)
    reading.close()
    names: dict[str, Any] = {
        "User": User,
        "client": pulsar_topic.client,
        "deserializer": KafkaAvroDeserializer(pulsar_topic.conf),
    }
    exec(code, names)
    assert names["user"] == {"age": 36, "name": "Ada"}  # by the second block, without a class
    assert [sent.data for sent in pulsar_topic.raw()] == [message, message[10:]]
    for client in (names["producer"], names["consumer"]):
        client.close()


# --- writing ----------------------------------------------------------------------------------------------------------


def test_what_it_writes_has_the_version_in_the_metadata_and_no_header(
    mixed: PulsarTopic, java_client: JavaPulsar
) -> None:
    raw = [message for message in mixed.raw() if message.version >= 0]
    assert raw == [(b"\x06Ada\x48", 0), (b"\x02\x06b@c\x06Bob\x0e", 1), (b"\x06Ada\x48", 0)]
    read = java_client.consume(mixed.name, "AUTO_CONSUME", len(MIXED))
    assert [(seen.version, seen.type, seen.value) for seen in read if seen.version >= 0] == [
        (0, "AVRO", ADA),
        (1, "AVRO", BOB),
        (0, "AVRO", ADA),
    ]
    assert mixed.schemas() == [FIRST, SECOND]


@pytest.mark.parametrize(
    "change",
    [{}, {"doc": "words"}, {"aliases": ["Human"]}],
    ids=["the same", "another doc", "an alias"],
)
def test_a_producer_finds_the_schema_that_a_kafka_client_registered_and_the_reverse(
    pulsar_topic: PulsarTopic, change: dict[str, Any]
) -> None:
    framed(pulsar_topic, FIRST, ADA)
    pulsar_topic.send(pulsar_schema(pulsar_topic.conf, {**FIRST, **change}), ADA, ADA)
    assert framed(pulsar_topic, {**FIRST, **change}, ADA)[:10] == b"\x03\x04" + bytes(8)
    assert [message.version for message in pulsar_topic.raw()] == [0, 0]
    assert pulsar_topic.schemas() == [FIRST]


def test_a_producer_registers_the_text_of_our_serializer(pulsar_topic: PulsarTopic, pulsar: Pulsar) -> None:
    """Pulsar's look-up compares texts, so it tells them apart where registering does not."""
    path = f"schemas/public/default/{pulsar_topic.name}"
    for schema in (FIRST, User, Person, '{"type":"record","name":"R",  "fields":[]}', "string"):
        assert pulsar.admin("DELETE", f"{path}/schema?force=true").ok
        pulsar_topic.send(pulsar_schema(pulsar_topic.conf, schema))
        text = pulsar.admin("GET", f"{path}/schema").json()["data"]
        assert pulsar.admin("DELETE", f"{path}/schema?force=true").ok
        KafkaAvroSerializer(pulsar_topic.conf, schema).warm_up(pulsar_topic.name)
        assert pulsar.admin("GET", f"{path}/schema").json()["data"] == text
        Binding.forget()


def test_a_record_class_shares_its_version_with_avro_schema(pulsar_topic: PulsarTopic) -> None:
    ada = Person(name="Ada", age=36)
    ours, theirs = pulsar_schema(pulsar_topic.conf, Person), AvroSchema(Person)
    pulsar_topic.send(theirs, ada)
    pulsar_topic.send(ours, ada)
    assert [message.version for message in pulsar_topic.raw()] == [0, 0]
    for schema in (ours, theirs):
        read = values(pulsar_topic, schema)
        assert [(type(value), value.name, value.age) for value in read] == [(Person, "Ada", 36)] * 2


def test_an_object_that_does_not_fit_is_not_sent_and_the_next_one_is(pulsar_topic: PulsarTopic) -> None:
    schema = pulsar_schema(pulsar_topic.conf, FIRST)
    producer = pulsar_topic.client.create_producer(pulsar_topic.name, schema=schema)
    for bad in ({"name": "Ada"}, {"name": "Ada", "age": 1 << 40}):
        with pytest.raises(EncodeError, match="age"):
            producer.send(bad)
    producer.send(ADA)
    producer.close()
    assert values(pulsar_topic, schema) == [ADA]


def test_a_schema_that_the_topic_refuses_is_the_clients_error_and_the_old_producer_goes_on(mixed: PulsarTopic) -> None:
    old = mixed.client.create_producer(mixed.name, schema=pulsar_schema(mixed.conf, FIRST))
    wrong = record("User", ("age", "string"))
    with pytest.raises(IncompatibleSchema):
        mixed.client.create_producer(mixed.name, schema=pulsar_schema(mixed.conf, wrong))
    old.send(ADA)
    old.close()
    assert mixed.raw()[-1] == (b"\x06Ada\x48", 0)


# --- attaching --------------------------------------------------------------------------------------------------------


@pytest.fixture
def strict_namespace(pulsar: Pulsar, pulsar_topic: PulsarTopic) -> str:
    """A namespace whose strategy lets no consumer leave out a field without a default."""
    name = f"public/{pulsar_topic.name}"
    assert pulsar.admin("PUT", f"namespaces/{name}").ok
    assert pulsar.admin("PUT", f"namespaces/{name}/schemaCompatibilityStrategy", json="FULL_TRANSITIVE").ok
    return name


def test_a_projection_that_the_broker_refuses_is_read_if_it_is_not_announced(
    strict_namespace: str, pulsar_topic: PulsarTopic
) -> None:
    topic, ages = f"persistent://{strict_namespace}/users", record("User", ("age", "long"))
    producer = pulsar_topic.client.create_producer(topic, schema=pulsar_schema(pulsar_topic.conf, FIRST))
    producer.send(ADA)
    producer.close()
    for refused in (pulsar_schema(pulsar_topic.conf, ages), AvroSchema(None, schema_definition=ages)):
        with pytest.raises(IncompatibleSchema):
            pulsar_topic.client.create_reader(topic, MessageId.earliest, schema=refused)
    assert values(pulsar_topic, pulsar_schema(pulsar_topic.conf, ages, announce=False), topic) == [{"age": 36}]


def test_a_consumer_registers_its_schema_on_an_idle_topic_only_if_it_is_announced(pulsar_topic: PulsarTopic) -> None:
    for announce, registered in ((False, []), (True, [FIRST])):
        schema = pulsar_schema(pulsar_topic.conf, FIRST, announce=announce)
        pulsar_topic.client.subscribe(pulsar_topic.name, "readers", schema=schema).close()
        assert pulsar_topic.schemas() == registered


def test_a_topic_with_messages_but_no_schema_takes_clients_that_do_not_announce_one(
    pulsar_topic: PulsarTopic, pulsar: Pulsar
) -> None:
    send_entries(pulsar, pulsar_topic.name, kop_entry(Record(b"\x06Ada\x48")))
    with pytest.raises(IncompatibleSchema):
        pulsar_topic.client.subscribe(pulsar_topic.name, "readers", schema=pulsar_schema(pulsar_topic.conf, FIRST))
    (message,) = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    with pytest.raises(SchemaNotFoundError):
        message.value()
    framed(pulsar_topic, FIRST, ADA)
    pulsar_topic.client.subscribe(pulsar_topic.name, "readers", schema=pulsar_schema(pulsar_topic.conf, FIRST)).close()


# --- what the client does not show ------------------------------------------------------------------------------------


KOP: list[tuple[Record, bytes | None]] = [
    (Record(b"v", b"k1"), b"k1"),
    (Record(b"v", b"\x00\xff"), b"\x00\xff"),
    (Record(b"v", "caf\u00e9".encode()), "caf\u00e9".encode()),
    (Record(b"v", b"azE="), b"azE="),  # a Kafka key that is base64 itself
    (Record(b"v"), None),
    (Record(b"v", b""), None),  # in the client, an empty key looks like none
]


def test_keys_of_kafka_producers_are_those_that_java_sees(
    pulsar_topic: PulsarTopic, pulsar: Pulsar, java_client: JavaPulsar
) -> None:
    records = [one for one, _ in KOP]
    send_entries(pulsar, pulsar_topic.name, kop_entry(*records), *(kop_entry(one) for one in records))
    expected = [key for _, key in KOP] * 2
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert [key_of(message) for message in found] == expected
    assert [key_of(message, encoded=True) for message in found] == expected
    seen = java_client.consume(pulsar_topic.name, "BYTES", len(expected))
    assert [one.key or None for one in seen] == expected


def test_keys_of_pulsar_producers_are_those_that_java_sees_if_they_are_text(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    producer = pulsar_topic.client.create_producer(pulsar_topic.name)
    keys: list[dict[str, str]] = [
        {"partition_key": "k1"},
        {"partition_key": "caf\u00e9"},
        {"partition_key": "azE="},
        {"partition_key": "k1", "ordering_key": "o"},
        {"ordering_key": "o"},
        {},
    ]
    for key in keys:
        producer.send(b"v", **key)
    producer.close()
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    expected = [b"k1", "caf\u00e9".encode(), b"azE=", b"k1", None, None]
    assert [key_of(message) for message in found] == expected
    assert [one.key for one in java_client.consume(pulsar_topic.name, "BYTES", len(keys))] == expected


def test_a_key_that_a_java_producer_set_as_bytes_looks_like_text_unless_the_caller_says_otherwise(
    pulsar_topic: PulsarTopic, pulsar: Pulsar, java_client: JavaPulsar
) -> None:
    send_entries(pulsar, pulsar_topic.name, JAVA_KEY_VALUE)
    (message,) = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert key_of(message) == b"Ag=="
    assert key_of(message, encoded=True) == b"\x02"
    assert java_client.consume(pulsar_topic.name, "BYTES", 1)[0].key == b"\x02"


POINT, GRACE = {"x": 1, "y": 2}, {"age": 85, "name": "Grace"}
PAIRS = ((POINT, GRACE), (None, GRACE), (POINT, None), None)


def test_pairs_of_a_java_producer_are_read_inline(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    kind = {"encoding": "INLINE", "key": "Point", "value": "User"}
    java_client.produce(pulsar_topic.name, kind, *PAIRS)
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert [message.value() for message in found] == [*map(tuple_or_none, PAIRS)]
    assert [is_tombstone(message) for message in found] == [False, False, False, True]
    assert [seen.value for seen in java_client.consume(pulsar_topic.name, kind, 3)] == [
        list(pair) for pair in PAIRS[:3]
    ]


def test_pairs_of_a_java_producer_are_read_separately_with_the_help_of_key_of(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    kind = {"encoding": "SEPARATED", "key": "Point", "value": "User"}
    java_client.produce(pulsar_topic.name, kind, *PAIRS)
    keys = KafkaAvroDeserializer(pulsar_topic.conf, is_key=True)
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert [message.value() for message in found] == [GRACE, GRACE, None, None]
    assert [
        keys.deserialize(pulsar_topic.name, key_of(message, encoded=True), schema_version_of(message))
        for message in found
    ] == [POINT, None, POINT, None]


def tuple_or_none(pair: Any) -> Any:
    return None if pair is None else KeyValue(*pair)


def test_a_null_is_told_from_an_empty_value_whichever_producer_sent_it(
    pulsar_topic: PulsarTopic, pulsar: Pulsar
) -> None:
    pulsar_topic.send(pulsar_schema(pulsar_topic.conf, FIRST), None, ADA, None)
    batched = pulsar_topic.client.create_producer(
        pulsar_topic.name, schema=pulsar_schema(pulsar_topic.conf, FIRST), batching_enabled=True
    )
    batched.send(None)
    batched.close()
    send_entries(pulsar, pulsar_topic.name, kop_entry(Record(None, b"k"), Record(None)), kop_entry(Record(b"", b"k")))
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf, FIRST))
    assert [is_tombstone(message) for message in found] == [True, False, True, True, True, True, False]
    # A null keeps the version of its producer's schema; Kafka producers write none.
    assert [schema_version_of(message) for message in found] == [0, 0, 0, 0, None, None, None]
    *good, empty = found
    assert [message.value() for message in good] == [None, ADA, None, None, None, None]
    with pytest.raises(DecodeError, match="field name, byte 0: "):
        empty.value()


def test_a_message_of_a_topic_in_kafkas_format_is_an_error_and_not_a_tombstone(
    pulsar_topic: PulsarTopic, pulsar: Pulsar
) -> None:
    framed(pulsar_topic, FIRST, ADA)
    send_entries(pulsar, pulsar_topic.name, kafka_entry(KAFKA_BATCH, 4))
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert [(message.data(), key_of(message), is_tombstone(message)) for message in found] == [(b"", None, False)] * 4
    for message in found:
        with pytest.raises(DecodeError, match="stored in Kafka's format"):
            message.value()


def test_a_version_above_127_is_returned(pulsar_topic: PulsarTopic) -> None:
    schemas = [record("R", ("number", "int", i)) for i in range(130)]
    for schema in schemas:
        pulsar_topic.register("AVRO", json.dumps(schema))
    for schema in schemas[126:]:
        pulsar_topic.send(pulsar_schema(pulsar_topic.conf, schema), {"number": 5})
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert [schema_version_of(message) for message in found] == [126, 127, 128, 129]
    assert [message.value() for message in found] == [{"number": 5}] * 4


def test_each_byte_of_a_version_counts_and_older_brokers_64_bytes_are_read(
    pulsar_topic: PulsarTopic, pulsar: Pulsar
) -> None:
    versions = [0, 127, 128, 255, 256, 2**40 + 5, 2**63 - 1]
    written = [version.to_bytes(8) for version in versions] + [(7).to_bytes(8) + bytes(56)]
    send_entries(pulsar, pulsar_topic.name, *(pulsar_entry(b"v", version) for version in written))
    found = messages(pulsar_topic, pulsar_schema(pulsar_topic.conf))
    assert [schema_version_of(message) for message in found] == [*versions, 7]


@pytest.fixture
def chunked(pulsar_topic: PulsarTopic) -> tuple[PulsarTopic, dict[str, Any]]:
    """A topic whose only message was sent in two chunks, since it is larger than the broker allows (5 MB)."""
    long = {"name": "x" * 6_000_000, "age": 36}
    schema = pulsar_schema(pulsar_topic.conf, FIRST)
    producer = pulsar_topic.client.create_producer(pulsar_topic.name, schema=schema, chunking_enabled=True)
    producer.send(long)
    producer.close()
    return pulsar_topic, long


def test_a_chunked_message_is_whole_for_consumers_and_readers(chunked: tuple[PulsarTopic, dict[str, Any]]) -> None:
    topic, long = chunked
    schema = pulsar_schema(topic.conf)
    assert values(topic, schema) == [long]
    consumer = topic.client.subscribe(topic.name, "all", initial_position=InitialPosition.Earliest, schema=schema)
    assert consumer.receive(PATIENCE_MS).value() == long
    consumer.close()


def test_the_chunks_that_kop_passes_to_kafka_consumers_are_errors(
    chunked: tuple[PulsarTopic, dict[str, Any]], pulsar: Pulsar
) -> None:
    topic, _ = chunked
    reader, sizes = KafkaAvroDeserializer(topic.conf), []
    for position in (1, 2):
        path = f"persistent/public/default/{topic.name}/examinemessage"
        answer: requests.Response = pulsar.admin(
            "GET", path, params={"initialPosition": "earliest", "messagePosition": position}
        )
        assert answer.ok, answer.text
        sizes.append(len(answer.content))
        with pytest.raises(DecodeError, match=f"topic {topic.name}, schema version 0, .*byte "):
            reader.deserialize(topic.name, answer.content)
    assert sum(sizes) == 6_000_000 + 5
    assert sizes[0] > 5_000_000
