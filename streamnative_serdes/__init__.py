"""Avro SerDes for Kafka clients that talk to Apache Pulsar, with schemas in Pulsar's own registry (SNIP 42)."""
