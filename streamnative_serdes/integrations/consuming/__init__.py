"""Clients on top of confluent-kafka's: Arrow columns from Kafka and to it, and objects, also in batches.

- ``DeserializingConsumer``: confluent-kafka's, with a faster ``poll()``, and whose ``consume()`` returns deserialized
  messages.
- ``SerializingProducer``: confluent-kafka's, with a faster ``produce()``.
- ``ArrowConsumer``: ``read_batch()`` returns messages as a record batch; ``commit()`` commits what was returned.
- ``ArrowProducer``: ``write()`` sends the rows of a table, batch or data frame.
- ``split_errors``: the rows and the dead letters of a batch.

``RefusedMessageError`` says which messages were not delivered; ``UnreadMessageError`` is the error of one message.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamnative_serdes._kafka import RefusedMessageError  # first, since it says how to install the client

from .objects import DeserializingConsumer, SerializingProducer, UnreadMessageError

__all__ = [
    "ArrowConsumer",
    "ArrowProducer",
    "DeserializingConsumer",
    "RefusedMessageError",
    "SerializingProducer",
    "UnreadMessageError",
    "split_errors",
]

if TYPE_CHECKING:
    from .arrow_consumer import ArrowConsumer, split_errors
    from .arrow_producer import ArrowProducer

_ARROW = {"ArrowConsumer": ".arrow_consumer", "split_errors": ".arrow_consumer", "ArrowProducer": ".arrow_producer"}


def __getattr__(name: str) -> Any:
    # Imported on first use: only these need pyarrow.
    if name not in _ARROW:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("streamnative_serdes.arrow")  # says how to install pyarrow
    return getattr(import_module(_ARROW[name], __name__), name)
