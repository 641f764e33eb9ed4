"""The compiled call path: the classes under both faces, and what policies call them with."""

from ._serdes import (
    LATEST,
    MISS,
    Bound,
    Deserializer,
    Serializer,
    bound_of,
    count_fallback,
    count_read,
    count_written,
    deserialize_bound,
    look_up,
    policy_of,
    read_by,
    serialize_bound,
    set_up,
    without_header,
)

__all__ = [
    "LATEST",
    "MISS",
    "Bound",
    "Deserializer",
    "Serializer",
    "bound_of",
    "count_fallback",
    "count_read",
    "count_written",
    "deserialize_bound",
    "look_up",
    "policy_of",
    "read_by",
    "serialize_bound",
    "set_up",
    "without_header",
]
