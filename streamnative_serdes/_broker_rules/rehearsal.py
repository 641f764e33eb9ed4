"""Rehearsal: the answers of a topic to registering schemas in order, without requests to the topic.

The answers are those of :class:`Store`, so the strategies are checked as the broker checks them. The right to read is
enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from streamnative_serdes.schema_registry import Compatibility, SchemaInfo

from .java_avro import avro, check_defaults
from .refusals import BrokerError, IncompatibleError, InvalidDataError
from .schema_checks import validate
from .schema_data import SchemaData, from_post
from .store import Store

_TOPIC: Final = "public/default/here"
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_REFUSALS: Final = (IncompatibleError, InvalidDataError, BrokerError)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The outcome of one registration.

    Args:
        number: the version; for a new schema, the next version, which former deletions make higher.
        new: whether the topic does not have the schema yet.
        refusal: why the strategy refuses the schema; None if it is accepted.
    """

    number: int
    new: bool
    refusal: str | None = None


class Rehearsal:
    """A copy of a topic in this process.

    Args:
        strategy: the topic's compatibility strategy.
        there: the topic's schemas, oldest first.
    """

    def __init__(self, strategy: str, there: Sequence[SchemaInfo] = ()) -> None:
        self._store, self._strategy = Store(), strategy
        self._numbers: list[int] = []  # the topic's number of each version in the store
        self._fault: str | None = None  # of a schema that is there: the broker accepted it, and fails at comparisons
        for info in there:
            try:
                self._add(from_post(info.type, info.text, info.properties), info.version)
            except _REFUSALS as error:
                self._fault = str(error)

    def check(self, text: str, kind: str = "AVRO", properties: Mapping[str, str] = _NONE) -> Compatibility:
        """Whether the topic would accept this schema; it is not added."""
        try:
            self._check(from_post(kind, text, properties))
        except _REFUSALS as error:
            return Compatibility(False, self._strategy, str(error))
        return Compatibility(self._fault is None, self._strategy, self._fault)

    def register(self, text: str, kind: str = "AVRO") -> Rehearsed:
        """Add a schema. If the strategy refuses it, it is added all the same, so that those after it can be checked."""
        before, following = len(self._numbers), max(self._numbers, default=-1) + 1
        verdict = self.check(text, kind)
        try:
            number = self._add(from_post(kind, text, {}), following)
        except _REFUSALS as error:  # so would any strategy
            return Rehearsed(following, True, str(error))
        if len(self._numbers) == before:
            return Rehearsed(number, False)
        return Rehearsed(number, True, None if verdict.compatible else verdict.reason)

    def _check(self, data: SchemaData) -> None:
        self._store.set_strategy(_TOPIC, self._strategy)
        self._store.check(_TOPIC, data)

    def _add(self, data: SchemaData, number: int) -> int:
        self._store.set_strategy(_TOPIC, "ALWAYS_COMPATIBLE")
        position = self._store.register(_TOPIC, data)
        if position == len(self._numbers):
            self._numbers.append(number)
        return self._numbers[position]


def refusal_of(text: str, kind: str = "AVRO") -> str | None:
    """Why the broker would refuse this schema with any strategy; None if the broker would accept it."""
    try:
        validate(from_post(kind, text, {}))
    except _REFUSALS as error:
        return str(error)
    return None


def comparison_fault(text: str) -> str | None:
    """Why the broker fails at each comparison of this Avro schema with another schema; None if it does not fail.

    The broker still accepts such a schema as a topic's first. The cause is a default that does not fit its field.
    """
    try:
        check_defaults(avro(from_post("AVRO", text, {})))
    except _REFUSALS as error:
        return str(error)
    return None
