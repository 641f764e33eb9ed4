"""The costs that `make bench` measures beside the contenders: calls above the codec, clients, objects of classes."""

from __future__ import annotations

import dataclasses
from functools import partial
from itertools import cycle, islice
from statistics import median
from typing import Any, NamedTuple

import pydantic
from confluent_kafka import DeserializingConsumer, SerializingProducer, TopicPartition
from harness import Job, Results, measure, statement
from shapes import BY_NAME

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.integrations import consuming
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC, POLLED, SHAPE = "bench", "polled", BY_NAME["flat"]
# The overhead above the codec is measured on this shape only, because it is the same on all shapes. It is measured in
# both directions and for both ways to call.
SMALLEST, OVERHEADS, CALLS = "tiny", ("serialize", "deserialize"), ("methods", "ours")
PRODUCE, POLL = "SerializingProducer.produce", "DeserializingConsumer.poll"
Overheads = dict[tuple[str, str], tuple[float, float]]  # by operation and way to call
SLICE = 500  # messages of a client
IDLE, OURS, DICTS = "SerDes that do nothing", "ours", "dicts"
OWN = "ours, in our clients"  # those of integrations.consuming, which make no context


def overheads(cells: Results, slices: int) -> Overheads:
    """The cost above the codec, in nanoseconds and in calls of a C function, by operation and way to call.

    It is a few nanoseconds, less than the noise of a processor that changes its speed. So the statements and the call
    of a C function alternate in slices of a millisecond, and each slice is a result.
    """
    jobs = []
    for operation in OVERHEADS:
        found = {name: cells.get((SMALLEST, operation, name)) for name in ("codec", *CALLS)}
        jobs += [dataclasses.replace(job, key=(operation, name), rounds=[]) for name, job in found.items() if job]
        values = BY_NAME[SMALLEST].records
        jobs += [statement((operation, "call"), "callable(value)", {}, values)]
        jobs += [statement((operation, "nothing"), "pass", {}, values)]
    rounds = {key: job.rounds for key, job in measure(jobs, slices, seconds=0.001).items()}
    costs = {}
    for operation, name in [(operation, name) for operation in OVERHEADS for name in CALLS]:
        if (operation, name) in rounds and (operation, "codec") in rounds:
            columns = (rounds[operation, which] for which in (name, "codec", "call", "nothing"))
            rows = list(zip(*columns, strict=True))
            share = median((ours - codec) / (call - nothing) for ours, codec, call, nothing in rows)
            costs[operation, name] = median(row[0] - row[1] for row in rows), share
    return costs


def produce(producer: SerializingProducer, values: list[Any], topic: str = TOPIC) -> None:
    for value in values:
        producer.produce(topic, value=value)


def poll(consumer: DeserializingConsumer) -> None:
    for _ in range(SLICE):
        if consumer.poll(60) is None:
            raise RuntimeError("the mock broker returned no message")


def in_clients(slices: int) -> Results:
    """Nanoseconds per message in the caller's thread, with SerDes that do nothing, with ours, and in our clients.

    The first slice does not count: it opens connections and fills queues.
    """
    with LocalRegistry() as registry, MockBroker({TOPIC: 1, POLLED: 1}) as broker:
        conf = {"schema.registry.url": registry.url}
        serializer, deserializer = KafkaAvroSerializer(conf, SHAPE.schema), KafkaAvroDeserializer(conf)
        message = serializer.serialize(TOPIC, SHAPE.records[0])
        client = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 2}
        values = list(islice(cycle(SHAPE.records), SLICE))
        jobs, polls = list[Job](), list[Job]()
        producers, consumers = list[SerializingProducer](), list[DeserializingConsumer]()

        def flush() -> None:
            if any(producer.flush(60) for producer in producers):
                raise RuntimeError("the mock broker did not accept all messages")

        for name, client_of, write in (
            (IDLE, SerializingProducer, lambda _obj, _ctx: message), (OURS, SerializingProducer, serializer),
            (OWN, consuming.SerializingProducer, serializer),
        ):  # fmt: skip
            producing = {**client, "queue.buffering.max.messages": 1_000_000, "value.serializer": write}
            producers.append(client_of(producing))
            jobs.append(Job((PRODUCE, name), partial(produce, producers[-1], values), SLICE, flush))
        produced = measure(jobs, slices, warm_up=1)
        for _ in range(slices + 1):  # a topic of its own: the mock broker drops the oldest of some 60,000 messages
            produce(producers[-1], values, POLLED)
            flush()
        for name, consumer_of, read in (
            (IDLE, DeserializingConsumer, lambda _data, _ctx: None), (OURS, DeserializingConsumer, deserializer),
            (OWN, consuming.DeserializingConsumer, deserializer),
        ):  # fmt: skip
            consumers.append(consumer_of({**client, "group.id": name, "value.deserializer": read}))
            consumers[-1].assign([TopicPartition(POLLED, 0, 0)])
            polls.append(Job((POLL, name), partial(poll, consumers[-1]), SLICE))
        try:
            return Results({**produced, **measure(polls, slices, warm_up=1)})
        finally:
            for consumer in consumers:
                consumer.close()


def classes() -> dict[str, Any]:
    """One class of each kind, with the fields of the shape."""
    names, title = [field["name"] for field in SHAPE.schema["fields"]], SHAPE.schema["name"]
    fields = [(name, Any) for name in names]
    required: dict[str, Any] = dict.fromkeys(names, (Any, ...))
    return {
        "dataclass(slots=True)": dataclasses.make_dataclass(title, fields, slots=True),
        "NamedTuple": NamedTuple(title, fields),
        "dataclass": dataclasses.make_dataclass(title, fields),
        "pydantic.BaseModel": pydantic.create_model(title, **required),
    }


def as_objects(slices: int) -> Results:
    """Nanoseconds to read and write objects of classes and dicts, by direction and kind, in slices of a millisecond."""
    jobs = []
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        messages = [KafkaAvroSerializer(conf, SHAPE.schema).serialize(TOPIC, record) for record in SHAPE.records]
        for kind, cls in {DICTS: None, **classes()}.items():
            serializer = KafkaAvroSerializer(conf, SHAPE.schema)
            deserializer = KafkaAvroDeserializer(conf | ({"value.type": cls} if cls else {}), SHAPE.schema)
            objects = [deserializer.deserialize(TOPIC, message) for message in messages]
            if [serializer.serialize(TOPIC, value) for value in objects] != messages:
                raise RuntimeError("an object that was read is written as different bytes")
            for operation, work, values in (
                ("read", deserializer.deserialize, messages), ("write", serializer.serialize, objects),
            ):  # fmt: skip
                names = {"work": work, "topic": TOPIC}
                jobs.append(statement((operation, kind), "work(topic, value)", names, values))
        return measure(jobs, slices, seconds=0.001)
