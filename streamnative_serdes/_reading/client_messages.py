"""Messages as clients return them: the value with all that is needed to read it.

confluent-kafka has methods where kafka-python and aiokafka have attributes; see ``pulsar_messages`` for pulsar-client.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from streamnative_serdes.errors import DecodeError, RawMessage

from .pulsar_messages import PulsarMessage, is_tombstone, key_of, schema_version_of, topic_with_schemas

_BYTES = (bytes, bytearray, memoryview)
_PARTS: Final = ("value", "topic", "partition", "offset", "key", "headers")


class Received(NamedTuple):
    """A message.

    Args:
        raw: the message as it was received.
        key: of a topic whose keys have a schema, as bytes; None if it has none, or if only the value was given.
        version: the schema version in Pulsar's metadata, or None.
        bare: whether only the value was given, as bytes.
    """

    raw: RawMessage
    key: Any = None
    version: int | None = None
    bare: bool = False

    @property
    def topic(self) -> Any:
        """As in ``raw``. What reads messages refuses None."""
        return self.raw.topic


def received(message: Any, topic: str | None) -> Received:
    """Take a message apart.

    Args:
        message: a message's value as bytes, or None, or a message of confluent-kafka, kafka-python, aiokafka or
            pulsar-client.
        topic: the message's topic; None takes its own.

    Raises:
        DecodeError: it is something else.
    """
    if message is None or isinstance(message, _BYTES):
        return Received(RawMessage(message, topic), bare=True)
    try:
        parts = [getattr(message, name) for name in _PARTS]
    except AttributeError:
        if hasattr(message, "topic_name") and hasattr(message, "schema_version"):
            return _of_pulsar(message, topic)
        raise DecodeError(f"expected bytes or a client's message, got {type(message).__name__}", topic=topic) from None
    value, own_topic, *others = (part() if callable(part) else part for part in parts)
    raw = RawMessage(value, own_topic if topic is None else topic, *others)
    return Received(raw, raw.key)


def refuse_error(message: Any, topic: str | None) -> None:
    """Refuse an error that the client reports in a message's place.

    Raises:
        DecodeError: it is one.
    """
    error = getattr(message, "error", None)
    fault = error() if callable(error) else None
    if fault is not None:
        raise DecodeError(f"the client reports an error in place of a message: {fault}", topic=topic)


def _of_pulsar(message: PulsarMessage, topic: str | None) -> Received:
    headers = [(name, value.encode()) for name, value in message.properties().items()]
    raw = RawMessage(
        None if is_tombstone(message) else message.data(),
        topic_with_schemas(message.topic_name()) if topic is None else topic,
        key=key_of(message),
        headers=headers or None,
    )
    return Received(raw, _separate_key(message), schema_version_of(message))


def _separate_key(message: PulsarMessage) -> bytes | None:
    """The key as KEY_VALUE topics with encoding SEPARATED have it: in base64, unless a producer set it as text."""
    try:
        return key_of(message, encoded=True)
    except DecodeError:
        return key_of(message)
