"""A migration whose broker is killed for up to a minute, or whose registry does not answer for half of one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from copied_topic import LIMIT, Migration
from migrations import messages
from servers import ConfluentRegistry, Kafka, Pulsar

pytestmark = pytest.mark.usefixtures("nothing_is_known")
SILENT = 30.0  # seconds without a registry
COUNT, BAD = 60_000, 20


@pytest.fixture(scope="module")
def kafka_to_kill(servers_at_hand: None) -> Iterator[Kafka]:
    with Kafka() as server:
        yield server


@pytest.fixture(scope="module")
def registry_to_pause(servers_at_hand: None) -> Iterator[ConfluentRegistry]:
    with ConfluentRegistry() as server:
        yield server


@pytest.fixture
def migration(kafka_to_kill: Kafka, registry_to_pause: ConfluentRegistry, pulsar: Pulsar, tmp_path: Path) -> Migration:
    return Migration(kafka_to_kill, registry_to_pause, pulsar, tmp_path)


# Without the option to wait, a run ends after 20 seconds.
@pytest.mark.parametrize(
    ("mode", "away"),
    [("on", 25.0), pytest.param("on", 60.0, marks=pytest.mark.long), pytest.param("off", 60.0, marks=pytest.mark.long)],
)
def test_a_run_waits_for_a_broker_that_was_killed_and_copies_everything(
    migration: Migration, kafka_to_kill: Kafka, mode: str, away: float
) -> None:
    migration.send(messages(COUNT, migration.ids, bad=BAD, damaged=False))
    process = migration.start("--transactions", mode)
    try:
        migration.wait_for(process, 100)
        kafka_to_kill.kill()
        assert process.poll() is None, "it was too fast to be interrupted"
        time.sleep(away)
        assert process.poll() is None, process.communicate()[1].decode()
        kafka_to_kill.start()
        _, said = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        if not kafka_to_kill.alive:
            kafka_to_kill.start()
    assert process.returncode == 0, said.decode()
    assert b"Waiting for a Kafka broker at" in said
    migration.check_everywhere()


def test_a_run_that_may_not_wait_ends_with_an_error_and_goes_on_later(
    migration: Migration, kafka_to_kill: Kafka
) -> None:
    migration.send(messages(COUNT, migration.ids, bad=BAD, damaged=False))
    process = migration.start("--follow", "--wait-for-broker", "5")
    try:
        migration.wait_for(process, 100)
        kafka_to_kill.kill()
        _, said = process.communicate(timeout=2 * LIMIT)
    finally:
        process.kill()
        kafka_to_kill.start()
    assert process.returncode == 3, said.decode()
    assert b"it has answered before: start it again" in said
    assert migration()["ended"]
    migration.check_everywhere()


@pytest.mark.long
def test_a_registry_that_does_not_answer_for_a_while_ends_in_an_error_or_in_a_whole_copy(
    migration: Migration, registry_to_pause: ConfluentRegistry
) -> None:
    migration.send(messages(COUNT, migration.ids, bad=BAD, damaged=False))
    registry_to_pause.pause()
    try:
        process = migration.start()
        time.sleep(SILENT)
    finally:
        registry_to_pause.resume()
    _, said = process.communicate(timeout=LIMIT)
    if process.returncode != 0:
        assert process.returncode == 3, said.decode()
        assert b"Registry" in said
        assert migration()["ended"]
    migration.check_everywhere()
