"""Messages of both sides without servers, and what comparing them finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME
from consumed import Message

from streamnative_serdes import header
from streamnative_serdes._rewriting import BadMessageError, Name
from streamnative_serdes.errors import SchemaNotFoundError
from streamnative_serdes.migration.copying.messages import Rules as CopyRules
from streamnative_serdes.migration.schemas.canonical import SideSchemas
from streamnative_serdes.migration.verifying.comparing import Comparison, Counts, Rules
from streamnative_serdes.migration.verifying.contents import Difference, Differences, SourceContents, TargetContents
from streamnative_serdes.migration.verifying.verification import _described

Schemas = Mapping[Name, Any]


def sent(value: bytes | None, **more: Any) -> Message:
    """A message of either side."""
    return Message(value, **{"key": b"k", "timestamp": (TIMESTAMP_CREATE_TIME, 1_700_000_000_000), **more})


def framed(datum: bytes, id: int = 1, **more: Any) -> Message:
    """A message of the source."""
    return sent(header.pack_id(id) + datum, **more)


def copied(datum: bytes, version: int = 0, **more: Any) -> Message:
    """A message of the target."""
    return sent(header.pack(version) + datum, **more)


def known(schemas: Schemas) -> SideSchemas:
    """Schemas by name, as a registry has them; a tuple is type and text."""

    def fetch(name: Name) -> tuple[str, str]:
        if name not in schemas:
            raise SchemaNotFoundError("not found", status=404)
        found = schemas[name]
        return found if isinstance(found, tuple) else ("AVRO", json.dumps(found))

    return SideSchemas(fetch)


@dataclass
class Found:
    """What comparing found."""

    counts: Counts
    differences: Sequence[Difference]
    bad: list[int] = field(default_factory=list)

    @property
    def parts(self) -> list[tuple[str, int | None, int | None]]:
        """Part and both offsets of each difference."""
        return [(one.part, one.source_offset, one.target_offset) for one in self.differences]

    @property
    def same(self) -> bool:
        sums = self.counts.source_sum.digest() == self.counts.target_sum.digest()
        none = not self.differences and not self.counts.stopped
        assert sums == none
        return none


def compared(
    source: Iterable[Message],
    target: Iterable[Message],
    schemas: Schemas,
    versions: Schemas,
    rules: CopyRules = CopyRules(),  # noqa: B008
    comparing: Rules = Rules(),  # noqa: B008
    most: int = 10,
) -> Found:
    """Compare messages, whose offsets are their places in the lists; forward."""
    originals = SourceContents("forward", frozenset({1}), known(schemas), rules)
    copies = TargetContents("forward", known(versions))

    found = Found(Counts(0), [])
    differences = Differences(most, (partial(_described, originals), partial(_described, copies)))

    def items() -> Iterator[Any]:
        for message in placed(source):
            try:
                yield originals.of(message)
            except BadMessageError:
                found.bad.append(message.offset())

    Comparison(items(), map(copies.of, placed(target)), found.counts, differences, comparing).run()
    found.differences = differences.first
    return found


def placed(messages: Iterable[Message]) -> Iterator[Any]:
    for place, message in enumerate(messages):
        parts = {name: getattr(message, name)() for name in ("value", "key", "headers", "timestamp")}
        yield Message(**parts, offset=place)
