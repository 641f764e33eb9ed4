"""Option names of the data source: those of Spark's own Kafka source, our own, and why some of Spark's are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Use: TypeAlias = Literal["read", "write"]
ALIKE: Final = 0.75  # below it, the nearest name is probably not what was meant

FORMAT: Final = "streamnative-kafka"

STRATEGIES: Final = ("assign", "subscribe", "subscribePattern")
STARTS: Final = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
ENDS: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
TRIGGER: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")

# Options that have a meaning when a topic is read, as users write them; Spark ignores their case.
READING: Final = (
    *STRATEGIES,
    *STARTS,
    "startingOffsetsByTimestampStrategy",
    *ENDS,
    "minPartitions",
    "maxRecordsPerPartition",
    *TRIGGER,
    "failOnDataLoss",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "decode",
    "columns",
    "keep",
    "mode",
    "errorColumn",
    "schemaEvolution",
    "reader.schema",
    "reader.schemas",
)
# Options that have a meaning when a topic is written.
WRITING: Final = (
    "topic",
    "encode",
    "schema",
    "keep",
    "dedupHeaders",
    "delivery",
)
# Options that Spark itself adds, such as the checkpoint of a stream; they have no effect here.
SPARKS: Final = ("path", "checkpointLocation", "queryName", "provider")

# Options of the Kafka client that Spark's own Kafka source refuses too, and why.
REFUSED: Final[Mapping[str, str]] = {
    "auto.offset.reset": "startingOffsets says where to start, and Spark stores how far a query has read",
    "enable.auto.commit": "offsets are stored in Spark's checkpoint and never committed to Kafka",
    "enable.auto.offset.store": "offsets are stored in Spark's checkpoint and never committed to Kafka",
    "key.deserializer": "keys are read as bytes; convert them with DataFrame operations",
    "value.deserializer": "values are read as bytes, or into columns with decode=true",
    "key.serializer": "keys are written as bytes or strings; convert them with DataFrame operations",
    "value.serializer": "values are written as bytes or strings, or from columns",
    "interceptor.classes": "interceptors are Java classes, and could change messages",
    "enable.partition.eof": "the source sets it itself",
    "partition.assignment.strategy": "the source assigns partitions to tasks itself",
    "group.instance.id": "the source assigns partitions to tasks itself",
    "partitioner.class": "partitioners are Java classes; use the column partition, or kafka.partitioner",
    "transactional.id": "use delivery=transactional, which sets one for each task",
}
