"""Apache Spark integration: Avro columns, sinks and sources that run the SerDes inside PySpark executors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamnative_serdes._kafka import BrokerUnavailableError

    from .datasource.reading.task import OffsetOutOfRangeError
    from .datasource.writing.transactions import FencedError, OtherRowsError, StaleBatchError, TransactionError
    from .decoding import SchemaEvolvedError
    from .frames import decode_df, encode_df, split_errors
    from .functions import from_avro, to_avro
    from .outbox import DeliveryError
    from .seen import SeenSchemas
    from .sink import KafkaAvroSink
    from .source import KafkaAvroSource, OffsetRange, Received
    from .types import to_avro_schema, to_spark_type

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
    "DeliveryError": "outbox",
    "FencedError": "datasource.writing.transactions",
    "KafkaAvroSink": "sink",
    "KafkaAvroSource": "source",
    "OffsetOutOfRangeError": "datasource.reading.task",
    "OffsetRange": "source",
    "OtherRowsError": "datasource.writing.transactions",
    "Received": "source",
    "SchemaEvolvedError": "decoding",
    "SeenSchemas": "seen",
    "StaleBatchError": "datasource.writing.transactions",
    "TransactionError": "datasource.writing.transactions",
    "decode_df": "frames",
    "encode_df": "frames",
    "from_avro": "functions",
    "split_errors": "frames",
    "to_avro": "functions",
    "to_avro_schema": "types",
    "to_spark_type": "types",
}
_PACKAGE = "streamnative_serdes."


def __getattr__(name: str) -> Any:
    # Imported on first use: spark.java works without PySpark, and importing PySpark takes a second.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    return getattr(import_module(home if home.startswith(_PACKAGE) else f".{home}", __name__), name)
