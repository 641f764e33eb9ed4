"""Batches of Arrow columns: what is refused, and what a real Kafka does not do at will."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("confluent_kafka")

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition  # noqa: E402
from confluent_kafka.error import ConsumeError  # noqa: E402
from consumed import Message as report  # noqa: E402
from consumed import with_serdes  # noqa: E402
from schemas import record  # noqa: E402

from streamnative_serdes import (  # noqa: E402 - requires pyarrow
    ConfigError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KeyValueSchema,
)
from streamnative_serdes.arrow.kafka_columns import DEAD_LETTER  # noqa: E402
from streamnative_serdes.integrations.builders import (  # noqa: E402
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializerBuilder,
)
from streamnative_serdes.integrations.consuming import (  # noqa: E402
    ArrowConsumer,
    ArrowProducer,
    arrow_consumer,
    split_errors,
)
from streamnative_serdes.testing import LocalRegistry, MockBroker  # noqa: E402

TOPICS = (
    *("rows", "more", "bare", "empty", "once", "stopped", "revoked", "queue", "dropped", "large", "nulls", "first"),
    *("second", "latest", "end", "commits", "together", "faults", "interrupted"),
    *("again-seek", "again-incremental_assign", "views"),
)
ROW: dict[str, Any] = record("Row", ("id", "long"), ("note", ["null", "string"], None))
SECONDS = 30.0


@pytest.fixture(scope="module")
def conf() -> Iterator[dict[str, Any]]:
    with LocalRegistry() as registry, MockBroker(dict.fromkeys(TOPICS, 1)) as broker:
        yield {"bootstrap.servers": broker.bootstrap_servers, "schema.registry.url": registry.url, "log_level": 2}


@pytest.fixture(scope="module")
def registry(conf: dict[str, Any]) -> dict[str, Any]:
    return {"schema.registry.url": conf["schema.registry.url"]}


def written(conf: dict[str, Any], topic: str, ids: Iterable[int]) -> None:
    with ArrowProducer(conf, topic, ROW) as producer:
        producer.write(pa.table({"id": pa.array(ids)}))


def consuming(conf: dict[str, Any], topic: str, schema: object = None, **more: Any) -> ArrowConsumer:
    """A consumer that is assigned to the topic's one partition, from its first message on."""
    consumer = ArrowConsumer({**conf, "group.id": "g"}, schema, **more)
    consumer.assign([TopicPartition(topic, 0, 0)])
    return consumer


def read(consumer: ArrowConsumer, count: int) -> Any:
    """A batch of ``count`` rows, which are there."""
    batch = consumer.read_batch(count, SECONDS)
    assert batch.num_rows == count
    return batch


# What is refused


@pytest.mark.parametrize(
    ("given", "arguments", "text"),
    [
        ({"enable.auto.offset.store": True}, {}, "enable.auto.offset.store: only the offsets of returned rows"),
        ({"key.deserializer": bytes}, {}, "key.deserializer: keys are a column"),
        ({"key.deserializer.builder": KafkaAvroDeserializerBuilder()}, {}, "keys are a column"),
        ({"value.deserializer": bytes}, {}, "expected a KafkaAvroDeserializer, got type"),
        (
            {
                "value.deserializer": KafkaAvroDeserializer(),
                "value.deserializer.builder": KafkaAvroDeserializerBuilder(),
            },
            {},
            "value.deserializer and value.deserializer.builder are both set",
        ),
        ({"value.deserializer.builder": KafkaAvroDeserializerBuilder()}, {"schema": ROW}, "has its own"),
        ({}, {"keep": ["keys"]}, "no column 'keys'"),
        ({}, {"keep": {"key": None}}, "expected a column's name, got None"),
        ({}, {"error_column": ""}, "expected a column's name, got ''"),
        ({}, {"keep": {"offset": "x", "partition": "x"}}, "two columns would have the name 'x'"),
        ({}, {"keep": {"offset": "x"}, "error_column": "x"}, "two columns would have the name 'x'"),
        ({"cache.size": 5}, {}, "the Kafka client refuses its configuration: No such configuration property"),
        ({"group.id": None}, {}, "group.id"),
    ],
)
def test_a_consumer_refuses_what_it_cannot_do(
    conf: dict[str, Any], given: dict[str, Any], arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        ArrowConsumer({**conf, "group.id": "g", **given}, **arguments)


def test_an_offset_store_that_is_off_is_accepted(conf: dict[str, Any]) -> None:
    with ArrowConsumer({**conf, "group.id": "g", "enable.auto.offset.store": False}) as consumer:
        with pytest.raises(ConfigError, match="no topic yet"):
            consumer.read_batch(1, 0.0)
        consumer.subscribe(["^rows.*"])
        with pytest.raises(ConfigError, match=r"a pattern.*read_batches"):
            consumer.read_batch(1, 0.0)
        consumer.unsubscribe()
        with pytest.raises(ConfigError, match="no topic yet"):
            consumer.read_batch(1, 0.0)
    with pytest.raises(RuntimeError, match="closed"):
        consumer.read_batches(1, 0.1)
    consumer.close()


@pytest.mark.parametrize(
    ("given", "arguments", "text"),
    [
        ({"on_delivery": print}, {}, "on_delivery is not supported"),
        ({"transactional.id": "t"}, {}, "transactional.id is not supported"),
        ({"key.serializer": bytes}, {}, "key.serializer is not supported"),
        ({"value.serializer": bytes}, {}, "expected a KafkaAvroSerializer, got type"),
        (
            {"value.serializer": KafkaAvroSerializer(), "value.serializer.builder": KafkaAvroSerializerBuilder()},
            {},
            "value.serializer and value.serializer.builder are both set",
        ),
        ({"value.serializer.builder": KafkaAvroSerializerBuilder()}, {"schema": ROW}, "has its own"),
        ({"bootstrap.servers": 5.5, "acks": "x"}, {}, "the Kafka client refuses"),
    ],
)
def test_a_producer_refuses_what_it_cannot_do(
    conf: dict[str, Any], given: dict[str, Any], arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        ArrowProducer({**conf, **given}, "rows", **arguments)


def test_a_column_that_is_missing_or_there_twice_is_an_error_before_anything_is_sent(conf: dict[str, Any]) -> None:
    with ArrowProducer(conf, "empty", ROW, key="naem") as producer:
        with pytest.raises(ConfigError, match=r"no column 'naem'.*did you mean name") as caught:
            producer.write(pa.table({"id": [1], "name": ["x"]}))
        assert caught.value.topic == "empty"
        with pytest.raises(ConfigError, match="the rows have 2 columns 'naem'"):
            producer.write(pa.Table.from_arrays([pa.array(["x"])] * 2, ["naem", "naem"]))
        with pytest.raises(TypeError, match="expected Arrow data of columns"):
            producer.write([{"id": 1}])


@pytest.mark.parametrize(
    ("part", "column", "text"),
    [
        ("key", pa.array([1]), "key: expected a column of type string or binary, got 'x' of type int64"),
        ("key", pa.array([1]).dictionary_encode(), "got 'x' of type int64"),
        ("partition", pa.array(["0"]), "partition: expected a column of type int, got 'x' of type string"),
        ("timestamp", pa.array([5]), "timestamp: expected a column of type timestamp"),
        ("headers", pa.array(["h"]), "headers: expected a column of type list of structs"),
        ("headers", pa.array([[1]]), "headers: expected a column of type list of structs"),
        ("headers", pa.array([[{"key": "a", "value": 5}]]), r"\(key: string, value: binary\), got 'x' of type list<"),
    ],
)
def test_a_column_of_another_type_is_refused(conf: dict[str, Any], part: str, column: Any, text: str) -> None:
    names: Any = {part: "x"}
    with ArrowProducer(conf, "empty", ROW, **names) as producer, pytest.raises(ConfigError, match=text):
        producer.write(pa.table({"id": [1], "x": column}))


HEADERS = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))


@pytest.mark.parametrize(
    ("name", "column", "text"),
    [
        ("id", pa.array(["1", "2"]), "field id: .*long"),
        ("to", pa.array([0, 2**31]), "expected a partition from 0 to 2147483647, got 2147483648"),
        ("to", pa.array([0, -1]), "expected a partition from 0 to 2147483647, got -1"),
        ("h", pa.array([None, [{"key": None, "value": b""}]], HEADERS), "expected a header's key of type string"),
        ("at", pa.array([None, 0], pa.timestamp("ms")), "expected a timestamp after 1970"),
        ("at", pa.array([None, 2**60], pa.timestamp("s")), "expected a timestamp that fits in 64 bits"),
    ],
)
def test_a_row_that_cannot_be_sent_sends_none_of_its_table(
    conf: dict[str, Any], name: str, column: Any, text: str
) -> None:
    columns = {"id": pa.array([1, 2]), "to": pa.array([0, 0]), "h": pa.array([None, None], HEADERS)}
    columns["at"] = pa.array([None, None], pa.timestamp("ms"))
    with ArrowProducer(conf, "empty", ROW, partition="to", headers="h", timestamp="at") as producer:
        with pytest.raises(EncodeError, match=text) as caught:
            producer.write(pa.table({**columns, name: column}))
        assert caught.value.topic == "empty"
        producer.flush()
        assert (len(producer.client), producer.delivered) == (0, 0)


# Rows there and back


def test_a_consumer_may_be_assigned_another_topic_than_it_has_subscribed_to(conf: dict[str, Any]) -> None:
    with (
        ArrowProducer(conf, "first", ROW) as one,
        ArrowProducer(conf, "second", record("S", ("cents", "int"))) as other,
    ):
        one.write(pa.table({"id": [1]}))
        other.write(pa.table({"cents": pa.array([5], pa.int32())}))
    with ArrowConsumer({**conf, "group.id": "another", "auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe(["first"])
        assert read(consumer, 1).schema.names == ["id", "note"]
        consumer.assign([TopicPartition("second", 0, 0)])
        assert read(consumer, 1).to_pylist() == [{"cents": 5}]


def test_parts_of_messages_may_be_null_in_all_rows_and_times_may_have_nanoseconds(conf: dict[str, Any]) -> None:
    parts: dict[str, Any] = {"key": "k", "headers": "h", "partition": "to", "timestamp": "at"}
    headers = pa.array([[{"value": "1", "key": "a"}]])  # a text, and the fields in another order
    rows = pa.table({"id": [1], "k": pa.nulls(1), "h": pa.nulls(1), "to": pa.nulls(1), "at": pa.nulls(1)})
    with ArrowProducer(conf, "nulls", ROW, **parts) as producer:
        assert producer.write(rows) == 1
        moment = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC"))
        assert producer.write(rows.set_column(2, "h", headers).set_column(4, "at", moment)) == 1
    with consuming(conf, "nulls", keep=["key", "headers", "timestamp"]) as consumer:
        batch = read(consumer, 2)
    assert batch.column("key").to_pylist() == [None, None]
    assert batch.column("headers").to_pylist() == [None, [{"key": "a", "value": b"1"}]]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist()[1] == 1_700_000_000_123_000


def test_headers_may_be_lists_of_any_kind(conf: dict[str, Any]) -> None:
    rows = [[{"key": "a", "value": b"1"}], None, [{"key": "b", "value": b"2"}, {"key": "c", "value": None}]]
    with ArrowProducer(conf, "views", ROW, headers="h") as producer:
        for kind in (pa.list_view, pa.large_list_view, pa.large_list):
            table = pa.table({"id": range(3), "h": pa.array(rows, kind(HEADERS.value_type))})
            producer.write(table)
            producer.write(table.slice(2))
    with consuming(conf, "views", keep=["headers"]) as consumer:
        assert read(consumer, 12)["headers"].to_pylist() == [*rows, rows[2]] * 3


def test_frames_of_any_kind_are_written_and_the_key_is_a_field_if_the_schema_has_it(
    conf: dict[str, Any], registry: dict[str, Any]
) -> None:
    rows = [{"id": 1, "note": "a"}, {"id": 2, "note": "b"}]
    with ArrowProducer(conf, "rows", ROW, key="note") as producer:  # a field, and the key too
        assert producer.write(pa.Table.from_pylist(rows)) == 2
    with ArrowProducer(conf, "rows", ROW, key="who") as producer:  # the key alone, while a field has no column
        assert producer.write(pa.RecordBatch.from_pylist([{"id": 3, "who": b"c"}])) == 1
    batch = pa.RecordBatch.from_pylist([{"id": 4, "note": "d"}])
    with ArrowProducer(conf, "rows", ROW) as producer:
        assert producer.write(pa.RecordBatchReader.from_batches(batch.schema, [batch])) == 1
    serializer = KafkaAvroSerializer(registry, ROW)
    with ArrowProducer(with_serdes(conf, serializer=serializer), "rows", key="who") as producer:
        assert producer.write(pa.table({"id": pa.array([], pa.int64()), "who": pa.nulls(0)})) == 0
        assert producer.write(pa.table({"id": [5], "who": pa.nulls(1)})) == 1
    assert serializer.stats()["messages"] == 1  # and it is not closed
    with pytest.raises(ConfigError, match="keep: expected a list of column names, got 'offset'"):
        consuming(conf, "rows", keep="offset")
    with consuming(conf, "rows", keep=["key", "offset"]) as consumer:
        batch = read(consumer, 5)
    assert batch["id"].to_pylist() == [1, 2, 3, 4, 5]
    assert batch["key"].to_pylist() == [b"a", b"b", b"c", None, None]
    assert batch["offset"].to_pylist() == list(range(5))
    assert batch["note"].to_pylist() == ["a", "b", None, "d", None]


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()])
def test_keys_may_be_a_dictionary(conf: dict[str, Any], kind: Any) -> None:
    topic = f"dictionary-{kind}"
    keys = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["a", "b"], kind))
    with MockBroker({topic: 1}) as broker:
        here = {**conf, "bootstrap.servers": broker.bootstrap_servers}
        with ArrowProducer(here, topic, ROW, key="note") as producer:
            producer.write(pa.table({"id": range(3), "note": keys}))
        with consuming(here, topic, keep=["key"]) as consumer:
            batch = read(consumer, 3)
    assert batch["key"].to_pylist() == [b"b", None, b"a"]
    assert batch["note"].to_pylist() == ["b", None, "a"]


def test_pandas_rows_may_have_an_index_without_a_name(conf: dict[str, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [7, 8], "who": ["x", "y"]}, index=[5, 3])
    with ArrowProducer(conf, "once", ROW, key="who") as producer:
        assert producer.write(frame) == 2
    with consuming(conf, "once", keep=["key"]) as consumer:
        assert read(consumer, 2).to_pydict() == {"key": [b"x", b"y"], "id": [7, 8], "note": [None, None]}


@pytest.mark.parametrize("encoding", ["SEPARATED", "INLINE"])
def test_pairs_have_a_key_and_a_value(conf: dict[str, Any], encoding: str) -> None:
    topic = f"pairs-{encoding}"
    rows = [{"key": {"id": 1, "note": None}, "value": {"id": 10, "note": "x"}}, {"key": {"id": 2, "note": "k"}}]
    table = pa.Table.from_pylist(rows[:1])
    with MockBroker({topic: 1}) as broker:
        here = {**conf, "bootstrap.servers": broker.bootstrap_servers}
        with ArrowProducer(here, topic, KeyValueSchema(ROW, ROW, encoding), partition="to") as producer:
            assert producer.write(table.append_column("to", pa.array([0]))) == 1
        with ArrowProducer(here, topic, key="who") as producer:  # the topic has the schema
            with pytest.raises(ConfigError, match="the schema of a KEY_VALUE topic encodes the column key"):
                producer.write(table.append_column("who", pa.array(["x"])))
            assert producer.delivered == 0
        with consuming(here, topic, keep={"offset": "place"}) as consumer:
            assert read(consumer, 1).to_pylist() == [{"place": 0, **rows[0]}]
            assert read_nothing(consumer).schema.names == ["place", "key", "value"]


def read_nothing(consumer: ArrowConsumer) -> Any:
    batch = consumer.read_batch(5, 0.0)
    assert batch.num_rows == 0
    return batch


def test_an_empty_batch_has_the_columns_as_soon_as_there_is_a_schema(conf: dict[str, Any]) -> None:
    with consuming(conf, "bare", keep=["key"], error_column="why") as consumer:
        assert read_nothing(consumer).schema.names == ["key", "why"]
    with consuming(conf, "bare") as consumer:
        assert read_nothing(consumer).schema.names == []
    written(conf, "bare", [1])
    with consuming(conf, "bare", {**ROW, "fields": ROW["fields"][:1]}, error_column="why") as consumer:
        assert consumer.read_batch(0, 0.0).schema.names == ["id", "why"]  # the message may be there already
        assert read(consumer, 1).schema == read_nothing(consumer).schema


def test_columns_of_one_name_are_refused_and_the_messages_come_again(conf: dict[str, Any]) -> None:
    schema = {"type": "record", "name": "Clash", "fields": [{"name": "offset", "type": "long"}]}
    with ArrowProducer(conf, "more", schema) as producer:
        producer.write(pa.table({"offset": [40, 41]}))
    with consuming(conf, "more", keep=["offset"]) as consumer:
        for _ in range(2):
            with pytest.raises(ConfigError, match="two columns would have the name 'offset'"):
                consumer.read_batch(2, SECONDS)
    twice: Any = {"keep": {"offset": "place"}, "error_column": "offset"}
    with consuming(conf, "more", **twice) as consumer, pytest.raises(ConfigError, match="two columns"):
        consumer.read_batch(2, SECONDS)
    with consuming(conf, "more", keep={"offset": "place"}) as consumer:
        assert read(consumer, 2).to_pydict() == {"place": [0, 1], "offset": [40, 41]}


def test_a_batch_without_dead_letters_is_not_split(conf: dict[str, Any]) -> None:
    batch = pa.RecordBatch.from_pylist([{"id": 1, "why": "text"}])
    for name in ("why", "missing"):
        with pytest.raises(ConfigError, match=f"expected '{name}' to be a column of dead letters"):
            split_errors(batch, name)


@pytest.mark.parametrize("errors", [[None, None], ["bad", None], [None, "bad", "bad"]])
def test_dead_letters_of_a_table_are_split_as_those_of_its_batches(errors: list[str | None]) -> None:
    letters = [error and dict.fromkeys(DEAD_LETTER.names) | {"error": error} for error in errors]
    columns = {"id": pa.array(range(len(errors))), "why": pa.array(letters, DEAD_LETTER)}
    batch = pa.record_batch(columns)
    good, dead = split_errors(pa.Table.from_batches([batch] * 2), "why")
    for found, part in zip((good, dead), split_errors(batch, "why"), strict=True):
        assert found == pa.Table.from_batches([part] * 2)


def test_the_end_is_known_until_more_comes_or_a_batch_fails(conf: dict[str, Any], registry: dict[str, Any]) -> None:
    def until_end(consumer: ArrowConsumer) -> list[int]:
        found: list[int] = []
        while not consumer.at_end:
            found += consumer.read_batch(5, SECONDS)["id"].to_pylist()
        return found

    written(conf, "end", [1])
    deserializer = Failing(registry)
    with consuming(with_serdes(conf, deserializer=deserializer), "end") as consumer:
        assert until_end(consumer) == [1]
        written(conf, "end", [2])
        assert read(consumer, 1)["id"].to_pylist() == [2]
        assert not consumer.at_end
        assert until_end(consumer) == []
        written(conf, "end", [3])
        deserializer.error = ZeroDivisionError()
        with pytest.raises(ZeroDivisionError):
            consumer.read_batch(5, SECONDS)
        assert not consumer.at_end
        assert until_end(consumer) == [3]


@pytest.mark.parametrize("way", ["seek", "incremental_assign"])
def test_a_partition_that_is_read_again_is_not_at_its_end(conf: dict[str, Any], way: str) -> None:
    written(conf, f"again-{way}", range(3))
    place = TopicPartition(f"again-{way}", 0, 0)
    with consuming(conf, f"again-{way}") as consumer:
        while not consumer.at_end:
            consumer.read_batch(3, SECONDS)
        if way == "seek":
            consumer.seek(place)
        else:
            consumer.incremental_unassign([place])
            consumer.incremental_assign([place])
        assert not consumer.at_end
        assert ids_of(consumer, 3) == [0, 1, 2]


def test_an_error_of_the_client_is_raised_once_after_the_rows(conf: dict[str, Any]) -> None:
    written(conf, "faults", range(5))
    with consuming({**conf, "auto.offset.reset": "error"}, "faults") as consumer:
        consumer.assign([TopicPartition("faults", 0, 0), TopicPartition("empty", 0, 999)])
        faults, rows = 0, 0
        while not (faults and rows >= 5):
            try:
                rows += consumer.read_batches(5, 0.5).get("faults", pa.record_batch([])).num_rows
            except ConsumeError as error:
                assert error.name == "_AUTO_OFFSET_RESET"
                faults += 1
        assert (faults, rows) == (1, 5)
        assert consumer.read_batches(1, 0.0) == {}


def test_a_batch_may_be_of_any_size(conf: dict[str, Any]) -> None:
    with consuming(conf, "empty") as consumer:
        assert consumer.read_batch(10_000_000, 0.0).num_rows == consumer.read_batch(0, 0.0).num_rows == 0
        with pytest.raises(ValueError, match="num_messages"):
            consumer.read_batch(-1, 0.0)


def test_an_empty_batch_needs_no_headers(conf: dict[str, Any]) -> None:
    framings = {"framings": "snip42,confluent-header", "confluent.schema.registry.url": conf["schema.registry.url"]}
    with consuming({**conf, **framings}, "empty") as consumer:
        read_nothing(consumer)


# What a Kafka does not do at will


class Failing(KafkaAvroDeserializer):
    """Fails once, in the middle of a batch."""

    error: BaseException | None = None

    def deserialize_batch(self, *arguments: Any, **named: Any) -> Any:
        error, self.error = self.error, None
        if error is not None:
            raise error
        return super().deserialize_batch(*arguments, **named)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_messages_come_again_after_whatever_stops_a_batch(
    conf: dict[str, Any], registry: dict[str, Any], error: BaseException
) -> None:
    written(conf, "stopped", [1, 2, 3])
    deserializer = Failing(registry)
    with consuming(with_serdes(conf, deserializer=deserializer), "stopped") as consumer:
        deserializer.error = error
        with pytest.raises(type(error)):
            consumer.read_batch(3, SECONDS)
        assert consumer.commit(asynchronous=False) == []
        assert read(consumer, 3)["id"].to_pylist()[:3] == [1, 2, 3]


def interrupted(monkeypatch: pytest.MonkeyPatch, consumer: ArrowConsumer, count: int, before: int = 0) -> None:
    """A read_batch with a Ctrl-C while the client has taken messages and not returned them, but ``before`` times."""
    left = [before]

    def consume(take: Any, most: int, seconds: float) -> Any:
        found = take(most, seconds)
        if found and left:
            if left[0] == 0:
                left.clear()
                raise KeyboardInterrupt
            left[0] -= 1
        return found

    monkeypatch.setattr(arrow_consumer, "consumed", consume)
    with pytest.raises(KeyboardInterrupt):
        consumer.read_batch(count, SECONDS)


@pytest.fixture(scope="module")
def ten_rows(conf: dict[str, Any]) -> dict[str, Any]:
    """The options of a consumer of the topic "interrupted", whose ids are the offsets, in batches of one."""
    written(conf, "interrupted", range(10))
    return {**conf, "auto.offset.reset": "earliest"}


def ids_of(consumer: ArrowConsumer, *counts: int) -> list[int]:
    return [each for count in counts for each in read(consumer, count)["id"].to_pylist()]


@pytest.mark.parametrize("offset", [0, 4, OFFSET_BEGINNING])
def test_an_interrupt_loses_no_message_of_partitions_that_were_assigned_by_hand(
    ten_rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    begin = max(offset, 0)
    with ArrowConsumer({**ten_rows, "group.id": f"by-hand-{offset}", "auto.offset.reset": "latest"}) as consumer:
        consumer.assign([TopicPartition("interrupted", 0, offset)])
        for _ in range(2):  # the second time, the client has no position, as after each seek
            interrupted(monkeypatch, consumer, 2)
        assert consumer.commit(asynchronous=False) == []
        assert ids_of(consumer, 1, 1) == [begin, begin + 1]
        interrupted(monkeypatch, consumer, 1)
        assert ids_of(consumer, 1) == [begin + 2]
        consumer.seek(TopicPartition("interrupted", 0, 1))
        interrupted(monkeypatch, consumer, 1)
        assert ids_of(consumer, 1) == [1]


def test_an_interrupt_loses_no_message_that_came_after_the_end(
    conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ArrowConsumer({**conf, "group.id": "late", "auto.offset.reset": "latest"}) as consumer:
        consumer.assign([TopicPartition("latest", 0)])
        assert consumer.read_batch(1, SECONDS).num_rows == 0
        assert consumer.at_end
        written(conf, "latest", [1, 2])
        interrupted(monkeypatch, consumer, 2)
        assert ids_of(consumer, 2) == [1, 2]


@pytest.mark.parametrize("committed", [0, 3])
def test_an_interrupt_loses_no_message_of_a_group_whatever_it_has_committed(
    ten_rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch, committed: int
) -> None:
    options = {**ten_rows, "group.id": f"interrupted-{committed}"}
    if committed:
        with ArrowConsumer(options) as before:
            before.commit(offsets=[TopicPartition("interrupted", 0, committed)], asynchronous=False)
    with ArrowConsumer(options) as consumer:
        consumer.subscribe(["interrupted"])
        interrupted(monkeypatch, consumer, 5)
        assert ids_of(consumer, 3) == list(range(committed, committed + 3))
        interrupted(monkeypatch, consumer, 5)
        (found,) = consumer.commit(asynchronous=False) or ()
        assert found.offset == committed + 3  # those of the rows that were returned


def test_messages_of_a_step_before_an_interrupt_come_again_too(
    ten_rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = ArrowConsumer._take

    def one_by_one(consumer: Any, most: int, timeout: float, found: list[Any]) -> None:
        while len(found) < most:
            take(consumer, len(found) + 1, timeout, found)

    monkeypatch.setattr(ArrowConsumer, "_take", one_by_one)
    with ArrowConsumer({**ten_rows, "group.id": "steps"}) as consumer:
        consumer.subscribe(["interrupted"])
        interrupted(monkeypatch, consumer, 5, before=2)
        assert ids_of(consumer, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("as_answer", [False, True])
def test_no_message_is_taken_while_the_committed_offset_is_not_known(
    ten_rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch, as_answer: bool
) -> None:
    fault, true_answer = KafkaError(KafkaError._TIMED_OUT), Consumer.committed

    def no_answer(consumer: Any, places: list[TopicPartition], *_: float) -> Any:
        if not as_answer:
            raise KafkaException(fault)
        return [SimpleNamespace(topic=each.topic, partition=each.partition, error=fault) for each in places]

    with ArrowConsumer({**ten_rows, "group.id": f"away-{as_answer}"}) as consumer:
        consumer.subscribe(["interrupted"])
        interrupted(monkeypatch, consumer, 5)
        monkeypatch.setattr(ArrowConsumer, "committed", no_answer)
        for _ in range(2):
            with pytest.raises(ConsumeError, match="_TIMED_OUT"):
                consumer.read_batch(5, 0.0)
        monkeypatch.setattr(ArrowConsumer, "committed", true_answer)
        assert ids_of(consumer, 5) == [0, 1, 2, 3, 4]


def test_rows_that_come_with_an_error_are_returned_before_it(
    conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(conf, "together", [1])
    split = arrow_consumer.without_errors

    def with_an_error(messages: Any) -> Any:
        found, errors = split(messages)
        return found, [*errors, report(error=KafkaError(KafkaError._TRANSPORT))] if found else errors

    monkeypatch.setattr(arrow_consumer, "without_errors", with_an_error)
    with consuming(conf, "together") as consumer:
        assert read(consumer, 1)["id"].to_pylist() == [1]
        with pytest.raises(ConsumeError, match="_TRANSPORT"):
            consumer.read_batch(1, 0.0)
        assert read_nothing(consumer).num_rows == 0


@pytest.mark.parametrize("given", [False, True])
def test_only_what_a_client_made_itself_is_closed_with_it(
    conf: dict[str, Any], registry: dict[str, Any], monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    closed: list[object] = []
    for kind in (KafkaAvroSerializer, KafkaAvroDeserializer):
        monkeypatch.setattr(kind, "close", lambda serdes: closed.append(serdes))
    writing, reading = conf, conf | {"group.id": "g"}
    if given:
        writing = with_serdes(writing, serializer=KafkaAvroSerializer(registry))
        reading = with_serdes(reading, deserializer=KafkaAvroDeserializer(registry))
    ArrowProducer(writing, "empty").close()
    ArrowConsumer(reading).close()
    assert len(closed) == (0 if given else 2)


@pytest.mark.parametrize(("code", "raises"), [("_STATE", False), ("_FATAL", True)])
def test_rows_of_partitions_that_were_revoked_meanwhile_are_returned(
    conf: dict[str, Any], code: str, raises: bool
) -> None:
    written(conf, "revoked", [1])

    def refuse(**_: Any) -> None:
        raise KafkaException(KafkaError(getattr(KafkaError, code)))

    with consuming(conf, "revoked") as consumer:
        consumer.store_offsets = refuse  # type: ignore[method-assign]
        if raises:
            with pytest.raises(KafkaException):
                consumer.read_batch(1, SECONDS)
        else:
            assert read(consumer, 1)["id"].to_pylist() == [1]


def test_errors_of_commits_are_raised_but_for_that_there_is_nothing_new(conf: dict[str, Any]) -> None:
    written(conf, "commits", [1, 2])
    with consuming(conf, "commits") as consumer:
        assert consumer.commit() is None
        assert consumer.commit(asynchronous=False) == []
        consumer.assign([TopicPartition("commits", 0, 0), TopicPartition("empty", 0, 0)])
        assert consumer.read_batches(2, SECONDS)["commits"].num_rows == 2
        (found,) = consumer.commit(asynchronous=False) or ()
        assert (found.topic, found.offset) == ("commits", 2)
        with pytest.raises((KafkaException, ValueError)):
            consumer.commit(offsets=[TopicPartition("commits", -5, 5)], asynchronous=False)


def test_a_full_queue_is_waited_for(conf: dict[str, Any]) -> None:
    with ArrowProducer({**conf, "queue.buffering.max.messages": 10}, "queue", ROW) as producer:
        assert producer.write(pa.table({"id": range(5_000)})) == 5_000
        assert producer.delivered < 5_000
    assert producer.delivered == 5_000


def test_after_an_error_what_is_not_sent_yet_is_dropped(conf: dict[str, Any]) -> None:
    producer = ArrowProducer({**conf, "linger.ms": 60_000}, "dropped", ROW)
    with suppress(ZeroDivisionError), producer:
        producer.write(pa.table({"id": [1]}))
        raise ZeroDivisionError
    assert (len(producer.client), producer.delivered) == (0, 0)


def test_a_closed_producer_takes_no_rows(conf: dict[str, Any]) -> None:
    with ArrowProducer(conf, "empty", ROW) as producer:
        producer.close()  # and again at the end of the block
    with pytest.raises(RuntimeError, match="closed"):
        producer.write(pa.table({"id": [1]}))


def test_a_message_that_the_client_does_not_take_is_named(conf: dict[str, Any]) -> None:
    producer = ArrowProducer({**conf, "message.max.bytes": 1_000}, "large", ROW)
    with pytest.raises(KafkaException) as caught:
        producer.write(pa.table({"id": [1, 2], "note": ["", "x" * 2_000]}))
    assert caught.value.__notes__ == ["of message 1 of this call"]
    producer.close()
    assert producer.delivered == 1
