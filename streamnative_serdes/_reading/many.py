"""Many messages, of which one that cannot be read need not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

from streamnative_serdes.errors import ConfigError, SerdesError

from .attempts import ITS_OWN_FAULT
from .client_messages import Received, received, refuse_error

OnError: TypeAlias = Literal["raise", "skip"] | Callable[[SerdesError], Any]


def read_many(
    read: Callable[[Received], Any], topic: str | None, messages: Iterable[Any], on_error: OnError
) -> Iterator[Any]:
    """As :meth:`KafkaAvroDeserializer.deserialize_many`; ``read`` reads one message."""
    if on_error not in ("raise", "skip") and not callable(on_error):
        raise ConfigError(f"on_error: expected 'raise', 'skip' or a function of the error, got {on_error!r:.40}")
    return _read_all(read, topic, messages, on_error)


def _read_all(
    read: Callable[[Received], Any], topic: str | None, messages: Iterable[Any], on_error: OnError
) -> Iterator[Any]:
    for message in messages:
        try:
            datum = read_one(read, topic, message)
        except SerdesError as error:
            if on_error == "raise" or error.raw is None or not isinstance(error, ITS_OWN_FAULT):
                raise
            if on_error == "skip":
                continue
            datum = on_error(error)
        yield datum


def read_one(read: Callable[[Received], Any], topic: str | None, message: Any) -> Any:
    """Read bytes or a client's message; errors of a message have it in ``raw``."""
    taken = received(message, topic)
    try:
        refuse_error(message, taken.raw.topic)
        return read(taken)
    except SerdesError as error:
        error.raw = taken.raw
        raise
