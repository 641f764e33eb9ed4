"""The schemas that topics are written and read with: the answers of one registry, and the requests to it.

Everything is kept by topic, since a schema version means nothing without its topic. Each question is asked once:
threads with the same question wait for the same answer.

Versions never change, but a topic may be deleted and recreated, and then counts from 0 again; Pulsar itself deletes
idle topics. So each topic in use is checked once per ``cache.latest.ttl.sec``, in a background thread, and when a
message cannot be read.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias, TypeVar

from streamnative_serdes._config import REGISTRY_OPTIONS, schema_limits
from streamnative_serdes._formats import EXTERNAL
from streamnative_serdes._schema import Schema
from streamnative_serdes._single_flight import Flights
from streamnative_serdes.errors import (
    AuthorizationError,
    ConfigError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.key_value import PRIMITIVE_TYPES
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, TopicName
from streamnative_serdes.schema_registry.pulsar_api import REGISTERED_OUTSIDE

from .cache import Shared
from .registering import register_pair
from .schema_version import Posted, SchemaVersion
from .topic_state import Latest, PickledSchema, Question, Refusal, Topics, TopicState
from .watch import REFRESH_SECONDS, Inspector, User, Users, Watch

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
Topic: TypeAlias = str | TopicState  # of a question: as its user names it, or its state if that is at hand

_REGISTRY_KEYS = tuple(option.key for option in REGISTRY_OPTIONS)
_REGISTER = "register it first, or set auto.register.schemas=true"
_MOST_LOOKS = 600  # topics that are checked in one round; with more in use, the rest come first in the next
_MOST_UNANSWERED = 3  # checks in a row
_LEAST_SECONDS = 1.0  # between two checks of one topic, however many messages cannot be read
_MOST_AWAY = 5.0  # seconds in which no latest schema is asked for again after the registry was away for one topic
# Errors that concern schemas. Others are asked again for each message, since rights and tokens may change at any time.
_REFUSALS = (SchemaNotFoundError, IncompatibleSchemaError, InvalidSchemaError, SchemaError)


class Binding:
    """The answers of one registry that this process knows."""

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self.client = SchemaRegistryClient(conf)
        self._capacity: int = conf["cache.capacity"]
        place = partial(TopicName.parse, tenant=conf["pulsar.tenant"], namespace=conf["pulsar.namespace"])
        # Each batch asks for its topic's name several times, and parsing it takes longer than an empty batch.
        self._parse, self._parsed = place, lru_cache(self._capacity)(place)
        self._missing_ttl: float = conf["cache.missing.ttl.sec"]
        self._topics = Topics(self._capacity, conf["cache.latest.ttl.sec"], schema_limits(conf))
        self._away_until = -math.inf  # as _MOST_AWAY says, on the monotonic clock
        self._flights = Flights()
        self._users = Users()
        self._inspector = Inspector(self.client, self._topics, self._users)
        self._watch = Watch(max(self._topics.ttl, _LEAST_SECONDS), self._look)

    @classmethod
    def shared(cls, conf: Mapping[str, Any]) -> Binding:
        """The binding of this process for these registry options."""
        return bindings.of({name: conf[name] for name in _REGISTRY_KEYS}, lambda: cls(conf))

    @classmethod
    def forget(cls) -> None:
        """Forget all answers of registries; existing serializers and deserializers keep their bindings."""
        bindings.forget()

    def enter(self, user: User, topic: object, error: type[SerdesError]) -> TopicState:
        """The state of the topic of a call by ``user``; see :meth:`attach` and :meth:`use`.

        Raises:
            SerdesError: an ``error``: the topic is not text, or not the name of a topic.
        """
        name = self.checked(topic, error)
        if id(user) not in self._users.refs:
            self.attach(user)
        self._watch.ensure()
        return self._topics.use(name)

    def attach(self, user: User) -> None:
        """Call :meth:`User.rebind` of ``user`` from now on, each time that answers change."""
        if id(user) not in self._users.refs:
            self._users.attach(user, self._topics.make_room)

    def detach(self, user: User) -> None:
        """Stop calling ``user``, which is closed. After the last user, end the background thread."""
        self._users.detach(user)
        self._users.if_none(self._watch.stop)
        user.rebind()  # if the user is used again, its next message attaches it

    # Questions

    def registered(self, topic: Topic, known: SchemaVersion, *, new: bool = True) -> int:
        """The version of this schema on the topic: one POST, which registers the schema if it is new.

        ``known`` has the schema; its version and topic have no meaning here.

        Without ``new``, one GET of all versions instead, for which the right to read is enough.

        Raises:
            IncompatibleSchemaError: the schema is new, and the topic's strategy refuses it.
            SchemaNotFoundError: the schema is new, and ``new`` is False.
            SchemaRegistryError: as :class:`SchemaRegistryClient` says.
        """
        state, posted = self.use(topic), Posted.of(known.info)
        version = state.versions.get(posted)
        if version is None:
            question = ("register", new, posted)
            version = self._ask(state, question, partial(self._register, state.topic, posted, known, new))
        return version

    def require(self, topic: Topic, schema: Schema) -> None:
        """Refuse a reader's schema that has a fault, unless the topic holds it.

        Raises:
            SchemaError: the schema's fault: no version of the topic, nor a half of a version, is this schema.
            SchemaRegistryError: the registry cannot be asked.
        """
        if schema.fault is not None:
            state = self.use(topic)
            if not any(known.has(schema) for known in state.schemas.values()):
                self._ask(state, ("has", schema.text), partial(self._require, state.topic, schema))

    def version(self, topic: Topic, version: int, there: frozenset[int] | None = None) -> SchemaVersion:
        """A version of the topic's schema: one GET, since versions never change.

        ``there``, if given, holds all versions that the topic has; others are not asked for.

        Raises:
            SchemaNotFoundError: the topic has no such version.
            SchemaError: the schema is not valid.
        """
        state = self.use(topic)
        known = state.schemas.get(version)
        if known is None and there is not None and version not in there:
            raise SchemaNotFoundError("the topic does not have this schema version", topic=str(topic), version=version)
        return known or self._ask(state, ("version", version), partial(self._fetch, state.topic, version))

    def latest(self, topic: Topic) -> tuple[SchemaVersion, float]:
        """The topic's latest schema, and for how many seconds it is valid.

        If the registry cannot be asked, its last answer stays valid.
        """
        state = self.use(topic)
        held = state.latest
        if held is None or not held.valid:
            held = self._ask(state, ("latest",), partial(self._fetch_latest, state))
        return held.known, max(held.until - time.monotonic(), 0.0)

    def warm_up(self, topic: Topic) -> None:
        """Get all versions of the topic, and so the latest version, with one GET."""
        self.versions(topic)

    def versions(self, topic: Topic) -> frozenset[int]:
        """All versions that the topic has now, with one GET; all are known afterwards."""
        state = self.use(topic)
        return self._ask(state, ("all",), partial(self._fetch_all, state.topic))

    def pairs(self, topic: Topic) -> list[SchemaVersion]:
        """The known schemas of type KEY_VALUE, the newest first; the registry is not asked."""
        schemas = self._topics.get(self.named(topic)).schemas
        return [known for _, known in sorted(schemas.items(), reverse=True) if known.halves is not None]

    def type_of(self, topic: Topic) -> str | None:
        """The type of the topic's latest schema, such as KEY_VALUE; None if the topic has no schema."""
        try:
            return self.latest(topic)[0].type
        except SchemaNotFoundError:
            return None

    def key_type(self, topic: Topic) -> str | None:
        """The type of the keys by the topic's latest schema; None if it is not of type KEY_VALUE."""
        try:
            halves = self.latest(topic)[0].halves
        except SchemaNotFoundError:
            return None
        return None if halves is None else halves.key.type

    def kind(self, topic: Topic) -> str | None:
        """The type of the newest schema that is known; the registry is not asked."""
        newest = self._topics.get(self.named(topic)).newest
        return None if newest is None else newest.type

    def missing_seconds(self, topic: TopicName, version: int) -> float:
        """For how many seconds more a version that was not found counts as missing."""
        refused = self._topics.get(topic).refusals.get(("version", version))
        return 0.0 if refused is None else max(refused.until - time.monotonic(), 0.0)

    def learnt(self, topics: Iterable[str]) -> tuple[PickledSchema, ...]:
        """The known schemas of these topics, for a pickle."""
        return self._topics.learnt(map(self.named, topics))

    def learn(self, learnt: Iterable[PickledSchema]) -> None:
        """Take over the schemas that another process knew; if they contradict this process, the registry is asked."""
        for topic, why in self._topics.learn(learnt).items():
            logger.warning(
                "topic %s was recreated: a pickle and this process know different schemas, so all are dropped: %s",
                topic.given,
                why,
            )
            self._users.rebind()

    def use(self, topic: Topic) -> TopicState:
        """The state of the topic, which is now in use and so will be checked. Any change makes a new state.

        A state that a caller has at hand is its own; what is asked later may be of a newer state.
        """
        if isinstance(topic, TopicState):
            return topic
        self._watch.ensure()
        return self._topics.use(self._parsed(topic) if type(topic) is str else self._parse(topic))

    def state(self, topic: str) -> TopicState:
        """As :meth:`use`, for a topic that is in use already: the caller compares its state with the state before."""
        self._watch.ensure()
        return self._topics.get(self._parsed(topic))

    def named(self, topic: Topic) -> TopicName:
        """The parsed name of a topic. Raises SerdesError: ``topic`` is not a valid topic name."""
        if isinstance(topic, TopicState):
            return topic.topic
        return self._parsed(topic) if type(topic) is str else self._parse(topic)

    def checked(self, topic: object, error: type[SerdesError]) -> TopicName:
        """As :meth:`named`, with the errors of ``serialize`` and ``deserialize``.

        Raises:
            SerdesError: an ``error``: the topic is not text, or not the name of a topic.
        """
        if not isinstance(topic, str):
            raise error(f"expected a topic as str, got {type(topic).__name__}", hint="pass the topic first")
        try:
            return self._parsed(topic) if type(topic) is str else self._parse(topic)
        except ConfigError:
            raise
        except SerdesError as bad:
            raise error(bad.message, topic=bad.topic, hint=bad.hint) from None

    def _ask(self, state: TopicState, question: Question, work: Callable[[], _T]) -> _T:
        """The result of ``work``, which runs under single flight; a refusal is repeated for a moment."""
        before = state.refusals.get(question)
        if before is not None and before.valid:
            raise copy(before.error)
        try:
            answer: _T = self._flights.run((state.topic.path, *question), work)
        except _REFUSALS as error:
            refusal = Refusal(copy(error), time.monotonic() + self._missing_ttl)
            step = partial(TopicState.with_refusal, question=question, refusal=refusal, most=self._capacity)
            self._topics.change(state.topic, step)
            raise
        return answer

    # How questions are asked: all these methods run under single flight

    def _register(self, topic: TopicName, posted: Posted, given: SchemaVersion, new: bool) -> int:
        version = self._topics.get(topic).versions.get(posted)  # another thread may just have registered it
        if version is None:
            version = self._post(topic, given) if new and given.fault is None else self._find(topic, given)
            known = replace(given, info=posted.info(version), topic=topic.given, fault=None)
            self._inspector.fits(self._topics.get(topic), known.info)
            self._topics.keep_registered(topic, posted, known)
        return version

    def _post(self, topic: TopicName, given: SchemaVersion) -> int:
        if given.halves is not None:
            return register_pair(self.client, topic, given, given.halves, self._topics.limits)
        info = given.info
        if info.type in PRIMITIVE_TYPES:  # Pulsar compares texts, and pulsar-client's is another, "null"
            with suppress(AuthorizationError):  # of a user who may register, but not read
                held = self._held(given, self.client.all_versions(topic))
                if held is not None:
                    return held
        try:
            return self.client.register(topic, info.text, type=info.type, properties=info.properties)
        except InvalidSchemaError:  # by a newer broker, while the topic may have the schema from an older broker
            held = self._held(given, self.client.all_versions(topic))
            if held is None:
                raise
            return held

    def _held(self, given: SchemaVersion, infos: Sequence[SchemaInfo]) -> int | None:
        """The newest version that has this schema."""
        limits = self._topics.limits
        return next((info.version for info in reversed(infos) if given.agrees(info, limits)), None)

    def _find(self, topic: TopicName, given: SchemaVersion) -> int:
        infos = self.client.all_versions(topic)
        held = self._held(given, infos)
        if held is not None:
            return held
        if given.fault is not None:
            raise copy(given.fault).at(topic=topic.given)
        for info in infos:
            if info.type == "KEY_VALUE":  # a pair may have the schema as a half
                self._topics.keep(topic, info)
        hint, there = _REGISTER, infos[-1].type if infos else given.type
        if there == EXTERNAL:
            hint = REGISTERED_OUTSIDE
        elif there != given.type:
            hint = f"the topic's schemas are of type {there}, and the serializer's is of type {given.type}"
        raise SchemaNotFoundError("the topic does not have the serializer's schema", topic=topic.given, hint=hint)

    def _require(self, topic: TopicName, schema: Schema) -> None:
        assert schema.fault is not None
        self._fetch_all(topic)
        if not any(known.has(schema) for known in self._topics.get(topic).schemas.values()):
            raise copy(schema.fault).at(topic=topic.given)

    def _fetch(self, topic: TopicName, version: int) -> SchemaVersion:
        state = self._topics.get(topic)
        known = state.schemas.get(version)
        if known is None:
            info = self.client.by_version(topic, version)
            self._inspector.fits(state, info)
            known = self._topics.keep(topic, info)
            now = self._topics.change(topic, TopicState.answered)
            # With witnesses of answers that came meanwhile, this answer may be of a topic that was deleted by then.
            if not {known, *state.witnesses}.issuperset(now.witnesses):
                self._topics.change(topic, partial(TopicState.with_witness, known=known))
        return known

    def _fetch_all(self, topic: TopicName) -> frozenset[int]:
        known = self._inspector.all_versions(topic)
        if known:
            self._topics.change(topic, TopicState.without_refusals)
        return frozenset(each.version for each in known)

    def _fetch_latest(self, before: TopicState) -> Latest:
        topic, held = before.topic, before.latest
        now = self._topics.get(topic).latest
        if now is not None and now is not held and now.valid:
            return now  # another thread has just asked
        if held is not None and time.monotonic() < self._away_until:
            return self._topics.keep_latest(topic, held.known)
        try:
            # With an older answer at hand, a new one is not waited for long.
            latest = self._inspector.latest(topic, None if held is None else REFRESH_SECONDS)
        except SchemaRegistryError as error:
            if held is None or isinstance(error, _REFUSALS):
                raise
            if isinstance(error, RegistryUnavailableError):  # not waited for again for each other topic
                self._away_until = time.monotonic() + min(self._topics.ttl, _MOST_AWAY)
            logger.warning(
                "topic %s: still using version %d as the latest schema: %s", topic.given, held.known.version, error
            )
            return self._topics.keep_latest(topic, held.known)
        self._away_until = -math.inf
        return latest

    # Whether topics have been recreated

    def doubt(self, topic: Topic) -> None:
        """Check the topic of a message that could not be read, at most once a second."""
        name = self.named(topic)
        state = self._topics.get(name)
        if state.newest is not None and time.monotonic() >= state.asked + _LEAST_SECONDS:
            self._check(name)

    def confirm(self, topic: str) -> None:
        """Check a topic that is known. If the registry cannot be asked, its last answer stays valid."""
        state = self.use(topic)
        if state.newest is not None:
            self._check(state.topic)

    def _check(self, topic: TopicName) -> None:
        self._flights.run((topic.path, "check"), partial(self._inspector.check, topic))

    def _look(self) -> None:
        """One round of the watch: check the topics in use. Then users ask again, which shows the topics in use."""
        # Not when a user is closed: only by now have the other users asked for their topics.
        self._users.count(self._topics.make_room)
        unanswered = 0
        try:
            for state in self._topics.in_use()[:_MOST_LOOKS]:
                if self._topics.get(state.topic).newest is not None:  # not evicted meanwhile
                    self._topics.change(state.topic, TopicState.checked)
                    unanswered = 0 if self._inspector.check(state.topic) else unanswered + 1
                if unanswered == _MOST_UNANSWERED:  # the registry is away: the next round asks again
                    break
        finally:  # also after an unforeseen error: the next round takes place
            self._users.rebind()
        self._users.if_none(self._watch.stop)

    # Actions of the user of a registry client

    def of_registry(self) -> list[Binding]:
        """All bindings of this process with an address of this one: those with other options know its answers too."""
        addresses = set(self.client.rest.urls)
        return [each for each in bindings.alive() if addresses & set(each.client.rest.urls)]

    def deleted(self, topic: TopicName, *, for_good: bool) -> None:
        """Note that the user has deleted the schemas of a topic: the next write registers its schema again.

        Known versions still read the messages that they wrote, unless they were deleted ``for_good``.
        """
        if for_good:
            self._topics.forget(topic)
        else:
            self._topics.change(topic, TopicState.without_registrations)
        self._users.rebind()

    def forget_refusals(self, topic: TopicName) -> None:
        """Note that the user has registered a schema: what was missing may be there now."""
        self._topics.change(topic, TopicState.without_refusals)

    def forget_topics(self) -> None:
        self._topics.forget_all()
        self._users.rebind()

    def expire(self) -> None:
        """Ask for every topic's latest schema again. If the registry cannot be asked, its last answer stays valid."""
        self._away_until = -math.inf
        self._topics.expire()
        self._users.rebind()

    def after_fork(self) -> None:
        """In a child process: nobody waits for the parent's threads; the watch starts with the next question."""
        self._watch.reset()
        self._topics.after_fork()
        self._users.after_fork()
        self._users.rebind()


bindings: Final[Shared[Binding]] = Shared()  # of this process
