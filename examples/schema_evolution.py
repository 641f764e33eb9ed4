"""A topic whose schema moves on: consumers with a schema of their own read every version of it.

    python examples/schema_evolution.py [SCHEMA_REGISTRY_URL]

Without an address it starts a registry of its own. Messages go from hand to hand here; a Kafka topic changes nothing.
"""

import json
import sys
from contextlib import ExitStack
from typing import Any

from streamnative_serdes import IncompatibleSchemaError, KafkaAvroDeserializer, KafkaAvroSerializer, SchemaError
from streamnative_serdes.testing import LocalRegistry

TOPIC = "payments"


def payment(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Payment", "fields": list(fields)}


ID, CENTS = {"name": "id", "type": "string"}, {"name": "cents", "type": "long"}
STATE = {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID", "LOST"], "default": "OPEN"}

FIRST = payment(ID, CENTS)
# New fields have defaults: Pulsar's usual strategy, FULL, wants old and new readers to go on reading.
SECOND = payment(
    ID,
    CENTS,
    {"name": "state", "type": STATE, "default": "OPEN"},
    {"name": "note", "type": ["null", "string"], "default": None},
)
# Not a version of the topic: what one consumer wants to see of any of them, under a name of its own.
VIEW = payment(
    {"name": "amount", "type": "double", "aliases": ["cents"]}, {"name": "currency", "type": "string", "default": "EUR"}
)
REFUSED = payment(ID, {"name": "cents", "type": "string"})


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        conf = {"schema.registry.url": arguments[0] if arguments else stack.enter_context(LocalRegistry()).url}
        old, new = KafkaAvroSerializer(conf, FIRST), KafkaAvroSerializer(conf, SECOND)
        messages = [
            old.serialize(TOPIC, {"id": "a", "cents": 1250}),
            new.serialize(TOPIC, {"id": "b", "cents": 3_000_000_000, "state": "PAID", "note": "thanks"}),
            old.serialize(TOPIC, {"id": "c", "cents": 1}),  # a producer that was not updated
        ]
        for name, schema in (("as written", None), ("as SECOND", SECOND), ("as VIEW", VIEW)):
            deserializer = KafkaAvroDeserializer(conf, schema)
            print(f"{name}:")
            for message in messages:
                print("   ", json.dumps(deserializer.deserialize(TOPIC, message)))
        try:  # the registry guards the topic, by the strategy of its namespace ...
            KafkaAvroSerializer(conf, REFUSED).serialize(TOPIC, {"id": "d", "cents": "12.50"})
        except IncompatibleSchemaError as error:
            print("refused by the registry:", str(error).splitlines()[0][:60])
        try:  # ... and the deserializer says what it cannot read, when it first meets such a version
            KafkaAvroDeserializer(conf, REFUSED).deserialize(TOPIC, messages[0])
        except SchemaError as error:
            print("refused by the reader:", error)


if __name__ == "__main__":
    main(sys.argv[1:])
