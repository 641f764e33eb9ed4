"""Apache Spark integration: Avro columns, sinks and sources that run the SerDes inside PySpark executors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamnative_serdes._kafka import BrokerUnavailableError

    from .datasource.offsets.ranges import OffsetRange
    from .datasource.reading.task import OffsetOutOfRangeError
    from .datasource.writing.outbox import DeliveryError
    from .datasource.writing.transactions import FencedError, OtherRowsError, StaleBatchError, TransactionError
    from .frames.frames import decode_df, encode_df, split_errors
    from .frames.functions import from_avro, to_avro
    from .frames.reading import SchemaEvolvedError
    from .frames.seen import SeenSchemas
    from .partitions.sink import KafkaAvroSink
    from .partitions.source import KafkaAvroSource, Received
    from .types.avro import to_avro_schema, to_spark_type

__all__ = [
    "BrokerUnavailableError",
    "DeliveryError",
    "FencedError",
    "KafkaAvroSink",
    "KafkaAvroSource",
    "OffsetOutOfRangeError",
    "OffsetRange",
    "OtherRowsError",
    "Received",
    "SchemaEvolvedError",
    "SeenSchemas",
    "StaleBatchError",
    "TransactionError",
    "decode_df",
    "encode_df",
    "from_avro",
    "split_errors",
    "to_avro",
    "to_avro_schema",
    "to_spark_type",
]

_NAMES = {
    "streamnative_serdes._kafka": ("BrokerUnavailableError",),
    ".datasource.offsets.ranges": ("OffsetRange",),
    ".datasource.reading.task": ("OffsetOutOfRangeError",),
    ".datasource.writing.outbox": ("DeliveryError",),
    ".datasource.writing.transactions": ("FencedError", "OtherRowsError", "StaleBatchError", "TransactionError"),
    ".frames.frames": ("decode_df", "encode_df", "split_errors"),
    ".frames.functions": ("from_avro", "to_avro"),
    ".frames.reading": ("SchemaEvolvedError",),
    ".frames.seen": ("SeenSchemas",),
    ".partitions.sink": ("KafkaAvroSink",),
    ".partitions.source": ("KafkaAvroSource", "Received"),
    ".types.avro": ("to_avro_schema", "to_spark_type"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Imported on first use: spark.session.java works without PySpark, and importing PySpark takes a second.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
