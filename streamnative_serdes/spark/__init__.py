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

_HOMES = {
    "BrokerUnavailableError": "streamnative_serdes._kafka",
    "DeliveryError": "datasource.writing.outbox",
    "FencedError": "datasource.writing.transactions",
    "KafkaAvroSink": "partitions.sink",
    "KafkaAvroSource": "partitions.source",
    "OffsetOutOfRangeError": "datasource.reading.task",
    "OffsetRange": "datasource.offsets.ranges",
    "OtherRowsError": "datasource.writing.transactions",
    "Received": "partitions.source",
    "SchemaEvolvedError": "frames.reading",
    "SeenSchemas": "frames.seen",
    "StaleBatchError": "datasource.writing.transactions",
    "TransactionError": "datasource.writing.transactions",
    "decode_df": "frames.frames",
    "encode_df": "frames.frames",
    "from_avro": "frames.functions",
    "split_errors": "frames.frames",
    "to_avro": "frames.functions",
    "to_avro_schema": "types.avro",
    "to_spark_type": "types.avro",
}
_PACKAGE = "streamnative_serdes."


def __getattr__(name: str) -> Any:
    # Imported on first use: spark.session.java works without PySpark, and importing PySpark takes a second.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    return getattr(import_module(home if home.startswith(_PACKAGE) else f".{home}", __name__), name)
