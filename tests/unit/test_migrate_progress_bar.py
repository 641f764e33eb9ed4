"""The progress bar of a migration: what a terminal shows, and that there is none without one."""

from __future__ import annotations

import io
import sys

import pytest

from streamnative_serdes.cli.migrate.progress_bar import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, silent: bool = False) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("copying", 10, silent=silent) as bar:
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


@pytest.mark.parametrize(("stream", "silent"), [(io.StringIO(), False), (Terminal(), True)])
def test_without_a_terminal_or_for_programs_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, silent: bool
) -> None:
    assert shown(monkeypatch, stream, silent=silent) == ""
