"""One service account for both Pulsar's registry and Kafka on Pulsar (KoP, StreamNative Cloud).

    python examples/sign_in_with_oauth.py SCHEMA_REGISTRY_URL KEY_FILE AUDIENCE [BOOTSTRAP_SERVERS]

The key file names the issuer. Without a broker, the message is passed directly. Requires authlib.
"""

import sys

from confluent_kafka import SerializingProducer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SerdesError
from streamnative_serdes.integrations import kop

TOPIC = "greetings"
GREETING = {"type": "record", "name": "Greeting", "fields": [{"name": "text", "type": "string"}]}


def main(url: str, key_file: str, audience: str, bootstrap_servers: str = "") -> None:
    conf = {
        "schema.registry.url": url,
        "bearer.auth.private.key": key_file,
        "bearer.auth.audience": audience,
        "retries.total.ms": 10_000,
    }
    serializer, deserializer = KafkaAvroSerializer(conf, GREETING), KafkaAvroDeserializer(conf)
    message = serializer.serialize(TOPIC, {"text": "hello"})
    print("registered, and read back:", deserializer.deserialize(TOPIC, message))
    print("for Kafka:", kop.sasl_settings(conf))
    if bootstrap_servers:
        settings = {"bootstrap.servers": bootstrap_servers, **kop.sasl_settings(conf)}
        producer = SerializingProducer({**settings, "value.serializer": serializer})
        producer.produce(TOPIC, value={"text": "hello"})
        print("not delivered:", producer.flush(60))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except SerdesError as error:
        sys.exit(str(error))
