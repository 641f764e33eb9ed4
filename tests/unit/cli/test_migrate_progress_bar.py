"""The progress of a migration: what a terminal shows, and a line a minute without one."""

from __future__ import annotations

import io
import sys

import pytest

from streamnative_serdes.cli.migrate import steps as module
from streamnative_serdes.cli.migrate.steps import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, silent: bool = False) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "as_json", lambda: silent)
    with progress_bar("copying") as bar:
        bar.advance(3)
        bar.expect(20)
        bar.advance(4)
        bar.lag(12_345)
    return stream.getvalue()


def test_a_terminal_shows_the_messages_done_and_the_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())
    assert "copying" in text
    assert "7/20" in text.replace(" ", "")
    assert "lag 12,345" in text


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_for_programs_nothing_is_shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> None:
    assert shown(monkeypatch, stream, silent=True) == ""


def test_without_a_terminal_a_line_is_shown_every_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    assert shown(monkeypatch, io.StringIO()) == ""  # it took no time
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("copying") as bar:
        for passed, done in ((59.0, 2_000), (1.0, 1_000), (30.0, 500), (30.0, 500), (60.0, 0)):
            now[0] += passed
            bar.advance(done)
            bar.expect(10_000)
            bar.lag(7_000)
    assert stream.getvalue().splitlines() == [
        "copying: 3,000 of 10,000 messages, 50 messages/s, lag 7,000",
        "copying: 4,000 of 10,000 messages, 17 messages/s, lag 7,000",
        "copying: 4,000 of 10,000 messages, 0 messages/s, lag 7,000",
    ]
