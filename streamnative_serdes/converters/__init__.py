"""Message converters (PIP 94): entries of Kafka's format become Pulsar's messages, and Pulsar's messages Kafka's."""

from streamnative_serdes._external_ids import schema_id_headers

from .admin import AdminEntryReader
from .converter import ConverterChain, MessageConverter, validate
from .framings import ConfluentFramingConverter, HeaderlessConverter, VersionFramingConverter
from .kafka_entries import KafkaEntryReader
from .pulsar_entries import PulsarEntryReader
from .samples import BytesConverter, EchoConverter, RejectAllConverter
from .segments import SegmentOptions, read_segment, read_segment_batches
from .stored import DumpWriter, EntryReader, StoredEntry, read_dump
from .to_kafka import PulsarToKafkaConverter, write_record_batch
from .to_pulsar import KafkaToPulsarConverter
from .transactions import Unknown
from .wire import Message, framed

__all__ = [
    "AdminEntryReader",
    "BytesConverter",
    "ConfluentFramingConverter",
    "ConverterChain",
    "DumpWriter",
    "EchoConverter",
    "EntryReader",
    "HeaderlessConverter",
    "KafkaEntryReader",
    "KafkaToPulsarConverter",
    "Message",
    "MessageConverter",
    "PulsarEntryReader",
    "PulsarToKafkaConverter",
    "RejectAllConverter",
    "SegmentOptions",
    "StoredEntry",
    "Unknown",
    "VersionFramingConverter",
    "framed",
    "read_dump",
    "read_segment",
    "read_segment_batches",
    "schema_id_headers",
    "validate",
    "write_record_batch",
]
