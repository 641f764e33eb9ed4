"""OpenTelemetry: counters of SerDes, and spans and metrics from a producer through Kafka to a consumer."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import DeserializingConsumer, KafkaError, Message, Producer, SerializingProducer, TopicPartition
from confluent_kafka.error import ValueDeserializationError, ValueSerializationError
from foreign_stand_ins import GlueStandIn
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import (
    error_attributes,
    http_attributes,
    network_attributes,
    server_attributes,
    url_attributes,
    user_agent_attributes,
)
from opentelemetry.semconv.metrics import http_metrics
from opentelemetry.trace import SpanKind, StatusCode
from waiting import forked_while_held

from streamnative_serdes import KafkaAutoConsumeDeserializer, KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes.errors import ConfigError, DecodeError
from streamnative_serdes.integrations import consuming, otel
from streamnative_serdes.testing import MockBroker

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}


class Telemetry:
    """A registry and a broker; and what was exported: spans by name, and the data points of metrics."""

    def __init__(self, conf: dict[str, Any], broker: MockBroker) -> None:
        self.conf, self.kafka = conf, {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self._reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))

    def spans(self) -> list[ReadableSpan]:
        return list(self._spans.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans() if span.name == name]
        return found

    def metrics(self) -> dict[str, Any]:
        data = self._reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes with the value of a counter, or the number of a histogram's values."""
        metric = self.metrics().get(name)
        points = [] if metric is None else metric.data.data_points
        return [(dict(point.attributes), getattr(point, "value", getattr(point, "count", None))) for point in points]

    def instrument(self, client: Any) -> Any:
        return otel.instrument(client, tracer_provider=self.tracers, meter_provider=self.meters)

    def process(self, message: Any) -> Any:
        return otel.process(message, tracer_provider=self.tracers, meter_provider=self.meters)

    def observe(self, serdes: Any, name: str = "", *, by_topic: bool = False) -> Any:
        return otel.observe(serdes, name, by_topic=by_topic, meter_provider=self.meters)

    def producer(self, **options: Any) -> SerializingProducer:
        given = {name.replace("_", "."): value for name, value in options.items()}
        return SerializingProducer({**self.kafka, **given, "value.serializer": KafkaAvroSerializer(self.conf, SCHEMA)})

    def consumer(self, topic: str = "t", offset: int = 0, kind: Any = DeserializingConsumer) -> Any:
        own = {"group.id": "g", "value.deserializer": KafkaAvroDeserializer(self.conf)}
        consumer = kind({**self.kafka, **own})
        consumer.assign([TopicPartition(topic, 0, offset)])
        return consumer


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    with MockBroker({"t": 1, "u": 1}) as broker:
        yield broker


@pytest.fixture
def telemetry(conf: dict[str, Any], broker: MockBroker) -> Iterator[Telemetry]:
    made = Telemetry(conf, broker)
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


# Counters of SerDes


def test_counters_are_those_of_stats(conf: dict[str, Any], telemetry: Telemetry) -> None:
    serializer = telemetry.observe(KafkaAvroSerializer(conf, SCHEMA), "out")
    deserializer = telemetry.observe(KafkaAvroDeserializer(conf))
    any_type = telemetry.observe(KafkaAutoConsumeDeserializer(conf))
    message = serializer.serialize("t", {"id": 1})
    for _ in range(3):
        deserializer.deserialize("t", message)
    any_type.deserialize("t", message)
    with pytest.raises(DecodeError):
        deserializer.deserialize("t", b"\xff")

    def of(name: str) -> dict[tuple[str, str], int]:
        keys = "streamnative.serdes.name", "streamnative.serdes.operation"
        return {(point[keys[0]], point[keys[1]]): value for point, value in telemetry.points(name)}

    reader = ("KafkaAvroDeserializer", "deserialize")
    assert of("streamnative.serdes.messages") == {
        ("out", "serialize"): 1,
        reader: 4,
        ("KafkaAutoConsumeDeserializer", "deserialize"): 1,
    }
    assert of("streamnative.serdes.io")[reader] == deserializer.stats()["bytes"] == 3 * len(message or b"") + 1
    assert of("streamnative.serdes.failures") == {reader: 1}
    assert of("streamnative.serdes.cache.misses")[reader] == deserializer.stats()["misses"]
    assert ("out", "serialize") not in of("streamnative.serdes.headerless")
    deserializer.deserialize("t", message)
    assert of("streamnative.serdes.messages")[reader] == 5


@pytest.mark.promise("by-class")
def test_failures_have_the_class_of_the_error_and_on_request_the_topic(
    conf: dict[str, Any], telemetry: Telemetry
) -> None:
    message = KafkaAvroSerializer(conf, SCHEMA).serialize("t", {"id": 1}) or b""
    KafkaAvroSerializer(conf, SCHEMA).warm_up("u")
    total, by_topic = (telemetry.observe(KafkaAvroDeserializer(conf), name, by_topic=name == "b") for name in "ab")
    for reader in (total, by_topic):
        data = [(topic, bad) for topic in "tuv" for bad in (b"\xff", message[:-1])]
        for topic, bad in data:
            list(reader.deserialize_many(topic, [bad], "skip"))
        reader.deserialize("t", header.pack(7) + message[10:])

    def of(name: str, metric: str) -> set[tuple[Any, Any, int]]:
        points = telemetry.points(f"streamnative.serdes.{metric}")
        return {
            (point.get(error_attributes.ERROR_TYPE), point.get(messaging_attributes.MESSAGING_DESTINATION_NAME), count)
            for point, count in points
            if point["streamnative.serdes.name"] == name
        }

    assert of("a", "failures") == {("DecodeError", None, 4), ("SchemaNotFoundError", None, 2)}
    assert of("b", "failures") == {("DecodeError", "t", 2), ("DecodeError", "u", 2), ("SchemaNotFoundError", "v", 2)}
    assert of("a", "fallbacks") == {(None, None, total.stats()["fallbacks"])}
    assert of("b", "fallbacks") == {(None, "t", 1), (None, "u", 0), (None, "v", 0)}
    assert of("b", "cache.misses") == {
        (None, topic, counts["misses"]) for topic, counts in by_topic.stats(by="topic").items()
    }
    assert of("b", "messages") == {(None, None, 7)}


def test_own_names_follow_the_rules_of_the_conventions(conf: dict[str, Any], telemetry: Telemetry) -> None:
    both = {**conf, "framings": "snip42,confluent,headerless", "confluent.schema.registry.url": "http://127.0.0.1:1"}
    deserializer = telemetry.observe(KafkaAvroDeserializer(both), by_topic=True)
    list(deserializer.deserialize_many("t", [b"\xff"], "skip"))
    ours = {name: metric for name, metric in telemetry.metrics().items() if name.startswith("streamnative.")}
    assert ours.keys() >= {f"streamnative.serdes.{name}" for name in ("messages", "io", "failures", "cache.misses")}
    known = {messaging_attributes.MESSAGING_DESTINATION_NAME, error_attributes.ERROR_TYPE}
    for name, metric in ours.items():
        # The conventions' page "Naming": no name is a namespace too; no unit, no total.
        assert re.fullmatch(r"streamnative\.serdes(\.[a-z]+(_[a-z]+)*)+", name)
        assert not any(other.startswith(f"{name}.") for other in ours)
        assert not name.endswith(("total", "count", "bytes"))
        assert metric.unit == ("By" if name.endswith(".io") else "{message}")  # of UCUM; annotations in braces
        assert metric.data.is_monotonic, "a counter"
        for attributes, _ in telemetry.points(name):
            others = attributes.keys() - known
            assert others == {"streamnative.serdes.name", "streamnative.serdes.operation"}, name


def test_a_serdes_that_ends_is_no_longer_reported(conf: dict[str, Any], telemetry: Telemetry) -> None:
    def names() -> list[str]:
        return [point["streamnative.serdes.name"] for point, _ in telemetry.points("streamnative.serdes.messages")]

    first, second = (telemetry.observe(KafkaAvroSerializer(conf, SCHEMA), name) for name in "ab")
    assert names() == ["a", "b"]
    del first
    gc.collect()
    assert names() == ["b"]
    assert second is not None


def test_a_serdes_counts_once_for_each_of_its_names(conf: dict[str, Any], telemetry: Telemetry) -> None:
    serializer = telemetry.observe(KafkaAvroSerializer(conf, SCHEMA), "a")
    other = telemetry.observe(KafkaAvroSerializer(conf, SCHEMA), "c")
    serializer.serialize("t", {"id": 1})
    for name in ("b", "a"):
        telemetry.observe(serializer, name)
    points = telemetry.points("streamnative.serdes.messages")
    counts = sorted((point["streamnative.serdes.name"], count) for point, count in points)
    assert counts == [("a", 1), ("b", 1), ("c", other.stats()["messages"])]


def test_serdes_that_have_ended_are_forgotten(conf: dict[str, Any], telemetry: Telemetry) -> None:
    for _ in range(5):
        telemetry.observe(KafkaAvroSerializer(conf, SCHEMA))
        gc.collect()
    assert len(otel._Meters.of(telemetry.meters).observed) == 1


def test_names_are_those_of_the_conventions(telemetry: Telemetry) -> None:
    there_and_back(telemetry)
    known = {value for name, value in vars(messaging_attributes).items() if name.isupper() and isinstance(value, str)}
    known.add(error_attributes.ERROR_TYPE)
    for span in telemetry.spans():
        assert set(span.attributes or ()) <= known, span.name
    metrics = {value for name, value in vars(messaging_metrics).items() if name.isupper()}
    ours = {name: metric for name, metric in telemetry.metrics().items() if name.startswith("messaging.")}
    assert ours.keys() <= metrics
    assert {metric.unit for name, metric in ours.items() if name.endswith("duration")} == {"s"}
    assert {metric.unit for name, metric in ours.items() if name.endswith("messages")} == {"{message}"}
    for name in ours:
        assert all(set(attributes) <= known for attributes, _ in telemetry.points(name))


# From a producer to a consumer


def there_and_back(telemetry: Telemetry) -> Any:
    producer, reports = telemetry.instrument(telemetry.producer()), list[Any]()
    tracer = telemetry.tracers.get_tracer("test")
    with tracer.start_as_current_span("request"):
        producer.produce("t", None, {"id": 7}, on_delivery=lambda *report: reports.append(report), headers={"a": b"b"})
    assert producer.flush(60) == 0
    ((error, report),) = reports
    assert error is None
    consumer = telemetry.instrument(telemetry.consumer(offset=report.offset()))
    message = consumer.poll(60)
    with telemetry.process(message), tracer.start_as_current_span("inner"):
        assert message.value() == {"id": 7}
    consumer.close()
    return message


def test_a_trace_goes_from_the_producer_to_the_consumer(telemetry: Telemetry) -> None:
    message = there_and_back(telemetry)
    request, send, poll, process, inner = (
        telemetry.span(name) for name in ("request", "send t", "poll t", "process t", "inner")
    )
    assert [span.kind for span in (send, poll, process)] == [SpanKind.PRODUCER, SpanKind.CLIENT, SpanKind.CONSUMER]
    assert send.parent.span_id == request.context.span_id
    assert [link.context.span_id for link in poll.links] == [send.context.span_id]
    assert process.parent.span_id == send.context.span_id
    assert inner.parent.span_id == process.context.span_id
    assert {span.context.trace_id for span in (request, send, process, inner)} == {request.context.trace_id}
    assert message.headers()[0] == ("a", b"b")
    place = {"messaging.destination.partition.id": "0", "messaging.kafka.offset": message.offset()}
    about = {"messaging.system": "kafka", "messaging.destination.name": "t", **place}
    for span, name, kind in ((send, "send", "send"), (poll, "poll", "receive"), (process, "process", "process")):
        assert dict(span.attributes) == {**about, "messaging.operation.name": name, "messaging.operation.type": kind}
        assert span.status.status_code == StatusCode.UNSET
        assert span.end_time >= span.start_time
    counts = {name: sum(value for _, value in telemetry.points(name)) for name in telemetry.metrics()}
    assert counts["messaging.client.sent.messages"] == counts["messaging.client.consumed.messages"] == 1
    assert counts["messaging.client.operation.duration"] == 2
    assert counts["messaging.process.duration"] == 1


def test_an_older_context_in_the_headers_is_replaced(telemetry: Telemetry) -> None:
    producer = telemetry.instrument(telemetry.producer())
    given = [("TraceParent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01"), ("keep", None), ("keep", b"2")]
    seen: list[Any] = []
    producer.produce("t", key=None, value={"id": 1}, headers=given, on_delivery=lambda _, message: seen.append(message))
    assert producer.flush(60) == 0
    consumer = telemetry.consumer(offset=seen[0].offset())
    headers = consumer.poll(60).headers()
    consumer.close()
    assert headers[:2] == [("keep", None), ("keep", b"2")]
    assert [name for name, _ in headers[2:]] == ["traceparent"]
    assert len(given) == 3, "the list of the caller is its own"


def test_a_message_that_cannot_be_serialized_ends_its_span(telemetry: Telemetry) -> None:
    producer = telemetry.instrument(telemetry.producer())
    with pytest.raises(ValueSerializationError):
        producer.produce("t", value={"id": "x"})
    span = telemetry.span("send t")
    assert (span.attributes["error.type"], span.status.status_code) == ("EncodeError", StatusCode.ERROR)
    ((attributes, count),) = telemetry.points("messaging.client.sent.messages")
    assert (attributes["error.type"], count) == ("EncodeError", 1)
    producer.produce("t", value=None, key="k")
    assert producer.flush(60) == 0
    tombstone = telemetry.spans()[-1].attributes
    assert (tombstone["messaging.kafka.message.tombstone"], tombstone["messaging.kafka.message.key"]) == (True, "k")


def test_headers_that_no_message_can_have_end_the_span(telemetry: Telemetry) -> None:
    producer = telemetry.instrument(telemetry.producer())
    with pytest.raises(TypeError):
        producer.produce("t", value={"id": 1}, headers=5)
    assert telemetry.span("send t").attributes["error.type"] == "TypeError"


def test_a_message_that_is_not_delivered_ends_its_span(telemetry: Telemetry) -> None:
    told: list[Any] = []
    nowhere = telemetry.producer(bootstrap_servers="127.0.0.1:1", message_timeout_ms=50)
    producer = telemetry.instrument(nowhere)
    producer.produce("t", value={"id": 1}, on_delivery=lambda error, _: told.append(error.code()))
    assert telemetry.spans() == []
    assert producer.flush(60) == 0
    assert told == [KafkaError._MSG_TIMED_OUT]
    assert telemetry.span("send t").attributes["error.type"] == "_MSG_TIMED_OUT"


def test_a_message_that_cannot_be_deserialized_is_a_span_with_its_error(telemetry: Telemetry) -> None:
    sending = Producer(telemetry.kafka)
    sending.produce("u", b"\xff", headers=[("traceparent", b"no trace"), ("x", None)])
    assert sending.flush(60) == 0
    KafkaAvroSerializer(telemetry.conf, SCHEMA).warm_up("u")
    consumer = telemetry.instrument(telemetry.consumer("u"))
    with pytest.raises(ValueDeserializationError):
        consumer.poll(60)
    assert consumer.poll(0.01) is None
    consumer.close()
    (span,) = telemetry.spans()
    assert (span.name, span.attributes["error.type"], span.links) == ("poll u", "DecodeError", ())


def test_an_error_of_processing_is_recorded_and_raised(telemetry: Telemetry) -> None:
    message = there_and_back(telemetry)
    with pytest.raises(ZeroDivisionError), telemetry.process(message):
        raise ZeroDivisionError
    span = telemetry.spans()[-1]
    assert (span.name, span.attributes["error.type"]) == ("process t", "ZeroDivisionError")
    assert [event.name for event in span.events] == ["exception"]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_generator_that_is_closed_while_it_processes_a_message_has_no_error(telemetry: Telemetry) -> None:
    message = there_and_back(telemetry)

    def rows() -> Any:
        with telemetry.process(message):
            yield 1

    found = rows()
    next(found)
    found.close()
    span = telemetry.spans()[-1]
    assert (span.name, span.status.status_code, span.events) == ("process t", StatusCode.UNSET, ())
    assert "error.type" not in span.attributes


def test_a_batch_of_messages_is_one_span_with_links_to_their_traces(telemetry: Telemetry) -> None:
    producer, places = telemetry.instrument(telemetry.producer()), list[int]()
    for number in range(3):
        producer.produce("t", value={"id": number}, on_delivery=lambda _, message: places.append(message.offset()))
    assert producer.flush(60) == 0
    sent = {span.context.span_id for span in telemetry.spans()}
    consumer = telemetry.instrument(telemetry.consumer("t", places[0], consuming.DeserializingConsumer))
    found: list[Any] = []
    while len(found) < 3:
        found += consumer.consume(3, 1)
    consumer.close()
    polls = [span for span in telemetry.spans() if span.name == "poll t"]
    assert {link.context.span_id for poll in polls for link in poll.links} == sent
    assert sum(poll.attributes.get("messaging.batch.message_count", 1) for poll in polls) == 3
    ((_, count),) = telemetry.points("messaging.client.consumed.messages")
    assert (count, [message.value() for message in found]) == (3, [{"id": number} for number in range(3)])


def test_all_messages_of_a_share_consumers_poll_are_one_span(telemetry: Telemetry) -> None:
    class Sharing:
        """As DeserializingShareConsumer, whose poll() returns a Messages; tests/integration has a real one."""

        def poll(self, timeout: float = -1) -> tuple[Message, ...]:
            codes = KafkaError._VALUE_DESERIALIZATION, KafkaError._KEY_DESERIALIZATION
            failed = [Message("t", 0, 6 + at, error=KafkaError(code, "unread")) for at, code in enumerate(codes)]
            return (Message("t", 0, 5, value=b"1"), *failed) if timeout else ()

    consumer = telemetry.instrument(Sharing())
    assert (consumer.poll(0), len(consumer.poll(1))) == ((), 3)
    attributes = telemetry.span("poll t").attributes  # with the first error
    assert (attributes["messaging.batch.message_count"], attributes["error.type"]) == (3, "_VALUE_DESERIALIZATION")
    ((_, count),) = telemetry.points("messaging.client.consumed.messages")
    assert count == 3


# Instrumenting


def test_a_client_gets_its_own_methods_again(telemetry: Telemetry) -> None:
    producer = telemetry.instrument(telemetry.producer())
    with pytest.raises(ConfigError, match="instrumented already"):
        telemetry.instrument(producer)
    otel.uninstrument(producer)
    producer.produce("t", value={"id": 1})
    assert producer.flush(60) == 0
    assert telemetry.spans() == []
    assert telemetry.instrument(producer) is producer
    other = telemetry.producer()
    other.produce("t", value={"id": 1})
    assert other.flush(60) == 0
    assert telemetry.spans() == []


@pytest.mark.parametrize("client", [object(), "text", 5])
def test_another_object_is_not_instrumented(client: Any) -> None:
    with pytest.raises(ConfigError, match="cannot instrument"):
        otel.instrument(client)


def test_a_client_for_asyncio_is_not_instrumented() -> None:
    class AsyncSerializingProducer:
        async def produce(self, topic: str) -> None: ...

    with pytest.raises(ConfigError, match="cannot instrument AsyncSerializingProducer: it is for asyncio"):
        otel.instrument(AsyncSerializingProducer())


def test_kafkas_own_producer_is_for_the_usual_instrumentation(telemetry: Telemetry) -> None:
    with pytest.raises(ConfigError, match="opentelemetry-instrumentation-confluent-kafka"):
        otel.instrument(Producer(telemetry.kafka))


# The environment is read at the first use, so this is a program of its own.
REQUESTS = """
import json
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry

spans, reader, tracers = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
RequestsInstrumentor().instrument(tracer_provider=tracers, meter_provider=MeterProvider([reader]))
with LocalRegistry() as registry:
    KafkaAvroSerializer({"schema.registry.url": registry.url}, '"string"').warm_up("t")
(scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
print(json.dumps([
    [[span.name, span.kind.name, dict(span.attributes)] for span in spans.get_finished_spans()],
    {metric.name: [metric.unit, *(dict(point.attributes) for point in metric.data.data_points)]
     for metric in scope.metrics},
]))
"""


def test_requests_to_the_registry_have_spans_and_durations_of_the_conventions() -> None:
    environment = {**os.environ, "OTEL_SEMCONV_STABILITY_OPT_IN": "http"}
    program = [sys.executable, "-c", REQUESTS]
    spans, metrics = json.loads(subprocess.run(program, env=environment, check=True, capture_output=True).stdout)
    known = {
        value
        for module in (http_attributes, url_attributes, server_attributes, network_attributes, user_agent_attributes)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }
    name, kind, attributes = spans[0]
    assert (name, kind, attributes["http.response.status_code"]) == ("POST", "CLIENT", 200)
    assert attributes["url.full"].endswith("/admin/v2/schemas/public/default/t/schema")
    unit, points = metrics[http_metrics.HTTP_CLIENT_REQUEST_DURATION]
    assert (unit, points["http.request.method"]) == ("s", "POST")
    assert attributes.keys() | points.keys() <= known


def test_messages_of_other_framings_are_reported(conf: dict[str, Any], telemetry: Telemetry) -> None:
    glue = GlueStandIn()
    glue.schemas[str(UUID(int=1))] = '"long"'
    options = {**conf, "framings": "snip42,glue", "glue.registry": glue}
    deserializer = telemetry.observe(KafkaAvroDeserializer(options))
    assert deserializer.deserialize("t", b"\3\0" + UUID(int=1).bytes + b"\2") == 1
    ((_, count),) = telemetry.points("streamnative.serdes.other_framings")
    assert count == deserializer.stats()["other_framings"] == 1
    with pytest.raises(DecodeError):
        deserializer.deserialize("t", b"\xff")
    reported = {name.removeprefix("streamnative.serdes.") for name in telemetry.metrics()}
    # io: bytes, failures: errors; hits are messages without misses.
    assert len(reported) == len(deserializer.stats().keys() - {"hits", "registry_calls"})


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_child_forked_while_the_lock_is_held_observes(conf: dict[str, Any], telemetry: Telemetry) -> None:
    serdes = KafkaAvroDeserializer(conf)
    assert forked_while_held(otel._lock(), lambda: telemetry.observe(serdes)) == 0
