"""Many messages, of which one that cannot be read need not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

from streamnative_serdes.errors import ConfigError, DecodeError, RawMessage, SerdesError

from .attempts import ITS_OWN_FAULT

OnError: TypeAlias = Literal["raise", "skip"] | Callable[[SerdesError], Any]
_BYTES = (bytes, bytearray, memoryview)


def read_many(read: Callable[..., Any], topic: str | None, messages: Iterable[Any], on_error: OnError) -> Iterator[Any]:
    """As :meth:`KafkaAvroDeserializer.deserialize_many`; ``read`` is the method ``deserialize``."""
    if on_error not in ("raise", "skip") and not callable(on_error):
        raise ConfigError(f"on_error: expected 'raise', 'skip' or a function of the error, got {on_error!r:.40}")
    return _read_all(read, topic, messages, on_error)


def _read_all(read: Callable[..., Any], topic: str | None, messages: Iterable[Any], on_error: OnError) -> Iterator[Any]:
    for message in messages:
        raw = message if message is None or isinstance(message, _BYTES) else _raw(message, topic)
        try:
            if isinstance(raw, RawMessage):
                datum = read(raw.topic, _value(message, raw), headers=raw.headers)
            else:
                datum = read(topic, raw)
        except SerdesError as error:
            error.raw = raw if isinstance(raw, RawMessage) else RawMessage(raw, topic)
            if on_error == "raise" or not isinstance(error, ITS_OWN_FAULT):
                raise
            if on_error == "skip":
                continue
            datum = on_error(error)
        yield datum


def _raw(message: Any, topic: str | None) -> RawMessage:
    """A client's message. confluent-kafka has methods where kafka-python and aiokafka have attributes."""
    try:
        parts = {name: getattr(message, name) for name in ("value", "topic", "partition", "offset", "key", "headers")}
    except AttributeError:
        raise DecodeError(f"expected bytes or a client's message, got {type(message).__name__}", topic=topic) from None
    value, own_topic, *others = (part() if callable(part) else part for part in parts.values())
    return RawMessage(value, own_topic if topic is None else topic, *others)


def _value(message: Any, raw: RawMessage) -> Any:
    """The message's value.

    Raises:
        DecodeError: it is no message but an error that the client reports in a message's place.
    """
    error = getattr(message, "error", None)
    fault = error() if callable(error) else None
    if fault is not None:
        raise DecodeError(f"the client reports an error in place of a message: {fault}", topic=raw.topic)
    return raw.data
