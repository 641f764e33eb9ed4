"""`migrate schemas --widen`: the compatibility strategy is back as it was, whatever happens."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from interrupts import interrupted
from schema_migrations import Migration, put, versions
from schemas import record
from waiting import HANG_SECONDS, until

from streamnative_serdes.errors import FileError
from streamnative_serdes.migration import State, Widened, copy_schemas
from streamnative_serdes.migration.schemas import strategy
from streamnative_serdes.testing import Fault, LocalRegistry
from streamnative_serdes.testing.http_messages import Answer

TOPIC, NAMESPACE = "public/default/orders", "public/default"
FULL_NAME = f"persistent://{TOPIC}"
SUBJECT = "orders-value"
FIRST = record("Order", ("id", "long"))
REQUIRED = record("Order", ("id", "long"), ("sum", "double"))
THIRD = record("Order", ("id", "long"), ("name", "string"))
WIDE = "ALWAYS_COMPATIBLE"
POST = r"^POST .*/orders/schema$"
POLICIES_OFF = Fault.status(405, "Topic level policies is disabled, to enable the topic level policy and retry.")
QUICK = ("--set", "target.retries.total.ms=1500", "--set", "target.retries.wait.ms=10")


@pytest.fixture
def source() -> Iterator[ConfluentStandIn]:
    """A subject with schemas that Pulsar's default strategy refuses."""
    with ConfluentStandIn(guids=False) as source:
        for schema in (FIRST, REQUIRED, THIRD):
            source.register(SUBJECT, schema)
        yield source


@pytest.fixture
def run(
    source: ConfluentStandIn, registry: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Migration:
    monkeypatch.chdir(tmp_path)
    registry.store.add_topic(TOPIC)
    return Migration(source.url, registry.url)


def strategies(registry: LocalRegistry) -> tuple[str | None, str | None]:
    """Of the topic and of the namespace."""
    return registry.store.strategy(TOPIC), registry.store.strategy(NAMESPACE)


def changes(registry: LocalRegistry) -> int:
    """How often a strategy was set or unset."""
    return registry.calls["PUT strategy"] + registry.calls["DELETE strategy"]


def left_widened(run: Migration, old: str | None, registry: LocalRegistry, place: str = FULL_NAME) -> None:
    """What a run leaves that was killed: the entry in the state file, and the wide strategy."""
    scope = "topic" if place == FULL_NAME else "namespace"
    state = run.saved()
    state.widened.append(Widened(scope, place, old, old or "FULL"))  # type: ignore[arg-type]
    state.save()
    registry.set_strategy(WIDE, place.removeprefix("persistent://"))


each_old = pytest.mark.parametrize("old", [None, "BACKWARD"], ids=["unset", "set"])


@each_old
@pytest.mark.parametrize("place", [TOPIC, NAMESPACE])
def test_the_strategy_is_widened_for_the_copies_alone(
    run: Migration, registry: LocalRegistry, place: str, old: str | None
) -> None:
    registry.store.set_strategy(place, old)
    before = strategies(registry)
    option = "--widen" if place == TOPIC else "--namespace-strategy"
    report = run("schemas", option, "--json").json
    assert versions(registry, TOPIC) == [FIRST, REQUIRED, THIRD]
    assert (strategies(registry), run.saved().widened) == (before, [])
    assert (report["widened"]["old"], report["strategy"]) == (old, old or "FULL")
    assert [one["outcome"] for one in report["restored"]] == ["restored"]


def test_the_topics_that_a_namespaces_strategy_touches_are_listed_before_it_is_changed(
    run: Migration, registry: LocalRegistry
) -> None:
    registry.store.add_topic("public/default/bystander")
    registry.fail(Fault.status(500, "boom"), match="^PUT .*schemaCompatibilityStrategy")
    ended = run("schemas", "--namespace-strategy", code=3)
    assert (
        "The strategy of namespace public/default, unset, is ALWAYS_COMPATIBLE meanwhile; it touches "
        f"persistent://public/default/bystander, {FULL_NAME}"
    ) in ended.err
    report = run("schemas", "--namespace-strategy", "--json").json
    assert report["widened"]["topics"] == ["persistent://public/default/bystander", FULL_NAME]


def test_a_topic_with_other_schemas_can_be_widened_too(run: Migration, registry: LocalRegistry) -> None:
    other = record("Other", ("x", "string"))
    put(registry, TOPIC, other)
    assert run("schemas", "--widen", code=1).err.startswith("Error: topic orders: the topic has schemas")
    assert changes(registry) == 0
    report = run("schemas", "--widen", "--add", "--json").json
    assert versions(registry, TOPIC) == [other, FIRST, REQUIRED, THIRD]
    assert (strategies(registry), Path(report["backup"]).exists()) == ((None, None), True)


@pytest.mark.parametrize("place", [TOPIC, NAMESPACE])
def test_a_strategy_that_is_wide_already_is_not_touched(run: Migration, registry: LocalRegistry, place: str) -> None:
    registry.set_strategy(WIDE, place)
    for option in ("--widen", "--namespace-strategy"):
        assert run("schemas", option, "--json").json["widened"] is None
    assert changes(registry) == 0


def test_a_run_with_nothing_to_register_does_not_touch_the_strategy(run: Migration, registry: LocalRegistry) -> None:
    run("schemas", "--widen")
    count = changes(registry)
    run("schemas", "--widen")
    assert changes(registry) == count


def test_a_dry_run_says_what_would_be_widened_and_refuses_nothing(run: Migration, registry: LocalRegistry) -> None:
    ended = run("schemas", "--dry-run", "--widen")
    assert "would be new; refused by FULL, widened" in ended.out
    assert f"The strategy of topic {FULL_NAME}, unset, would be ALWAYS_COMPATIBLE meanwhile" in ended.out
    assert (changes(registry), list(Path().iterdir())) == (0, [])


# Where it cannot be widened


def test_a_broker_without_topic_policies_is_an_error_that_names_the_other_way(
    run: Migration, registry: LocalRegistry
) -> None:
    for more in ((), ("--dry-run",)):
        registry.fail(POLICIES_OFF, match="persistent.*schemaCompatibilityStrategy")
        error = run("schemas", "--widen", "--json", *more, code=3).error["error"]
        assert error["kind"] == "MissingEndpointError"
        assert "Topic level policies is disabled" in error["message"]
        assert "topicLevelPoliciesEnabled=false; --namespace-strategy widens that of the namespace" in error["hint"]
    assert (versions(registry, TOPIC), run.saved().widened) == ([], [])
    registry.fail(POLICIES_OFF, times=None, match="persistent.*schemaCompatibilityStrategy")
    run("schemas", "--namespace-strategy")
    assert versions(registry, TOPIC) == [FIRST, REQUIRED, THIRD]


def test_a_topic_that_does_not_exist_has_no_strategy_of_its_own(run: Migration, registry: LocalRegistry) -> None:
    registry.store.delete_topic(TOPIC)
    error = run("schemas", "--widen", "--json", code=3).error["error"]
    assert error["kind"] == "SchemaNotFoundError"
    assert error["hint"].startswith("create the topic first")
    assert "--namespace-strategy" in error["hint"]
    run("schemas", "--namespace-strategy")
    assert (versions(registry, TOPIC), strategies(registry)) == ([FIRST, REQUIRED, THIRD], (None, None))


def test_a_namespaces_strategy_is_not_widened_where_the_topic_has_its_own(
    run: Migration, registry: LocalRegistry
) -> None:
    registry.set_strategy("BACKWARD", TOPIC)
    ended = run("schemas", "--namespace-strategy", code=1)
    assert "the topic has a strategy of its own, BACKWARD" in ended.err
    assert changes(registry) == 0


def test_the_right_to_change_policies_is_named(run: Migration, registry: LocalRegistry) -> None:
    registry.fail(Fault.status(401, "Unauthorized to validateTopicPolicyOperation"), match="GET .*CompatibilityStrat")
    error = run("schemas", "--widen", "--json", code=3).error["error"]
    assert (error["kind"], error["hint"]) == (
        "AuthorizationError",
        "the role needs the right to change policies, which an admin of the tenant has",
    )


# After failures


@each_old
@pytest.mark.parametrize("place", [TOPIC, NAMESPACE])
def test_a_registration_that_fails_leaves_the_strategy_as_it_was(
    run: Migration, registry: LocalRegistry, place: str, old: str | None
) -> None:
    registry.store.set_strategy(place, old)
    before = strategies(registry)
    registry.fail(Fault(), match=POST)
    registry.fail(Fault.status(500, "boom"), match=POST)
    option = "--widen" if place == TOPIC else "--namespace-strategy"
    ended = run("schemas", option, code=3)
    assert "orders-value version 2: cannot register a schema: boom" in ended.err
    assert "Warning" not in ended.err
    assert (versions(registry, TOPIC), strategies(registry), run.saved().widened) == ([FIRST], before, [])
    run("schemas", option)
    assert (versions(registry, TOPIC), strategies(registry)) == ([FIRST, REQUIRED, THIRD], before)


@each_old
def test_a_registry_that_is_gone_leaves_the_old_strategy_in_the_state_file_and_says_so(
    run: Migration, registry: LocalRegistry, old: str | None
) -> None:
    registry.store.set_strategy(TOPIC, old)
    registry.fail(Fault(), match=POST)
    registry.fail(Fault.status(503), times=None, match=POST)
    registry.fail(Fault(), match="GET .*CompatibilityStrategy")  # before it is widened
    registry.fail(Fault.status(503), times=None, match="GET .*CompatibilityStrategy")
    ended = run("schemas", "--widen", *QUICK, code=3)
    assert "orders-value version 2: cannot register a schema" in ended.err
    assert f"Warning: the strategy of topic {FULL_NAME} may still be ALWAYS_COMPATIBLE: run this again" in ended.err
    assert run.saved().widened == [Widened("topic", FULL_NAME, old, old or "FULL")]
    assert strategies(registry)[0] == WIDE
    registry.heal()
    report = run("schemas", "--widen", "--json").json
    assert [one["outcome"] for one in report["restored"]] == ["restored", "restored"]
    assert (versions(registry, TOPIC), strategies(registry)[0]) == ([FIRST, REQUIRED, THIRD], old)


@each_old
@pytest.mark.parametrize("place", [FULL_NAME, NAMESPACE])
@pytest.mark.parametrize("more", [(), ("--restore-strategy",)], ids=["the next run", "--restore-strategy"])
def test_what_a_killed_run_left_is_put_back(
    run: Migration, registry: LocalRegistry, place: str, old: str | None, more: tuple[str, ...]
) -> None:
    left_widened(run, old, registry, place)
    code = 0 if more else 1  # the old strategy refuses the second schema
    ended = run("schemas", *more, code=code)
    assert registry.store.strategy(place.removeprefix("persistent://")) == old
    assert run.saved().widened == []
    if more:
        assert f"{place} is put back: {old or 'unset'}" in ended.out
        assert versions(registry, TOPIC) == []


def test_a_run_that_was_killed_before_the_change_has_nothing_to_put_back(
    run: Migration, registry: LocalRegistry
) -> None:
    left_widened(run, "BACKWARD", registry)
    registry.set_strategy("BACKWARD", TOPIC)
    assert "is as it was: BACKWARD" in run("schemas", "--restore-strategy").out
    assert (changes(registry), run.saved().widened) == (0, [])
    assert run("schemas", "--restore-strategy").out == "no strategy has to be put back\n"


@pytest.mark.parametrize("now", ["FULL_TRANSITIVE", None])
def test_a_strategy_that_somebody_else_changed_is_left_alone(
    run: Migration, registry: LocalRegistry, now: str | None
) -> None:
    left_widened(run, "BACKWARD", registry)
    registry.store.set_strategy(TOPIC, now)
    report = run("schemas", "--restore-strategy", "--json").json
    assert report["restored"] == [
        {"scope": "topic", "place": FULL_NAME, "old": "BACKWARD", "outcome": "changed", "now": now}
    ]
    assert (strategies(registry)[0], changes(registry), run.saved().widened) == (now, 0, [])


def test_a_strategy_that_somebody_else_changes_while_schemas_are_copied_is_left_alone(
    run: Migration, registry: LocalRegistry
) -> None:
    gate = threading.Event()
    thread = threading.Thread(target=lambda: (gate.wait(HANG_SECONDS), registry.set_strategy("FORWARD", TOPIC)))
    thread.start()
    original = registry.store.register

    def register(topic: str, data: Any) -> int:
        number = original(topic, data)
        if len(registry.store.versions(topic)) == 3:
            gate.set()
            thread.join(HANG_SECONDS)
        return number

    registry.store.register = register  # type: ignore[method-assign]
    ended = run("schemas", "--widen")
    assert "FORWARD now: somebody else changed it, so it stays; it was unset before" in ended.out
    assert (strategies(registry)[0], run.saved().widened) == ("FORWARD", [])


def test_a_topic_that_was_deleted_meanwhile_has_no_strategy_to_put_back(
    run: Migration, registry: LocalRegistry
) -> None:
    left_widened(run, "BACKWARD", registry)
    registry.store.delete_topic(TOPIC)
    assert "is gone with it" in run("schemas", "--restore-strategy").out
    assert run.saved().widened == []


def test_a_dry_run_after_a_killed_one_goes_by_the_strategy_that_will_be_in_force(
    run: Migration, registry: LocalRegistry
) -> None:
    left_widened(run, None, registry)
    ended = run("schemas", "--dry-run", code=1)
    assert "Checked by the strategy FULL" in ended.out
    assert f"A run before has widened a strategy, which would be put back first: topic {FULL_NAME}" in ended.out
    assert (changes(registry), len(run.saved().widened)) == (0, 1)
    assert run("schemas", "--dry-run", "--widen", "--json").json["widened"]["old"] is None


def test_the_old_strategy_is_in_the_state_file_before_the_strategy_is_changed(
    run: Migration, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: State) -> None:
        if self.widened:
            raise FileError("m.json cannot be written: No space left on device")

    monkeypatch.setattr(State, "save", full)
    ended = run("schemas", "--widen", code=1)
    assert "No space left" in ended.err
    assert (versions(registry, TOPIC), changes(registry), strategies(registry)) == ([], 0, (None, None))


def test_an_interrupt_puts_the_strategy_back(
    run: Migration, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = State.save

    def interrupted(self: State) -> None:
        save(self)
        if len(self.mapping) == 2:
            monkeypatch.undo()
            os.chdir(here)
            raise KeyboardInterrupt

    here = Path().absolute()
    monkeypatch.setattr(State, "save", interrupted)
    run("schemas", "--widen", code=130)
    assert (versions(registry, TOPIC), strategies(registry)) == ([FIRST, REQUIRED], (None, None))
    assert (run.saved().widened, len(run.saved().mapping)) == ([], 2)


@pytest.mark.parametrize("step", [17, pytest.param(5, marks=pytest.mark.long)])
def test_an_interrupt_anywhere_leaves_the_strategy_or_the_way_back(
    run: Migration, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """At every so many bytecodes of strategy.py, in runs that each begin from nothing."""
    monkeypatch.setattr("interrupts.PACKAGE", strategy.__file__)
    for at in itertools.count(1, step):
        registry.store.delete_forever(TOPIC)
        registry.store.set_strategy(TOPIC, "BACKWARD")
        run.state.unlink(missing_ok=True)
        interrupt = interrupted(lambda: copy_schemas(run.saved(), widen="topic"), at)
        now, left = strategies(registry)[0], [entry.old for entry in run.saved().widened]
        assert now == "BACKWARD" or (now, left) == (WIDE, ["BACKWARD"]), f"bytecode {at}"
        if interrupt is None:
            break
    assert at > 150, "hardly anything was interrupted"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM that can be handled")
@pytest.mark.parametrize("kill", ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP"])
@pytest.mark.parametrize(("at", "old"), [(0, None), (2, "BACKWARD")], ids=["widened", "two registered"])
def test_a_process_that_is_ended_leaves_the_strategy_or_the_way_back(
    run: Migration, registry: LocalRegistry, kill: str, at: int, old: str | None
) -> None:
    registry.store.set_strategy(TOPIC, old)
    for _ in range(at):
        registry.fail(Fault(), match=POST)
    registry.fail(Fault.delay(HANG_SECONDS), match=POST)
    process = run.start("schemas", "--widen")
    try:
        until(lambda: registry.calls["POST schema"] == at + 1, f"schema {at} is being registered")
        process.send_signal(getattr(signal, kill))
        until(lambda: process.poll() is not None, "the process ends")
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == {"SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130, "SIGKILL": -9}[kill]
    registry.heal()
    assert len(run.saved().mapping) == at
    if kill == "SIGKILL":
        assert strategies(registry)[0] == WIDE
        assert run.saved().widened == [Widened("topic", FULL_NAME, old, old or "FULL")]
    else:
        assert (strategies(registry)[0], run.saved().widened) == (old, [])
    run("schemas", "--widen")
    assert (versions(registry, TOPIC), strategies(registry)[0]) == ([FIRST, REQUIRED, THIRD], old)
    assert run.saved().mapping == {1: 0, 2: 1, 3: 2}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
def test_a_process_that_ignores_the_end_of_its_terminal_goes_on(run: Migration, registry: LocalRegistry) -> None:
    registry.fail(Fault.delay(2.0), match=POST)
    process = run.start("schemas", "--widen", first="import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    try:
        until(lambda: registry.calls["POST schema"] == 1, "a schema is being registered")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, versions(registry, TOPIC)) == (0, [FIRST, REQUIRED, THIRD])


def test_a_thread_can_widen_too(run: Migration, registry: LocalRegistry) -> None:
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=lambda: copy_schemas(run.saved(), widen="topic"))
    thread.start()
    thread.join(HANG_SECONDS)
    assert versions(registry, TOPIC) == [FIRST, REQUIRED, THIRD]
    copy_schemas(run.saved(), widen="topic")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_change_without_effect_is_an_error(
    run: Migration, registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamnative_serdes.migration.schemas.strategy.EFFECT_SECONDS", 0.3)
    registry.fail(Fault(answer=lambda *_: Answer(204)), match="^PUT .*CompatibilityStrategy")
    ended = run("schemas", "--widen", code=3)
    assert "but the broker still checks by FULL" in ended.err
    assert (versions(registry, TOPIC), strategies(registry), run.saved().widened) == ([], (None, None), [])


def test_the_strategy_in_force_is_found_where_the_topic_refuses_its_own_latest_schema(
    run: Migration, registry: LocalRegistry
) -> None:
    for schema in (FIRST, REQUIRED):  # the latest is refused after the first, by a transitive strategy
        registry.set_strategy(WIDE)
        put(registry, TOPIC, schema)
    registry.set_strategy("FULL_TRANSITIVE")
    assert run("schemas", "--dry-run", "--json", code=1).json["strategy"] == "FULL_TRANSITIVE"
