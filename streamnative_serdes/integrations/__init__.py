"""The SerDes with other clients.

- ``builders``: confluent-kafka's serializing clients make their SerDes with these.
- ``consuming``: batches of objects and of Arrow columns with confluent-kafka.
- ``kafka_python``: the SerDes in the interface of kafka-python.
- ``pulsar_client``: a schema for Pulsar's own Python client, and helpers for its messages.
- ``otel``: metrics of SerDes, and traces and metrics of confluent-kafka's serializing clients.
- ``kop``: the settings with which a Kafka client signs in to KoP.
"""
