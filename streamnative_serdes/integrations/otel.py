"""OpenTelemetry: metrics of SerDes, and spans and metrics of confluent-kafka's serializing clients.

Needs opentelemetry-api alone; a program chooses an SDK and exporters. Names, units and kinds of messaging are those of
the semantic conventions for Kafka. They have none for serializers, so those begin with ``streamnative.serdes``.
Requests to registries go through ``requests``: opentelemetry-instrumentation-requests has their spans and durations.
"""

from __future__ import annotations

import inspect
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

try:
    from opentelemetry import metrics, propagate, trace
    from opentelemetry.context import Context
    from opentelemetry.propagators.textmap import Getter, Setter
    from opentelemetry.trace import Link, Span, SpanKind, StatusCode
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"{missing.name} is not installed: pip install opentelemetry-api") from None

from streamnative_serdes._topics.cache import ForkSafeLock
from streamnative_serdes.errors import ConfigError

__all__ = ["context_of", "instrument", "observe", "process", "uninstrument"]

_SCOPE: Final = "streamnative_serdes"
# Counters of stats(): name, unit and description of each here; registry_calls are those of instrumentation-requests.
_COUNTERS: Final = {
    "messages": ("messages", "{message}", "Messages that were serialized or deserialized."),
    "bytes": ("io", "By", "Size of the messages that were written, or passed in to be read."),
    "errors": ("failures", "{message}", "Messages that could not be serialized or deserialized."),
    "misses": ("cache.misses", "{message}", "Messages whose schema was not at hand."),
    "headerless": ("headerless", "{message}", "Messages without a schema version."),
    "fallbacks": ("fallbacks", "{message}", "Messages of an unknown version, read by the topic's latest schema."),
    "confluent": ("confluent.prefix", "{message}", "Messages with Confluent's prefix."),
    "confluent_header": ("confluent.header", "{message}", "Messages with a schema id of Confluent's in a header."),
    "other_framings": ("other_framings", "{message}", "Messages with a framing of Apicurio, AWS Glue or Azure."),
    "ambiguous": ("ambiguous", "{message}", "Messages that could be read with another framing too."),
}
_BY_TOPIC: Final = ("misses", "fallbacks", "ambiguous")  # errors have their class, and with by_topic their topic too
_TOPIC: Final = "messaging.destination.name"
# What the conventions recommend, in seconds.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_KAFKA: Final = {"messaging.system": "kafka"}
_MOST_LINKS: Final = 128  # as many as an SDK keeps by default
_Client = TypeVar("_Client")


class _Meters:
    """The instruments of one meter provider, and the SerDes whose counters it is told."""

    def __init__(self, provider: metrics.MeterProvider) -> None:
        self.observed: list[tuple[weakref.ref[Any], dict[str, str], bool]] = []
        self._meter = metrics.get_meter(_SCOPE, meter_provider=provider)
        for counter, (name, unit, description) in _COUNTERS.items():
            self._meter.create_observable_counter(
                f"streamnative.serdes.{name}", [self._reader_of(counter)], unit=unit, description=description
            )
        self.duration = self._seconds("messaging.client.operation.duration", "Duration of an operation of the client.")
        self.process = self._seconds("messaging.process.duration", "Duration of processing a message.")
        self.sent = self._messages("messaging.client.sent.messages", "Messages that the producer has tried to send.")
        self.consumed = self._messages(
            "messaging.client.consumed.messages", "Messages that were delivered to the application."
        )

    @classmethod
    def of(cls, provider: metrics.MeterProvider | None) -> _Meters:
        """The same instruments each time, since a second one of a name is another one."""
        chosen = provider or metrics.get_meter_provider()
        with _lock():
            return _meters.get(chosen) or _meters.setdefault(chosen, cls(chosen))

    def _seconds(self, name: str, description: str) -> metrics.Histogram:
        return self._meter.create_histogram(
            name, unit="s", description=description, explicit_bucket_boundaries_advisory=_BUCKETS
        )

    def _messages(self, name: str, description: str) -> metrics.Counter:
        return self._meter.create_counter(name, unit="{message}", description=description)

    def _reader_of(self, counter: str) -> Callable[[metrics.CallbackOptions], Iterable[metrics.Observation]]:
        def read(_: metrics.CallbackOptions) -> Iterator[metrics.Observation]:
            for reference, attributes, by_topic in self.observed:
                serdes = reference()
                for count, more in () if serdes is None else _counted(serdes, counter, by_topic=by_topic):
                    yield metrics.Observation(count, {**attributes, **more})

        return read


def _counted(serdes: Any, counter: str, *, by_topic: bool) -> Iterator[tuple[int, dict[str, str]]]:
    """The values of one counter of a SerDes, each with its further attributes."""
    if counter == "errors":
        for kind, topics in serdes.stats(by="error.type").items():
            for topic, count in topics.items() if by_topic else (("", sum(topics.values())),):
                yield count, {"error.type": kind, **({_TOPIC: topic} if topic else {})}
    elif by_topic and counter in _BY_TOPIC:
        for topic, counts in serdes.stats(by="topic").items():
            if counter in counts:
                yield counts[counter], {_TOPIC: topic} if topic else {}
    elif (total := serdes.stats().get(counter)) is not None:
        yield total, {}


_lock = ForkSafeLock()
_meters: Final[weakref.WeakKeyDictionary[metrics.MeterProvider, _Meters]] = weakref.WeakKeyDictionary()


# Metrics of SerDes


def observe(
    serdes: _Client,
    name: str = "",
    *,
    by_topic: bool = False,
    meter_provider: metrics.MeterProvider | None = None,
) -> _Client:
    """Report the counters of a serializer or deserializer (``stats()``) as ``streamnative.serdes.*``; returns it.

    They are read when an exporter asks for them, so a message costs nothing. A SerDes that ends is no longer reported.
    A second call for the same SerDes and name replaces the first.

    Args:
        serdes: any of this package's.
        name: the attribute ``streamnative.serdes.name``, to tell several of a process apart; by default, its class.
        by_topic: report failures, misses, fallbacks and ambiguous messages of each topic, too many for some exporters.
        meter_provider: by default the global one, which has to be set before.
    """
    operation = "serialize" if hasattr(serdes, "serialize") else "deserialize"
    own = {"streamnative.serdes.name": name or type(serdes).__name__, "streamnative.serdes.operation": operation}
    meters, reference = _Meters.of(meter_provider), weakref.ref(serdes)
    with _lock():
        others = [each for each in meters.observed if each[0]() is not None and each[:2] != (reference, own)]
        meters.observed = [*others, (reference, own, by_topic)]  # a new list, since an exporter may read the one before
    return serdes


# Spans and metrics of clients


class _Instruments(NamedTuple):
    tracer: trace.Tracer
    meters: _Meters


def instrument(
    client: _Client,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
) -> _Client:
    """Trace what a SerializingProducer sends, or a DeserializingConsumer receives, and measure it; returns the client.

    A DeserializingShareConsumer is one too. The usual instrumentation replaces ``Producer`` and ``Consumer``, and does
    not see these. A span of ``produce`` ends with the delivery report. The trace's context travels in the headers;
    :func:`process` continues it.

    Args:
        client: this object alone is changed; :func:`uninstrument` changes it back.
        tracer_provider: the global one by default.
        meter_provider: by default the global one, which has to be set before.

    Raises:
        ConfigError: the client is neither, is for asyncio, or is instrumented already.
    """
    own = vars(client) if hasattr(client, "__dict__") else None
    methods = [name for name in ("produce", "poll", "consume") if callable(getattr(client, name, None))]
    if any(inspect.iscoroutinefunction(getattr(client, name)) for name in methods):
        raise ConfigError(f"cannot instrument {type(client).__name__}: it is for asyncio", hint="use process() alone")
    if own is None or not methods:
        raise ConfigError(
            f"cannot instrument a {type(client).__name__}",
            hint="pass a SerializingProducer or a DeserializingConsumer; opentelemetry-instrumentation-confluent-kafka "
            "is for Producer and Consumer",
        )
    if any(name in own for name in methods):
        raise ConfigError(f"this {type(client).__name__} is instrumented already")
    instruments = _Instruments(trace.get_tracer(_SCOPE, tracer_provider=tracer_provider), _Meters.of(meter_provider))
    wrappers: dict[str, Any] = {"produce": _producing, "poll": _receiving, "consume": _receiving}
    for name in ["produce"] if "produce" in methods else methods:  # a producer's poll serves delivery reports
        own[name] = wrappers[name](client, name, instruments)
    return client


def uninstrument(client: _Client) -> _Client:
    """Give a client its own methods again; returns the client."""
    for name in ("produce", "poll", "consume"):
        vars(client).pop(name, None)
    return client


def _producing(producer: Any, name: str, instruments: _Instruments) -> Callable[..., None]:
    produce = getattr(producer, name)
    signature = inspect.signature(produce)

    def traced(*arguments: Any, **named: Any) -> None:
        given = signature.bind(*arguments, **named)
        given.apply_defaults()
        sending = _Sending(given.arguments, instruments)
        try:
            sending.put_context(given.arguments)
            produce(**given.arguments)
        except BaseException as error:
            sending.end(_kind_of(error))
            raise

    return traced


class _Sending:
    """One call of produce, until its message is delivered."""

    def __init__(self, given: dict[str, Any], instruments: _Instruments) -> None:
        topic = given["topic"]
        self._meters, self._began, self._ended = instruments.meters, time.perf_counter(), False
        self._attributes = _operation("send", "send", topic)
        self._span = instruments.tracer.start_span(f"send {topic}", kind=SpanKind.PRODUCER, attributes=self._attributes)
        if given.get("key") is not None and isinstance(given["key"], str):
            self._span.set_attribute("messaging.kafka.message.key", given["key"])
        if given.get("value") is None:
            self._span.set_attribute("messaging.kafka.message.tombstone", True)
        self._told, given["on_delivery"] = given.get("on_delivery"), self.delivered

    def put_context(self, given: dict[str, Any]) -> None:
        """Put the trace's context into the headers."""
        headers = given.get("headers") or []
        given["headers"] = [*(headers.items() if isinstance(headers, Mapping) else headers)]
        propagate.inject(given["headers"], trace.set_span_in_context(self._span), _HEADERS_TO_WRITE)

    def delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self._span.set_attributes(_place(message))
        self.end(None if error is None else error.name())
        if self._told is not None:
            self._told(error, message)

    def end(self, failure: str | None) -> None:
        if self._ended:
            return
        self._ended = True
        attributes = _end(self._span, self._attributes, failure)
        self._meters.duration.record(time.perf_counter() - self._began, attributes)
        self._meters.sent.add(1, attributes)


def _receiving(consumer: Any, name: str, instruments: _Instruments) -> Callable[..., Any]:
    receive = getattr(consumer, name)

    def traced(*arguments: Any, **named: Any) -> Any:
        began, start = time.perf_counter(), time.time_ns()
        try:
            found = receive(*arguments, **named)
        except Exception as error:
            failed = getattr(error, "kafka_message", None)
            _received([] if failed is None else [failed], _kind_of(error), began, start, instruments)
            raise
        messages = [] if found is None else [found] if hasattr(found, "topic") else [*found]
        failures = [message.error() for message in messages if message.error() is not None]
        if messages:
            _received(messages, _kind_of_error(failures[0]) if failures else None, began, start, instruments)
        return found

    return traced


def _received(
    messages: Sequence[Any], failure: str | None, began: float, start: int, instruments: _Instruments
) -> None:
    """Make the span of a poll, which has links to the messages' own traces, and count the messages."""
    topics = {message.topic() for message in messages}
    (topic,) = topics if len(topics) == 1 else (None,)
    attributes = _operation("poll", "receive", topic)
    origins = [trace.get_current_span(context_of(message)).get_span_context() for message in messages[:_MOST_LINKS]]
    span = instruments.tracer.start_span(
        f"poll {topic}" if topic else "poll",
        kind=SpanKind.CLIENT,
        attributes={**attributes, **(_place(messages[0]) if len(messages) == 1 else {})},
        links=[Link(origin) for origin in origins if origin.is_valid],
        start_time=start,
    )
    if len(messages) > 1:
        span.set_attribute("messaging.batch.message_count", len(messages))
    attributes = _end(span, attributes, failure)
    instruments.meters.duration.record(time.perf_counter() - began, attributes)
    if messages:
        instruments.meters.consumed.add(len(messages), attributes)  # also those that cannot be deserialized


def context_of(message: Any) -> Context:
    """Return the trace context in a message's headers; an empty context if its headers have none."""
    return propagate.extract(message.headers() or [], Context(), _HEADERS_TO_READ)


@contextmanager
def process(
    message: Any,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
) -> Iterator[Span]:
    """A span around the processing of a message, as a part of the trace in which it was sent.

    An error of the block is recorded, and raised.
    """
    attributes, began = _operation("process", "process", message.topic()), time.perf_counter()
    tracer, failure = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider), None
    with tracer.start_as_current_span(
        f"process {message.topic()}",
        context_of(message),
        kind=SpanKind.CONSUMER,
        attributes={**attributes, **_place(message)},
        record_exception=False,
        set_status_on_exception=False,
        end_on_exit=False,
    ) as span:
        try:
            yield span
        except GeneratorExit:  # whoever reads from a generator closes it: not an error
            raise
        except BaseException as error:
            failure = _kind_of(error)
            span.record_exception(error)
            raise
        finally:
            attributes = _end(span, attributes, failure)
            _Meters.of(meter_provider).process.record(time.perf_counter() - began, attributes)


class _Headers(Getter[Any], Setter[Any]):
    """Reads and writes the context of a trace in headers: (name, bytes)."""

    def get(self, carrier: Any, key: str) -> list[str] | None:
        found = [value for name, value in carrier if name.lower() == key.lower() and value is not None]
        return [value.decode("utf-8", "replace") for value in found if isinstance(value, bytes)] or None

    def keys(self, carrier: Any) -> list[str]:
        return [name for name, _ in carrier]

    def set(self, carrier: Any, key: str, value: str) -> None:
        carrier[:] = [*(header for header in carrier if header[0].lower() != key.lower()), (key, value.encode())]


_HEADERS_TO_READ: Final[Getter[Any]] = _Headers()
_HEADERS_TO_WRITE: Final[Setter[Any]] = _Headers()


def _operation(name: str, kind: str, topic: str | None) -> dict[str, Any]:
    named = {} if topic is None else {_TOPIC: topic}
    return {**_KAFKA, "messaging.operation.name": name, "messaging.operation.type": kind, **named}


def _place(message: Any) -> dict[str, Any]:
    found = {"messaging.destination.partition.id": message.partition(), "messaging.kafka.offset": message.offset()}
    return {name: str(at) if name.endswith("id") else at for name, at in found.items() if at is not None and at >= 0}


def _kind_of_error(error: Any) -> str:
    """``error.type`` of a message's ``error()``: as poll() would raise it, or the code's name in Kafka's client."""
    return _kind_of(error.exception) if hasattr(error, "exception") else str(error.name())


def _kind_of(error: BaseException) -> str:
    """``error.type``: the class of the SerDes's error, and not of the client's around it."""
    cause = getattr(error, "exception", None)
    return type(cause if isinstance(cause, BaseException) else error).__qualname__


def _end(span: Span, attributes: dict[str, Any], failure: str | None) -> dict[str, Any]:
    """End a span; returns the attributes of its metrics."""
    if failure is not None:
        attributes = {**attributes, "error.type": failure}
        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR, failure)
    span.end()
    return attributes
