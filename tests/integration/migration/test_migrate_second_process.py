"""Two processes that copy to one topic: one ends with an error that says so, and each message is there once."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer
from copied_topic import LIMIT, Migration
from migrations import messages

from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration import Report, TopicCopy, Wishes
from streamnative_serdes.migration.copying import progress

pytestmark = pytest.mark.usefixtures("nothing_is_known")
MODES = pytest.mark.parametrize("mode", ["on", "off"])


@pytest.mark.promise("one-process")
@MODES
@pytest.mark.parametrize("at", [0, 2_000, 6_000])
def test_the_process_that_began_first_ends_wherever_it_is(migration: Migration, mode: str, at: int) -> None:
    """The second process runs to its end while the first one has messages that are not committed, or none."""
    migration.send(messages(6_000, migration.ids, bad=7, damaged=False))
    told: list[Any] = []
    read_so_far = 0

    def start_another(report: Report) -> None:
        nonlocal read_so_far
        read_so_far += 1
        if not told and (read_so_far > at // 2_000 or report.copied):
            told.append(migration("--transactions", mode))

    with pytest.raises(SerdesError, match="another process copies to topic") as caught:
        TopicCopy(migration.state, Wishes(transactions=mode == "on", follow=True), start_another).run()
    assert "only one process may copy" in str(caught.value.hint)
    assert told[0]["ended"]
    migration.check_everywhere()
    assert migration("--transactions", mode)["lag"] == 0
    migration.check_everywhere()


def test_a_run_goes_on_after_the_broker_has_fenced_it_with_its_transaction(
    migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that aborts a transaction after its time fences the producer, as a second producer of its name does."""
    monkeypatch.setattr(progress, "_CLAIM_SECONDS", 1.0)
    migration.send(messages(3_000, migration.ids, bad=7, damaged=False))
    fenced: list[Producer] = []

    def fence(report: Report) -> None:
        if not fenced and report.lag < 3_000:  # a transaction is open
            conf = {"transactional.id": f"streamnative-serdes.migrate.{migration.target}"}
            fenced.append(Producer({"bootstrap.servers": migration.kafka, **conf}))
            fenced[0].init_transactions(LIMIT)

    report = TopicCopy(migration.state, Wishes(accept=["message-size"]), fence).run()
    assert (report.ended, report.copied, report.bad) == (True, 2_993, 7)
    migration.check_everywhere()


@MODES
def test_of_two_processes_that_start_together_one_copies_everything(migration: Migration, mode: str) -> None:
    migration.send(messages(30_000, migration.ids, bad=7, damaged=False))
    running = [migration.start("--transactions", mode) for _ in range(2)]
    try:
        said = [process.communicate(timeout=LIMIT)[1].decode() for process in running]
    finally:
        for process in running:
            process.kill()
    codes = [process.returncode for process in running]
    assert 0 in codes, said
    for code, words in zip(codes, said, strict=True):
        assert code == 0 or (code == 1 and "another process copies to topic" in words), words
        assert "SystemError" not in words
    migration.check_everywhere()


def test_a_second_process_copies_as_the_first_one_does(migration: Migration) -> None:
    migration.send(messages(300, migration.ids))
    failed: list[Any] = []

    def start_another(report: Report) -> None:
        if not failed:
            failed.append(migration("--transactions", "off", code=2))
            failed.append(migration("--keys", "strip", code=2))

    report = TopicCopy(migration.state, Wishes(), start_another).run()
    assert report.copied == 300
    assert "was begun with transactions" in failed[0]["message"]
    assert "was begun with --keys keep" in failed[1]["message"]
    migration.check_target()
