"""One message of the topic "orders" in each of the ways there are to read it: objects, batches, any type."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from streamnative_serdes import KafkaAutoConsumeDeserializer, KafkaAvroDeserializer
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.serialization import MessageField, SerializationContext


class Reader:
    """Reads one message in each of the ways there are; all have to give the same."""

    def __init__(self, conf: dict[str, Any], schema: Any = None) -> None:
        self.rows, self.batches = KafkaAvroDeserializer(conf, schema), KafkaAvroDeserializer(conf, schema)
        self.calls, self.any = KafkaAvroDeserializer(conf, schema), KafkaAutoConsumeDeserializer(conf)
        self._any_too = schema is None

    def read(self, message: bytes, headers: Any = None) -> Any:
        context = SerializationContext("orders", MessageField.VALUE, headers)
        ways = [
            lambda: self.rows.deserialize("orders", message, headers=headers),
            lambda: self.calls(message, context),
            lambda: self.rows.deserialize("orders", bytearray(message), headers=headers),
            lambda: self.batches.deserialize_batch("orders", [message], headers=[headers]).to_pylist()[0],
            lambda: self.batches.deserialize_batch(
                "orders", pa.array([None, message], pa.large_binary()), headers=[None, headers]
            ).to_pylist()[1],
        ]
        if self._any_too:
            ways.append(lambda: self.any.deserialize("orders", message, headers=headers).native_object)
        outcomes = [self._outcome(way) for way in ways]
        texts = [re.sub(r", row [01](?=[,:])", "", str(outcome), count=1) for outcome in outcomes]
        if self._any_too:  # it makes no guesses about data of any type
            texts[-1] = texts[0] if texts[-1] == texts[0].partition(" (hint: ")[0] else texts[-1]
        assert len(set(texts)) == 1, texts
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
        return outcomes[0]

    @staticmethod
    def _outcome(read: Any) -> Any:
        try:
            return read()
        except SerdesError as error:
            return error
