"""The compiled call path: the classes under both faces, and the objects that policies pass to them."""

from typing import Any, NamedTuple

from ._serdes import (
    BY_HEADER,
    LATEST,
    MISS,
    PREFIXED,
    UNFRAMED,
    Bound,
    Deserializer,
    Half,
    Pair,
    Serializer,
    at_hand,
    bound_of,
    count_batch,
    count_error,
    count_fallback,
    count_instead,
    count_written,
    counts_of,
    deserialize_bound,
    events_of,
    keep,
    policy_of,
    policy_or_none,
    read_by,
    serialize_bound,
    set_fields,
    set_up,
    twin_of,
    without_header,
)
from .serialization import MessageField

set_fields(MessageField.KEY, MessageField.VALUE)


class ConstructorArguments(NamedTuple):
    """The arguments of a constructor, from which each configure() makes a policy."""

    schema: Any = None  # text, a TypedSchema, a KeyValueSchema, a class, or Registered
    convert: Any = None  # to_dict or from_dict
    is_key: bool = False
