"""The columns that a topic's batches are read into: those of the reader's schema, as the policy says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._lifecycle import refuse_no_topic
from streamnative_serdes._schema import Record, Schema
from streamnative_serdes.errors import DecodeError

from .policy import ReadPolicy
from .seen import Seen

if TYPE_CHECKING:
    from streamnative_serdes._topics.known import Known
    from streamnative_serdes.arrow import Columns, Dialect

_MAX_COLUMNS = 64  # readers' schemas whose columns are kept
NOTHING: Final = Schema("", Record("Nothing", ()))  # of a batch before it is known what to read it as


def columns_of(
    serdes: _call_path.Deserializer, policy: ReadPolicy, topic: str, dialect: Dialect, large_types: bool
) -> Columns:
    """As :meth:`KafkaAvroDeserializer.columns`.

    With ``latest.seen``, the version counts as seen from then on: later batches have these columns or newer ones.
    """
    name_checked(policy, topic)
    seen = policy.evolution.of_columns()
    if policy.reading is not None:
        schema = policy.reading.target.schema
    elif seen is not None:
        schema = _seen(serdes, policy, seen, topic).schema
    else:
        schema = policy.binding.latest(topic)[0].schema
    return columns_for(policy, schema, dialect, large_types)


def name_checked(policy: ReadPolicy, topic: str) -> None:
    """Check a topic's name, and note that the topic is read in batches.

    Raises:
        DecodeError: it is no text.
        SerdesError: it is not a topic's name.
    """
    refuse_no_topic(topic, DecodeError)
    policy.binding.named(topic)
    policy.topics.add(topic)


def columns_for(policy: ReadPolicy, schema: Schema, dialect: Dialect, large_types: bool) -> Columns:
    """The columns of a schema.

    Raises:
        SchemaError: it has no Arrow type.
    """
    from streamnative_serdes.arrow import Columns  # pyarrow is not needed otherwise

    kept, key = policy.columns, (schema.text, dialect, large_types)
    columns = kept.get(key)
    if columns is None:
        if len(kept) >= _MAX_COLUMNS:
            kept.clear()
        columns = kept[key] = Columns(
            schema, config.codec_arguments(policy.conf), dialect, large_types, compares=policy.signs.compares
        )
    return columns


def _seen(serdes: _call_path.Deserializer, policy: ReadPolicy, seen: Seen, topic: str) -> Known:
    """The highest version that was seen; before the first one, the topic's latest, which is the first then."""
    highest = seen.highest(topic)
    if highest is None:
        highest, _ = policy.binding.latest(topic)
        seen.advance(serdes, topic, highest)
    return highest
