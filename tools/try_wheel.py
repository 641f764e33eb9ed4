"""Try the installed wheel where confluent-kafka is missing: SerDes, columns, entries, and what needs Kafka's client.

Exits with status 1 if something fails, or if confluent-kafka is there. Columns are left out where pyarrow is
missing, and entries where google-crc32c is.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import sys

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.converters import Message, read_segment, write_record_batch
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

SCHEMA = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}
ADA = {"name": "Ada", "age": 36}


def main() -> None:
    if importlib.util.find_spec("confluent_kafka") is not None:
        raise SystemExit("confluent-kafka is installed: try the wheel where it is missing")
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer, deserializer = KafkaAvroSerializer(conf, SCHEMA), KafkaAvroDeserializer(conf)
        ctx = SerializationContext("users", MessageField.VALUE)
        data = serializer(ADA, ctx)
        assert deserializer(data, ctx) == ADA
        if importlib.util.find_spec("pyarrow") is not None:
            assert deserializer.deserialize_batch("users", [data] * 3).to_pylist() == [ADA] * 3
    if importlib.util.find_spec("google_crc32c") is not None:
        entry = write_record_batch([Message(b"Ada", key=b"a", offset=7)])
        (message,) = read_segment(io.BytesIO(entry))
        assert (message.value, message.key, message.offset) == (b"Ada", b"a", 7)
    try:
        importlib.import_module("streamnative_serdes.migration")
    except ModuleNotFoundError as error:
        print(f"The SerDes work on Python {sys.version.split()[0]}; migration: {error}")
    else:
        raise SystemExit("migration was imported without Kafka's client")


if __name__ == "__main__":
    main()
