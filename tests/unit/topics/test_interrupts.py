"""An interrupt (Ctrl-C) between any two bytecodes never leaves other threads waiting forever."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from interrupts import each_interrupt
from scripted_registry import CONF, Clock
from waiting import HANG_SECONDS, elsewhere, exit_code, join, until

from streamnative_serdes._auth.tokens import Renewed, Token
from streamnative_serdes._http.api_request import TransientFailure
from streamnative_serdes._schema import parse
from streamnative_serdes._single_flight import Flights
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes.errors import SchemaNotFoundError
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

INT = parse('"int"')


@pytest.fixture
def binding() -> Binding:
    binding = Binding({**CONF, "schema.registry.url": "http://127.0.0.1:1", "cache.missing.ttl.sec": 0.0})
    binding._watch.allowed = False  # type: ignore[misc] # this one's alone
    return binding


class Topics:
    """A registry with a new topic for each interrupt."""

    def __init__(self) -> None:
        self.name = "t0"
        self.asked: list[str] = []

    def register(self, topic: TopicName, _text: str, **_: object) -> int:
        self.asked.append(topic.given)
        return 3

    def latest(self, topic: TopicName, *, patience: float | None = None) -> SchemaInfo:
        self.asked.append(topic.given)
        return SchemaInfo(3, "AVRO", '"int"')

    def missing(self, topic: TopicName, version: int) -> SchemaInfo:
        self.asked.append(topic.given)
        raise SchemaNotFoundError("no such version", topic=topic.given, version=version)

    def after(self, number: int) -> None:
        self.name = f"t{number}"


@pytest.fixture
def topics(binding: Binding, monkeypatch: pytest.MonkeyPatch) -> Topics:
    topics = Topics()
    for name, answer in (("register", topics.register), ("latest", topics.latest), ("by_version", topics.missing)):
        monkeypatch.setattr(binding.client, name, answer)
    return topics


def test_other_threads_can_register_after_each_interrupt(binding: Binding, topics: Topics) -> None:
    for number, _ in enumerate(
        each_interrupt(lambda: binding.registered(topics.name, SchemaVersion.of_schema(INT))), 1
    ):
        assert elsewhere(lambda: binding.registered(topics.name, SchemaVersion.of_schema(INT))) == 3
        assert topics.asked.count(topics.name) in (1, 2)
        topics.after(number)


def test_other_threads_can_check_a_topic_after_each_interrupt(binding: Binding, topics: Topics) -> None:
    binding.registered("t", SchemaVersion.of_schema(INT))
    for _ in each_interrupt(lambda: binding.confirm("t")):
        asked = len(topics.asked)
        elsewhere(lambda: binding.confirm("t"))
        assert len(topics.asked) == asked + 1  # the registry is asked again; nobody waits for the interrupted request


def test_other_threads_repeat_a_refused_request_after_each_interrupt(binding: Binding, topics: Topics) -> None:
    def ask() -> None:
        with pytest.raises(SchemaNotFoundError):
            binding.version("t", 7)

    for _ in each_interrupt(ask):
        asked = len(topics.asked)
        elsewhere(ask)
        assert len(topics.asked) == asked + 1


@pytest.mark.parametrize("state", ["none", "old", "rejected", "failing"])
def test_other_threads_get_a_token_after_each_interrupt_of_its_renewal(state: str) -> None:
    clock, numbers = Clock(), itertools.count()
    failing = False

    def fetch(_: float) -> Token | TransientFailure:
        return TransientFailure("down") if failing else Token(f"token {next(numbers)}", clock() + 100)

    def ask() -> Any:
        nonlocal failing
        failing = state == "failing"
        return renewed.token(clock() + HANG_SECONDS)

    def prepare() -> None:
        if state == "none":
            renewed._held = None
        if state in ("old", "failing"):
            clock.now += 90
        if state == "rejected":
            renewed.reject(renewed.token(clock() + 1).text)  # type: ignore[union-attr]

    renewed = Renewed(fetch, clock)
    renewed.token(clock() + 1)
    prepare()
    for _ in each_interrupt(ask):
        failing = False
        assert elsewhere(lambda: renewed.token(clock() + HANG_SECONDS)).text.startswith("token")
        clock.now += 200  # the cached token has expired
        assert elsewhere(lambda: renewed.token(clock() + HANG_SECONDS)).text == f"token {next(numbers) - 1}"
        prepare()


def test_after_an_interrupt_of_the_leader_a_waiting_thread_does_the_work() -> None:
    flights, started, go_on = Flights(), threading.Event(), threading.Event()
    worked: list[int] = []

    def interrupted() -> int:
        started.set()
        assert go_on.wait(HANG_SECONDS)
        raise KeyboardInterrupt

    def work() -> int:
        worked.append(1)
        until(lambda: flights.waiting("k") == 6, "the others wait for this one")
        return 5

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(flights.run, "k", interrupted)
        assert started.wait(HANG_SECONDS)
        others = [pool.submit(flights.run, "k", work) for _ in range(7)]
        until(lambda: flights.waiting("k") == 7, "all wait")
        go_on.set()
        assert isinstance(first.exception(HANG_SECONDS), KeyboardInterrupt)
        assert [other.result(HANG_SECONDS) for other in others] == [5] * 7
    assert worked == [1]


def test_a_waiting_thread_gives_up_at_its_timeout_and_the_work_continues() -> None:
    flights, go_on = Flights(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flights.run, "k", lambda: go_on.wait(HANG_SECONDS))
        until(lambda: _busy(flights, "k"), "the first is at work")
        for seconds in (0.0, -1.0, 0.01):
            with pytest.raises(TimeoutError, match="another thread"):
                flights.run("k", lambda: pytest.fail("the work is already running"), seconds)
        assert flights.waiting("k") == 0
        go_on.set()
        assert first.result(HANG_SECONDS) is True


class Uncopied(Exception):
    """Its constructor takes more than its arguments say."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)
        self.two = two


class Reworded(Exception):
    """Its constructor rewrites its argument, so a copy would say something else."""

    def __init__(self, code: object) -> None:
        super().__init__(f"failed with {code}")


@pytest.mark.parametrize(
    "error", [SchemaNotFoundError("no such topic"), OSError(5, "gone"), Uncopied(1, 2), Reworded(5)]
)
def test_each_waiting_thread_gets_an_error_of_its_own_where_it_can_be_copied(error: Exception) -> None:
    """A thread writes its traceback into the error that it raises."""
    flights, started, leave = Flights(), threading.Event(), threading.Event()
    error.__cause__ = KeyError("why")

    def work() -> None:
        started.set()
        assert leave.wait(HANG_SECONDS)
        raise error

    def caught() -> BaseException:
        with pytest.raises(type(error)) as found:
            flights.run("key", work)
        return found.value

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(caught)
        assert started.wait(HANG_SECONDS)
        others = [pool.submit(caught) for _ in range(2)]
        until(lambda: flights.waiting("key") == 2, "both wait")
        leave.set()
        assert first.result() is error
        one, two = (other.result() for other in others)
    assert str(one) == str(two) == str(error)
    assert one.__cause__ is two.__cause__ is error.__cause__
    assert one.__suppress_context__ is two.__suppress_context__ is error.__suppress_context__
    assert (len({id(each) for each in (error, one, two)}) == 3) is not isinstance(error, Uncopied | Reworded)


def test_two_threads_that_need_each_others_work_do_not_deadlock() -> None:
    """Such as two finalizers, each of which needs the request that the other thread is making."""
    flights, both = Flights(), threading.Barrier(2, timeout=HANG_SECONDS)

    def work(other: str) -> str:
        both.wait()
        return flights.run(other, lambda: f"{other} by itself", HANG_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(flights.run, "b", lambda: work("a"))
        outcomes = {elsewhere(lambda: flights.run("a", lambda: work("b"))), second.result(HANG_SECONDS)}
    assert len(outcomes) == 1  # one thread waited, and the other did the work itself
    assert outcomes < {"a by itself", "b by itself"}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system sends no signal to a thread")
def test_a_thread_that_waits_twice_is_counted_for_both() -> None:
    """A signal handler that runs while its thread waits may wait too; the first wait must not be forgotten."""
    flights, third = Flights(), threading.Event()
    seen: list[str] = []

    def handler(*_: object) -> None:
        seen.append(flights.run("c", lambda: "no other thread runs it", HANG_SECONDS))

    def lead_b() -> str:
        until(lambda: flights.waiting("b") == 1, "the main thread waits for this one")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
        until(lambda: flights.waiting("c") == 1, "its handler waits as well")
        third.set()
        until(lambda: seen, "the handler is done")
        # The main thread is waiting for us again, so we must not wait for it.
        return flights.run("a", lambda: "by itself", HANG_SECONDS)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(flights.run, "c", lambda: str(third.wait(HANG_SECONDS)))
            until(lambda: _busy(flights, "c"), "c is running")
            pool.submit(flights.run, "b", lead_b)
            until(lambda: _busy(flights, "b"), "b is running")
            assert flights.run("a", lambda: flights.run("b", lambda: "twice")) == "by itself"
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == ["True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_threads_that_waited_in_the_parent_are_forgotten_in_a_child() -> None:
    """The child's threads reuse the thread ids of the parent's, and must still be able to wait for each other."""
    flights, go_on = Flights(), threading.Event()
    leader = threading.Thread(target=flights.run, args=("a", lambda: go_on.wait(HANG_SECONDS)), daemon=True)
    leader.start()
    until(lambda: _busy(flights, "a"), "a is running")
    waiter = threading.Thread(target=flights.run, args=("a", lambda: None), daemon=True)
    waiter.start()
    until(lambda: flights.waiting("a") == 1, "another thread waits")
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = _ask_in_child(flights, leader.ident, waiter.ident)
        finally:
            os._exit(code)
    ended = exit_code(child)
    go_on.set()
    join(leader, waiter)
    if ended == 3:
        pytest.skip("this system reuses thread ids in another way")
    assert ended == 0


def _ask_in_child(flights: Flights, waits: int | None, leads: int | None) -> int:
    """Return 0 if thread ``waits`` waits for thread ``leads``; 3 if the system does not reuse their ids."""
    asked, ended, seen = threading.Event(), threading.Event(), list[int | None]()

    def lead() -> None:
        asked.set()
        ended.wait(HANG_SECONDS)

    def ask() -> None:
        number = threading.get_ident()
        seen.append(number)
        until(lambda: len(seen) == 4, "all have started, each with its own id")
        if number == leads:
            flights.run("g", lead)
        if number == waits and asked.wait(HANG_SECONDS):
            flights.run("g", ended.set)
        ended.wait(HANG_SECONDS)

    for _ in range(4):
        threading.Thread(target=ask, daemon=True).start()
    until(lambda: len(seen) == 4, "all have started")
    if not {waits, leads} <= {*seen}:
        return 3
    until(lambda: flights.waiting("g") or ended.is_set(), "the other thread asks")
    return 1 if ended.is_set() else 0


def _busy(flights: Flights, key: str) -> bool:
    try:
        flights.run(key, lambda: None, 0.0)
    except TimeoutError:
        return True
    return False
