"""Kafka clients: how they are created and asked, and how they consume, produce, commit and describe topics."""

try:
    import confluent_kafka  # noqa: F401
except ModuleNotFoundError as error:
    missing = ModuleNotFoundError(
        "Kafka's client is not installed: pip install confluent-kafka", name="confluent-kafka"
    )
    missing.add_note("see docs/troubleshooting.md#importerror-without-confluent-kafka")
    raise missing from error

from .clients import (
    NO_COORDINATOR,
    PATIENCE,
    BrokerRefusedError,
    BrokerUnavailableError,
    ClientErrors,
    ask,
    client,
    hint_for,
    is_waiting,
    kafka_errors,
    patient,
    require_options,
    retry,
    within,
)
from .consuming import (
    ASSIGNED,
    POLL_SECONDS,
    OffsetsGoneError,
    RangeReader,
    StalledError,
    TopicConsumer,
    bounds,
    committed_messages,
    consumed,
    has_messages,
    is_full_name,
    listed,
    place_of,
)
from .producing import RefusedMessageError, Sender, delivery_seconds
from .topics import EARLIEST, LATEST, Cluster, Range, Topic, bounds_of, metadata, offsets, refused
from .transactions import idempotence, is_fenced, is_unsupported, no_producer_ids, require_producer_ids, until_done

__all__ = [
    "ASSIGNED",
    "EARLIEST",
    "LATEST",
    "NO_COORDINATOR",
    "PATIENCE",
    "POLL_SECONDS",
    "BrokerRefusedError",
    "BrokerUnavailableError",
    "ClientErrors",
    "Cluster",
    "OffsetsGoneError",
    "Range",
    "RangeReader",
    "RefusedMessageError",
    "Sender",
    "StalledError",
    "Topic",
    "TopicConsumer",
    "ask",
    "bounds",
    "bounds_of",
    "client",
    "committed_messages",
    "consumed",
    "delivery_seconds",
    "has_messages",
    "hint_for",
    "idempotence",
    "is_fenced",
    "is_full_name",
    "is_unsupported",
    "is_waiting",
    "kafka_errors",
    "listed",
    "metadata",
    "no_producer_ids",
    "offsets",
    "patient",
    "place_of",
    "refused",
    "require_options",
    "require_producer_ids",
    "retry",
    "until_done",
    "within",
]
