"""As which schema messages come out: the policy for the reader's schema, for objects and for columns.

| reader.schema.policy | objects                                    | columns                                       |
|----------------------|--------------------------------------------|-----------------------------------------------|
| writer               | as they were written                       | an error: columns need one schema             |
| latest.seen          | the highest version that was read so far   | the same, counting those that the batch holds |
| latest               | the topic's latest version                 | the same                                      |
| fixed                | the schema that the deserializer was given | the same                                      |
| not given            | fixed if there is a schema, else writer    | fixed if there is a schema, else latest       |

``use.latest.version`` is ``latest``, unless there is a schema. The version in a message's header is the one that
counts; a message without one counts as the version that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from streamnative_serdes import _call_path
from streamnative_serdes._config import FIXED, LATEST, LATEST_SEEN, WRITER, schema_limits
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.known import Known
from streamnative_serdes.errors import ConfigError, SchemaNotFoundError

from .framings import is_sign
from .seen import Seen

_WITHHELD: Final = b""  # the header of what withholding() gives; no other Bound for reading has one


class Evolution:
    """The policy of one deserializer.

    Args:
        conf: checked options.
        binding: the schemas of topics.
        has_schema: the deserializer was given a schema, or a class.
        unversioned: messages of another registry are read too.

    Raises:
        ConfigError: the policy contradicts the schema, or needs a schema and none was given.
    """

    def __init__(self, conf: Mapping[str, Any], binding: Binding, *, has_schema: bool, unversioned: bool) -> None:
        given = conf["reader.schema.policy"]
        _refuse_contradictions(given, has_schema)
        self._latest: bool = given == LATEST or conf["use.latest.version"]
        self._writer: bool = given == WRITER
        self.lenient: bool = conf["reader.schema.incompatible"] == WRITER
        self._binding = binding
        limits = schema_limits(conf)
        self.seen = Seen(binding, limits, unversioned=unversioned) if given == LATEST_SEEN else None

    def of_columns(self) -> Seen | None:
        """What columns go by with ``latest.seen``; None with another policy.

        Raises:
            ConfigError: the policy is ``writer``.
        """
        if self._writer:
            raise ConfigError(
                "columns need one schema, so they cannot be read with reader.schema.policy=writer",
                hint="leave the option out, or set it to latest.seen, latest or fixed",
            )
        return self.seen

    def reader(self, topic: str, version: int | None) -> tuple[Known | None, float]:
        """The version of the topic as which messages come out if no schema was given, and for how many seconds.

        None: as they were written.

        Args:
            topic: whose messages they are.
            version: the one that they were written with; None if their schema is of another registry.

        Raises:
            SchemaRegistryError: the registry has to be asked, and refuses or cannot answer.
        """
        if self._latest:
            return self._binding.latest(topic)
        if self.seen is None:
            return None, math.inf
        highest = self.seen.highest(topic)
        older = highest is not None and (version is None or version < highest.version)
        return (highest if older else None), math.inf

    # A version counts as seen once a message of it has been read: until then nothing that reads it is kept

    def admitted(self, bound: _call_path.Bound) -> _call_path.Bound:
        """``bound``, or one that reads nothing and holds for no time: then the policy is asked to read the message."""
        if bound.missing or not self._awaits(bound):
            return bound
        return self.withholding(bound.topic, bound.key, bound.version)

    def withholding(self, topic: str, key: int, version: int) -> _call_path.Bound:
        """Return a Bound that reads nothing and expires at once, so that the policy is asked for each message."""
        return _call_path.Bound(topic, key, version, _WITHHELD, None, 0.0)

    def withheld(self, bound: _call_path.Bound) -> bool:
        """Whether ``bound`` is what :meth:`withholding` gives."""
        return bound.header is not None

    def note(self, serdes: _call_path.Deserializer, bound: _call_path.Bound) -> None:
        """A message was read by ``bound``, which may be the first of its version."""
        if self.seen is None or not self._awaits(bound):
            return
        with suppress(SchemaNotFoundError):  # the topic was recreated a moment ago
            self.seen.advance(serdes, bound.topic, self._binding.version(bound.topic, bound.version))

    def _awaits(self, bound: _call_path.Bound) -> bool:
        of_topic = bound.version >= 0 and not is_sign(bound.key)  # bare keys have a schema of their own
        return self.seen is not None and of_topic and self.seen.awaits(bound.topic, bound.version)


def _refuse_contradictions(policy: str | None, has_schema: bool) -> None:
    if has_schema and policy not in (None, FIXED):
        raise ConfigError(
            f"cannot use both a reader's schema and reader.schema.policy={policy}",
            hint="a schema given to the deserializer is reader.schema.policy=fixed",
        )
    if policy == FIXED and not has_schema:
        raise ConfigError(
            "reader.schema.policy=fixed requires a schema",
            hint="give the deserializer the reader's schema, or set value.type",
        )
