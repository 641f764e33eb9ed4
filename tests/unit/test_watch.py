"""A watch looks for as long as there is something to look after, and starts again after whatever ended it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from streamnative_serdes.watch import Watch

PATIENCE = 30.0  # seconds until a test that waits for ever fails


class Owner:
    """Looks, and fails while it is told to."""

    def __init__(self) -> None:
        self.looks = 0
        self.fails = False
        self.watch = Watch(0.01, self.look)

    def look(self) -> None:
        self.looks += 1
        if self.fails:
            raise OSError("as told")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "streamnative_serdes watch"}


def test_it_looks_again_and_again_in_one_thread_until_it_is_stopped() -> None:
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_after_a_failure_the_next_question_starts_it_again() -> None:
    before, owner = threads(), Owner()
    owner.fails = True
    owner.watch.ensure()
    until(lambda: owner.looks == 1 and not threads() - before)
    owner.fails = False
    owner.watch.ensure()
    until(lambda: owner.looks >= 3)
    owner.watch.stop()


def test_it_keeps_nobody_alive() -> None:
    before, owners = threads(), [Owner()]
    owners[0].watch.ensure()
    (thread,) = threads() - before
    until(lambda: owners[0].looks >= 1)
    owners.clear()
    until(lambda: not thread.is_alive())


def test_where_no_thread_can_be_had_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    Owner().watch.ensure()
    assert "topics are not watched for being made anew: can't start new thread" in caplog.text
