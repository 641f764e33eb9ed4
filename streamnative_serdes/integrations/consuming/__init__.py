"""confluent-kafka's clients, in batches: objects by ``consume()``, and Arrow columns from Kafka and to it.

- ``DeserializingConsumer``: confluent-kafka's, whose ``consume()`` returns deserialized messages.
- ``ArrowConsumer``: ``read_batch()`` returns messages as a record batch; ``commit()`` commits what was returned.
- ``ArrowProducer``: ``write()`` sends the rows of a table, batch or data frame.
- ``split_errors``: the rows and the dead letters of a batch.

``RefusedMessageError`` says which messages were not delivered; ``UnreadMessageError`` is the error of one message.
"""

from streamnative_serdes._kafka import RefusedMessageError  # first, since it says how to install the client

from .arrow_consumer import ArrowConsumer, split_errors
from .arrow_producer import ArrowProducer
from .objects import DeserializingConsumer, UnreadMessageError

__all__ = [
    "ArrowConsumer",
    "ArrowProducer",
    "DeserializingConsumer",
    "RefusedMessageError",
    "UnreadMessageError",
    "split_errors",
]
