"""All contract cases, by the name of their group."""

from __future__ import annotations

from . import changes, endpoints, equality, key_values, protobuf_native, refusals, topics, types
from .script import Case

GROUPS: dict[str, list[Case]] = {
    "endpoints": endpoints.cases(),
    "equality": equality.cases(),
    "refusals": refusals.cases(),
    "types": types.cases(),
    "key_values": key_values.cases(),
    "protobuf_native": protobuf_native.cases(),
    "topics": topics.cases(),
    "strategies": changes.cases(),
}
