"""How a recreated topic is noticed: who has to know of it, how it is told from the answers, and the thread that looks.

A deleted topic that is recreated counts from version 0 again. A topic was recreated if a version has another schema or
another time of registration than before, or if the latest version is below a known version. Then the known schemas of
the topic are dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final, Protocol
from weakref import WeakMethod, ref

from streamnative_serdes.errors import RegistryUnavailableError, SchemaError, SchemaNotFoundError, SerdesError
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient, TopicName

from .schema_version import SchemaVersion
from .topic_state import Latest, Topics, TopicState

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 2.0  # how long to wait for the registry where an older answer is at hand
_MOST_QUESTIONS: Final = 3  # for single versions in a check; for more, one question for all


class User(Protocol):
    """An object that keeps answers of a binding."""

    def rebind(self) -> None:
        """Ask for everything again, each topic with its next message."""


class Users:
    """The users of a binding. Threads share this object, and it keeps no user alive.

    ``refs`` has a weak reference to each user by its id, since users may be equal, or have no hash. A lock guards
    attaching and all that depends on who is there; users may die at any time in any thread, without the lock, so the
    dict is never walked: that would fail. Each look-up, pop and copy of a dict is one step for other threads.
    """

    def __init__(self) -> None:
        self.refs: dict[int, ref[User]] = {}
        self._lock = threading.RLock()  # a finalizer may attach a user meanwhile

    def __len__(self) -> int:
        return len(self.refs)

    def attach(self, user: User, act: Callable[[int], None]) -> None:
        """Add a user, and call ``act`` with the number of users."""
        with self._lock:
            self.refs[id(user)] = ref(user, partial(self.refs.pop, id(user)))
            act(len(self.refs))

    def detach(self, user: User) -> None:
        with self._lock:
            self.refs.pop(id(user), None)

    def count(self, act: Callable[[int], None]) -> None:
        """Call ``act`` with the number of users; no user can be attached meanwhile."""
        with self._lock:
            act(len(self.refs))

    def if_none(self, act: Callable[[], None]) -> None:
        """Call ``act`` if there are no users; no user can be attached meanwhile."""
        with self._lock:
            if not self.refs:
                act()

    def rebind(self) -> None:
        for each in self.refs.copy().values():
            user = each()
            if user is not None:
                user.rebind()

    def after_fork(self) -> None:
        """In a child process: the thread that held the lock may not exist."""
        self._lock = threading.RLock()


class Inspector:
    """Compares the registry's answers with the known schemas; runs under single flight."""

    def __init__(self, client: SchemaRegistryClient, topics: Topics, users: Users) -> None:
        self._client, self._topics, self._users = client, topics, users

    def check(self, topic: TopicName) -> bool:
        """Ask for the latest schema. If the registry cannot be asked, the known schemas stay valid.

        Returns whether the registry answered.
        """
        try:
            self.latest(topic, REFRESH_SECONDS)
        except SchemaNotFoundError:
            self.lost(topic)
        except SerdesError as error:  # known schemas can still be used
            self._topics.change(topic, TopicState.answered)
            logger.warning("topic %s: cannot check its schemas, still using the cached ones: %s", topic.given, error)
            return not isinstance(error, RegistryUnavailableError)
        return True

    def latest(self, topic: TopicName, patience: float | None) -> Latest:
        """The topic's latest schema, with one GET, and more while there are witnesses to compare.

        ``patience`` as SchemaRegistryClient has it.
        """
        before = self._topics.get(topic)  # not afterwards: what is registered meanwhile is newer than the answer
        info = self._client.latest(topic, patience=patience)
        if not self.fits(before, info, latest=True) or not self._compare(before, info.version):
            before = TopicState(topic)
        try:
            known = self._topics.keep(topic, info)
        except SchemaError:
            if before.newest is not None:
                step = partial(TopicState.confirmed, known=before.newest, compared=before.witnesses)
                self._topics.change(topic, step)
            raise
        return self._confirm(topic, known, before.witnesses)

    def all_versions(self, topic: TopicName) -> list[SchemaVersion]:
        """All schemas of the topic, oldest first, with one GET; empty if there are none."""
        before = self._topics.get(topic)
        infos = self._client.all_versions(topic)
        if infos:
            self._compare_all(before, infos)
        elif before.newest is not None:
            self.lost(topic)
        known = [self._topics.keep(topic, info) for info in infos]
        if known:
            self._confirm(topic, known[-1], (*before.witnesses, *known))
        return known

    def _confirm(self, topic: TopicName, known: SchemaVersion, compared: tuple[SchemaVersion, ...]) -> Latest:
        # A thread that doubts the topic waits until here.
        latest = Latest(known, time.monotonic() + self._topics.ttl)
        self._topics.change(topic, partial(TopicState.confirmed, known=known, compared=compared, latest=latest))
        return latest

    def _compare(self, state: TopicState, latest: int) -> bool:
        """Ask for the witnesses but the latest version. If one is another schema now, forget the topic."""
        many = len(state.witnesses) > _MOST_QUESTIONS
        if many and len({each.info.version for each in state.witnesses} - {latest}) > _MOST_QUESTIONS:
            infos = self._client.all_versions(state.topic)
            return not infos or self._compare_all(state, infos)
        asked = {latest}
        for witness in state.witnesses:
            version = witness.info.version
            if version in asked:
                continue
            asked.add(version)
            try:
                info = self._client.by_version(state.topic, version, patience=REFRESH_SECONDS)
            except SchemaNotFoundError:
                self.lost(state.topic)
                continue
            if not self.fits(state, info):
                return False
            self._topics.keep(state.topic, info)  # its time of registration, which a POST does not report
        return True

    def _compare_all(self, state: TopicState, infos: Sequence[SchemaInfo]) -> bool:
        """As :meth:`_compare`, with all versions. A witness that is missing among them was deleted."""
        if not self.fits(state, infos[-1], latest=True) or not all(self.fits(state, info) for info in infos):
            return False
        there = {info.version for info in infos}
        if any(each.info.version not in there for each in state.witnesses):
            self.lost(state.topic)
        return True

    def fits(self, state: TopicState, info: SchemaInfo, *, latest: bool = False) -> bool:
        """Whether ``info``, maybe the latest, agrees with the known schemas of a topic; if not, forget the topic."""
        why = state.contradiction(info, self._topics.limits, latest=latest)
        if why:
            self._recreated(state.topic, why)
        return not why

    def _recreated(self, topic: TopicName, why: str) -> None:
        logger.warning("topic %s was deleted and recreated, so its cached schemas are dropped: %s", topic.given, why)
        self._topics.forget(topic)
        self._users.rebind()

    def lost(self, topic: TopicName) -> None:
        """Note that the topic's schemas were deleted. Known schemas still read the messages that they wrote."""
        state = self._topics.get(topic)
        if state.versions or state.latest is not None:  # else it was told, or there is nothing to register again
            logger.warning(
                "the schemas of topic %s were deleted; the next write registers its schema again", topic.given
            )
        self._topics.change(topic, lambda state: state.without_registrations().answered())
        self._users.rebind()


class Watch:
    """Calls ``look`` every ``seconds`` from a daemon thread, until :meth:`stop` or until the owner of ``look`` is gone.

    :meth:`ensure` starts the thread, also after a stop. Errors of ``look`` are logged, once per type, and do not end
    the thread. With ``allowed`` set to False, no thread starts in this process: the driver of a Spark worker watches
    for all its workers.

    No lock guards ``_running``, which is only ever assigned as a whole: a thread that is not the one assigned ends
    after one wait, without a look. So threads that start one each at the same time are left with one.
    """

    allowed: ClassVar[bool] = True

    def __init__(self, seconds: float, look: Callable[[], object]) -> None:
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._look = WeakMethod(look, self._gone)
        self._told: set[type] = set()  # types of errors that were logged
        self.reset()

    def reset(self) -> None:
        """Forget the thread: after a fork, the child has none."""
        self._running: _Thread | None = None

    def ensure(self) -> None:
        """Start the thread, if it is not running."""
        if self._running is None and self.allowed:
            self._start()

    def stop(self) -> None:
        """Tell the thread to end, without waiting for it."""
        running, self._running = self._running, None
        if running is not None:
            running.ending.set()

    def _gone(self, _look: WeakMethod[Callable[[], object]]) -> None:
        self.stop()

    def _start(self) -> None:
        try:
            self._running = thread = _Thread(self._run)
            thread.start()
        except RuntimeError as error:  # the system refuses another thread, or the interpreter is ending
            self._running = None
            logger.warning("cannot start the thread that checks for recreated topics: %s", error)
        except BaseException:  # an interrupt: if the thread has started, it ends after one wait
            self._running = None
            raise

    def _run(self, thread: _Thread) -> None:
        try:
            while not thread.ending.wait(self._seconds) and self._running is thread:
                look = self._look()
                if look is None:
                    return
                try:
                    look()
                except Exception as error:  # noqa: BLE001 - the next look may succeed
                    self._tell(error)
                del look  # keeps its owner alive otherwise, while waiting
        finally:
            if self._running is thread:
                self._running = None

    def _tell(self, error: Exception) -> None:
        if type(error) not in self._told:
            self._told.add(type(error))
            logger.error(
                "checking the topics in use failed; the next attempt is in %g s", self._seconds, exc_info=error
            )


class _Thread(threading.Thread):
    def __init__(self, work: Callable[[_Thread], None]) -> None:
        super().__init__(name="streamnative_serdes watch", daemon=True)
        self.ending = threading.Event()
        self._work = work

    def run(self) -> None:
        self._work(self)
