"""Offsets of a stream as Spark's checkpoint stores them.

::

    {"format": 1, "source": "streamnative-kafka", "topics": {"orders": {"0": 23, "1": 0}}}

A query that ended in its first batch asks for its initial offsets again, which may have changed: messages would be lost
or read twice. So the end of the first batch has the batch's initial offsets, as ``"start"``, and a restarted query
reads the batch from there. The same holds for the end of a batch that continues with partitions which the batch before
had left out.

The form of Spark's own Kafka source, ``{"orders": {"0": 23}}``, is read too. It does not say where the first batch
began: Spark's source stores that in a file of its own, which Python sources do not see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.user_options.names import FORMAT

from .bounds import Place, is_whole

VERSION: Final = 1
_START: Final = "start"
_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)
_HINT: Final = "start the query with a new checkpointLocation, and say where with startingOffsets"


def stored(offsets: Mapping[Place, int]) -> dict[str, Any]:
    """``offsets`` as Spark stores them; equal offsets give equal texts."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return {"format": VERSION, "source": FORMAT, "topics": topics}


def initial(offsets: Mapping[Place, int]) -> dict[str, Any]:
    """The initial ``offsets`` of a query; :func:`after` makes the end of the first batch from them."""
    made = stored(offsets)
    return made | {_START: made["topics"]}


def after(start: Any, offsets: Mapping[Place, int], left: Mapping[Place, int] = MappingProxyType({})) -> dict[str, Any]:
    """The end of a batch that begins at ``start``, which Spark passed; ``start`` itself if there are no new messages.

    ``left`` has the offsets of partitions that an earlier batch left out, which may be missing from ``start``.
    """
    begins = restored(start)
    if begins == offsets:
        return dict(start)
    if left.keys() - begins.keys():
        return stored(offsets) | {_START: stored({**left, **begins})["topics"]}
    return stored(offsets) | ({_START: start[_START]} if is_initial(start) else {})


def begin_of(start: Any, end: Any) -> dict[Place, int]:
    """The offsets at the beginning of a batch: ``start``, or the one that ``end`` contains; see :func:`restored`.

    Raises:
        ConfigError: as :func:`restored`, or Spark's own source has planned the batch as its first one, from a start
            that only this source knows.
    """
    if is_initial(start) and not _is_own(end):
        raise ConfigError(
            "the checkpoint is of Spark's own source, whose first batch is not finished: its start is not known",
            hint="let that source finish the batch first, or start the query with a new checkpointLocation",
        )
    if _is_own(end) and _START in end and start != end:
        return restored({**end, "topics": end[_START]})
    return restored(start)


def restored(found: object) -> dict[Place, int]:
    """The offsets in a checkpoint. Raises ConfigError: the offsets have a newer format, or belong to another source."""
    if _is_own(found):
        return _own(found)
    if isinstance(found, dict) and found and all(_is_topic(each) for each in found.values()):
        return _by_place(found)
    raise ConfigError(f"the checkpoint is of another source: its offsets are {found!r:.200}", hint=_HINT)


def is_initial(found: object) -> bool:
    """Whether these are the initial offsets of a query, from :func:`initial`."""
    return _is_own(found) and _START in found and found[_START] == found.get("topics")


def _is_own(found: object) -> TypeGuard[dict[str, Any]]:
    """Whether ``found`` has our form. In ``{"format": {"0": 1}, "source": {"0": 1}}``, Spark has two topics."""
    return isinstance(found, dict) and isinstance(found.get("source"), str) and "format" in found


def _own(found: dict[str, Any]) -> dict[Place, int]:
    if found["source"] != FORMAT:
        raise ConfigError(f"the checkpoint is of another source: {found['source']!r:.80}", hint=_HINT)
    if isinstance(found["format"], int) and found["format"] > VERSION:
        raise ConfigError(
            f"the checkpoint has offsets of format {found['format']}, and this version reads formats up to {VERSION}",
            hint="run the query with the version of streamnative_serdes that wrote it, or a newer one",
        )
    topics = found.get("topics")
    if found["format"] != VERSION or not isinstance(topics, dict) or not all(map(_is_topic, topics.values())):
        raise ConfigError(f"the offsets in the checkpoint are damaged: {found!r:.200}", hint=_HINT)
    return _by_place(topics)


def _by_place(topics: Mapping[str, Mapping[str, int]]) -> dict[Place, int]:
    return {(topic, int(number)): offset for topic, found in topics.items() for number, offset in found.items()}


def _is_topic(found: object) -> bool:
    return isinstance(found, dict) and all(_is_partition(*each) for each in found.items())


def _is_partition(name: object, offset: object) -> bool:
    return isinstance(name, str) and _NUMBER.fullmatch(name) is not None and is_whole(offset)
