"""The schemas behind the ids and GUIDs of a registry beside Pulsar's, as far as this process knows them.

An id never changes its meaning, so a known id is kept as long as there is room. An unknown id may be registered at any
moment, so it is remembered for ``cache.missing.ttl.sec`` only. Messages without a header that begin with a zero byte
name any number of ids that do not exist; these are kept in a map of their own, where they evict no known id.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from streamnative_serdes._config import schema_limits
from streamnative_serdes._config.option import PREFIX
from streamnative_serdes._schema import Schema
from streamnative_serdes._single_flight import Flights
from streamnative_serdes.errors import (
    IncompatibleSchemaError,
    InvalidSchemaError,
    MissingEndpointError,
    NestedTooDeeplyError,
    SchemaError,
    SchemaNotFoundError,
    SerdesError,
)
from streamnative_serdes.schema_registry import ConfluentRegistryClient, ConfluentSchema, SchemaInfo
from streamnative_serdes.schema_registry.foreign import FOREIGN_CLIENTS

from .cache import LruMap, Shared
from .schema_version import Compiled, SchemaVersion
from .topic_state import Refusal

logger = logging.getLogger(__name__)

_GUIDS: Final = "GUIDs"  # a registry without their endpoint refuses all of them
NO_ID: Final = -1  # the version of a SchemaVersion that was found by its GUID
_GUID_SIZE: Final = 16  # bytes
_MOST_MISSING: Final = 10_000  # unknown ids and GUIDs that are remembered; each takes about 200 bytes


# An id (int) or GUID (bytes) of Confluent's API; for other registries, what their client's ``by_key`` takes.
Key: TypeAlias = int | bytes | tuple[Any, ...]


class LearntIds(NamedTuple):
    """The known schemas of one process, for a pickle: texts by id or GUID, and the ids of (subject, text)."""

    schemas: tuple[tuple[Key, str], ...]
    written: tuple[tuple[str, str, int], ...]


class _Schema(NamedTuple):
    """A known schema, by its id or GUID."""

    key: Key
    known: SchemaVersion


class _Written(NamedTuple):
    """A registered schema."""

    subject: str
    text: str
    id: int


class ConfluentSchemas:
    """The schemas of one registry beside Pulsar's; threads share it, and it survives a fork.

    ``client`` asks the registry: it has ``answered`` and ``met`` for a pickle, ``calls``, ``close`` and ``after_fork``.
    For registries with Confluent's API it is a ConfluentRegistryClient, for others it only finds schemas by key.
    ``conf`` is an answer of ``config.other_registries``.
    """

    def __init__(self, conf: Mapping[str, Any]) -> None:
        other = FOREIGN_CLIENTS.get(conf.get(PREFIX, ""))
        self._confluent = other is None  # bytes at the root of a schema have no length there
        self.client: Any = ConfluentRegistryClient(conf) if other is None else other(conf)
        self._limits = schema_limits(conf)
        self._missing_ttl: float = conf["cache.missing.ttl.sec"]
        capacity: int = conf["cache.capacity"]
        self._known: LruMap[_Schema] = LruMap(capacity)  # by id or GUID
        self._written: LruMap[_Written] = LruMap(capacity)  # by subject and text
        self._missing: LruMap[float] = LruMap(_MOST_MISSING)  # id or GUID -> until when it counts as unknown
        self._refused: LruMap[Refusal] = LruMap(capacity)  # by question
        self._flights = Flights()

    @classmethod
    def shared(cls, conf: Mapping[str, Any]) -> ConfluentSchemas:
        """The schemas of this process for the registry of these options (see the class)."""
        return registries.of(conf, lambda: cls(conf))

    @classmethod
    def forget(cls) -> None:
        """Forget all schemas that this process knows; existing users keep theirs."""
        registries.forget()

    # Reading

    def by_key(self, key: Key) -> SchemaVersion:
        """The schema of an id, a GUID, or what else names a schema in the registry; raises as :meth:`by_id`."""
        if isinstance(key, tuple):
            return self._schema(key, NO_ID, lambda: self.client.by_key(key))
        return self.by_id(key) if isinstance(key, int) else self.by_guid(key)

    def by_id(self, id: int) -> SchemaVersion:  # noqa: A002 - Confluent's word for it
        """The schema with this id, which is its ``version``.

        An id that is not known yet takes one GET, or more if the schema refers to other schemas; threads that ask for
        the same id wait for the same answer.

        Raises:
            SchemaNotFoundError: the registry does not have this id.
            SchemaError: the schema is not of type AVRO, not valid Avro, too large, or refers to a missing schema.
            MissingEndpointError: the address is not that of such a registry.
            SchemaRegistryError: the registry cannot be asked.
        """
        return self._schema(id, id, lambda: self.client.by_id(id))

    def by_guid(self, guid: bytes) -> SchemaVersion:
        """As :meth:`by_id`, for a GUID of 16 bytes; the ``version`` is :data:`NO_ID`.

        Raises:
            MissingEndpointError: the registry does not support GUIDs.
        """
        if len(guid) != _GUID_SIZE:
            raise SchemaNotFoundError(f"expected a GUID of {_GUID_SIZE} bytes, got {len(guid)} bytes")
        return self._schema(guid, NO_ID, lambda: self.client.by_guid(guid))

    def known(self, key: Key) -> SchemaVersion | None:
        """The known schema of an id or GUID, without a request; None if the id or GUID is not known."""
        held = self._known.use(key)
        return None if held is None else held.known

    def missing_seconds(self, key: Key) -> float:
        """For how many seconds more an id or GUID that was not found counts as unknown."""
        return max((self._missing.get(key) or 0.0) - time.monotonic(), 0.0)

    def _schema(self, key: Key, version: int, ask: Callable[[], ConfluentSchema]) -> SchemaVersion:
        held = self.known(key)
        if held is not None:
            return held
        if self.missing_seconds(key):
            raise SchemaNotFoundError(f"the registry does not have {_name(key)}", status=404, code=40403)
        if isinstance(key, bytes):
            self._refuse_again(_GUIDS)
        self._refuse_again(key)
        return self._flights.run(key, lambda: self._fetch(key, version, ask))

    def _fetch(self, key: Key, version: int, ask: Callable[[], ConfluentSchema]) -> SchemaVersion:
        held = self._known.get(key)  # another thread may just have got it
        if held is not None:
            return held.known
        try:
            found = ask()
        except SchemaNotFoundError:
            self._missing.change(key, lambda _: time.monotonic() + self._missing_ttl, used=True)
            raise
        except MissingEndpointError as error:  # holds for all GUIDs, which old registries do not have
            self._refuse(_GUIDS if isinstance(key, bytes) else key, error)
            raise
        if found.rules:
            logger.warning("%s has rules, such as for field encryption, which are not applied", _name(key))
        return self._keep(key, version, self._one_text(key, found))

    def _one_text(self, key: Key, found: ConfluentSchema) -> Compiled:
        try:
            return Compiled.of(self.client.self_contained(found), self._limits, confluent=self._confluent)
        except NestedTooDeeplyError:  # depends on the caller's stack, so the next call may succeed
            raise
        except (SchemaError, SchemaNotFoundError) as error:
            fault = SchemaError(f"{_name(key)}: {error.message}", path=error.path, hint=error.hint)
        self._refuse(key, fault)
        raise fault

    def _keep(self, key: Key, version: int, compiled: Compiled) -> SchemaVersion:
        known = SchemaVersion(SchemaInfo(version, "AVRO", compiled.schema.text), avro=compiled)
        self._known.change(key, lambda _: _Schema(key, known), used=True)
        return known

    # Writing

    def writing(self, subject: str, schema: Schema, *, register: bool) -> int:
        """The id of this schema in the subject: one POST, which with ``register`` also registers a new schema.

        Raises:
            SchemaError: the schema has a fault, and the subject does not have this schema.
            SchemaNotFoundError: the subject does not have this schema, and ``register`` is False.
            IncompatibleSchemaError: the schema is new, and the subject's compatibility level refuses it.
            InvalidSchemaError: the registry does not accept the schema.
            SchemaRegistryError: the registry cannot be asked.
        """
        held = self._written.use((subject, schema.text))
        if held is not None:
            return held.id
        if schema.fault is not None:
            return self._writing_by_fault(subject, schema, schema.fault)
        return self._ask_to_write(subject, schema.text, register)

    def _writing_by_fault(self, subject: str, schema: Schema, fault: SchemaError) -> int:
        try:
            return self._ask_to_write(subject, schema.text, False)
        except SchemaNotFoundError:
            raise copy(fault) from None

    def _ask_to_write(self, subject: str, text: str, register: bool) -> int:
        question = (register, subject, text)
        self._refuse_again(question)
        try:
            return self._flights.run(question, lambda: self._write(subject, text, register))
        except (SchemaNotFoundError, IncompatibleSchemaError, InvalidSchemaError) as error:
            self._refuse(question, error)
            raise

    def _write(self, subject: str, text: str, register: bool) -> int:
        held = self._written.get((subject, text))
        if held is not None:
            return held.id
        number: int = self.client.register(subject, text) if register else self.client.lookup(subject, text)[0]
        self._missing.drop(number)
        self._keep_written(_Written(subject, text, number))
        return number

    def _keep_written(self, written: _Written) -> None:
        self._written.change((written.subject, written.text), lambda _: written, used=True)

    # Refusals, which are repeated for a moment

    def _refuse(self, question: Hashable, error: SerdesError) -> None:
        refusal = Refusal(copy(error), time.monotonic() + self._missing_ttl)
        self._refused.change(question, lambda _: refusal, used=True)

    def _refuse_again(self, question: Hashable) -> None:
        before = self._refused.get(question)
        if before is not None and before.valid:
            raise copy(before.error)

    # In a pickle

    def learnt(self) -> LearntIds:
        """All known schemas, for a pickle."""
        schemas = tuple((one.key, one.known.schema.text) for one in self._known.values())
        return LearntIds(schemas, tuple((one.subject, one.text, one.id) for one in self._written.values()))

    def learn(self, learnt: LearntIds) -> None:
        """Take over the schemas that another process knew: their ids need no requests here."""
        for key, text in learnt.schemas:
            if self._known.get(key) is None:
                try:
                    compiled = Compiled.of(text, self._limits, confluent=self._confluent)
                    self._keep(key, key if isinstance(key, int) else NO_ID, compiled)
                except SchemaError as error:  # by a limit of this process: asked for again when it is needed
                    logger.debug("%s was not taken over: %s", _name(key), error)
        for written in learnt.written:
            self._keep_written(_Written(*written))

    def after_fork(self) -> None:
        """In a child process: the threads that held locks do not exist."""
        for each in (self.client, self._known, self._written, self._missing, self._refused):
            each.after_fork()


registries: Final[Shared[ConfluentSchemas]] = Shared()  # of this process


def _name(key: Key) -> str:
    if isinstance(key, tuple):
        return str(key)
    return f"schema id {key}" if isinstance(key, int) else f"schema GUID {UUID(bytes=key)}"
