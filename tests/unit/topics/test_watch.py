"""The watch thread checks topics as long as there are any, and is restarted after whatever ended it."""

from __future__ import annotations

import threading

import pytest
from interrupts import each_interrupt
from waiting import until

from streamnative_serdes._topics.watch import Watch


class Owner:
    """An owner whose check can be made to fail."""

    def __init__(self) -> None:
        self.looks = 0
        self.fails: BaseException | None = None
        self.watch = Watch(0.01, self.look)

    def look(self) -> None:
        self.looks += 1
        if self.fails:
            raise self.fails


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "streamnative_serdes watch"}


def test_one_thread_checks_repeatedly_until_it_is_stopped() -> None:
    before, owner = threads(), Owner()
    for _ in range(3):
        owner.watch.ensure()
    (thread,) = threads() - before
    until(lambda: owner.looks >= 3)
    owner.watch.stop()
    until(lambda: not thread.is_alive())
    looks = owner.looks
    owner.watch.ensure()
    until(lambda: owner.looks > looks)
    owner.watch.stop()


def test_the_thread_survives_errors_of_checks_and_logs_each_kind_once(caplog: pytest.LogCaptureFixture) -> None:
    before, owner = threads(), Owner()
    owner.watch.ensure()
    for error in (ValueError("first"), RecursionError("second"), ValueError("third")):
        owner.fails, looks = error, owner.looks
        until(lambda: owner.looks > looks + 2)  # noqa: B023
    assert len(threads() - before) == 1
    owner.fails, looks = None, owner.looks
    until(lambda: owner.looks > looks)
    owner.watch.stop()
    told = [record for record in caplog.records if "checking the topics in use failed" in record.getMessage()]
    assert [record.exc_info and record.exc_info[0] for record in told] == [ValueError, RecursionError]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_after_an_interrupt_the_next_use_restarts_the_thread() -> None:
    before, owner = threads(), Owner()
    owner.fails = KeyboardInterrupt()
    owner.watch.ensure()
    until(lambda: owner.looks == 1 and not threads() - before)
    owner.fails = None
    owner.watch.ensure()
    until(lambda: owner.looks >= 3)
    owner.watch.stop()


def test_after_each_interrupt_of_its_start_the_thread_checks_and_can_be_stopped() -> None:
    before, owners = threads(), [Owner()]
    for _ in each_interrupt(lambda: owners[-1].watch.ensure()):
        owner = owners[-1]
        owner.watch.ensure()
        until(lambda: owner.looks >= 1)  # noqa: B023
        owner.watch.stop()
        until(lambda: not threads() - before)
        owners.append(Owner())


def test_if_two_threads_start_at_once_only_one_remains() -> None:
    before, owner = threads(), Owner()
    owner.watch._start()  # two threads call ensure() and find that none is running
    owner.watch._start()
    until(lambda: len(threads() - before) == 1)
    looks = owner.looks
    until(lambda: owner.looks > looks)
    owner.watch.stop()
    until(lambda: not threads() - before)


def test_the_thread_does_not_keep_its_owner_alive() -> None:
    before, owners = threads(), [Owner()]
    owners[0].watch.ensure()
    (thread,) = threads() - before
    until(lambda: owners[0].looks >= 1)
    owners.clear()
    until(lambda: not thread.is_alive())


def test_without_a_thread_nothing_fails(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    Owner().watch.ensure()
    assert "cannot start the thread that checks for recreated topics: can't start new thread" in caplog.text
