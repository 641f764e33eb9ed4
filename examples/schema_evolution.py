"""Schema evolution: consumers with a reader's schema read every version of a topic.

    python examples/schema_evolution.py [SCHEMA_REGISTRY_URL]

Without an address, the program starts an embedded registry. Messages are passed directly, without Kafka; with a Kafka
topic in between, the SerDes are used in the same way.
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
# New fields need defaults: with Pulsar's default strategy, FULL, old and new readers must read both versions.
SECOND = payment(
    ID,
    CENTS,
    {"name": "state", "type": STATE, "default": "OPEN"},
    {"name": "note", "type": ["null", "string"], "default": None},
)
# Not a version of the topic, but the schema as which one consumer reads all versions: "cents" is renamed to "amount".
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
            old.serialize(TOPIC, {"id": "c", "cents": 1}),  # from a producer that was not updated
        ]
        for name, schema in (("as written", None), ("as SECOND", SECOND), ("as VIEW", VIEW)):
            deserializer = KafkaAvroDeserializer(conf, schema)
            print(f"{name}:")
            for message in messages:
                print("   ", json.dumps(deserializer.deserialize(TOPIC, message)))
        # Not a schema but a policy: each message as the highest version that was read so far.
        deserializer = KafkaAvroDeserializer(conf | {"reader.schema.policy": "latest.seen"})
        print("as the latest that was seen:")
        for message in messages:
            print("   ", json.dumps(deserializer.deserialize(TOPIC, message)))
        try:  # the registry refuses an incompatible schema, according to the strategy of the namespace ...
            KafkaAvroSerializer(conf, REFUSED).serialize(TOPIC, {"id": "d", "cents": "12.50"})
        except IncompatibleSchemaError as error:
            print("refused by the registry:", str(error).splitlines()[0][:60])
        try:  # ... and the deserializer raises an error when it first sees a version that it cannot read
            KafkaAvroDeserializer(conf, REFUSED).deserialize(TOPIC, messages[0])
        except SchemaError as error:
            print("refused by the reader:", error)


if __name__ == "__main__":
    main(sys.argv[1:])
