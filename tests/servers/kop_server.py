"""A real KoP, from the script ``../shared/servers/kop`` beside the checkout, or at an address that is given.

``STREAMNATIVE_SERDES_KOP="KAFKA_ADDRESS ADMIN_URL"`` names one that runs, with a transaction coordinator and without
authentication; tests that need another one are skipped then.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

SCRIPT: Final = Path(__file__).parents[3] / "shared" / "servers" / "kop"
ADDRESS: Final = "STREAMNATIVE_SERDES_KOP"
_PORTS: Final = 5  # the script takes the given one and those behind it
_START_SECONDS: Final = 500.0  # the first start downloads it
_CONNECT_SECONDS: Final = 10.0
_LOG_CHARACTERS: Final = 10_000


@dataclass(frozen=True)
class Kop:
    """Its addresses; ``tokens`` has a file ``ROLE.jwt`` for each role, if it requires them."""

    kafka: str
    url: str
    tokens: Path | None = None

    def token(self, role: str) -> str:
        assert self.tokens is not None
        return (self.tokens / f"{role}.jwt").read_text()


def _free_port() -> int:
    """The first of some ports in a row that nobody uses."""
    while True:
        first = random.randrange(20_000, 32_000)  # below those of outgoing connections
        others = [socket.socket() for _ in range(_PORTS)]
        try:
            for place, each in enumerate(others):
                each.bind(("127.0.0.1", first + place))
        except OSError:
            continue
        finally:
            for each in others:
                each.close()
        return first


@contextmanager
def kop_server(folder: Path, *arguments: str) -> Iterator[Kop]:
    """Start one with these arguments of the script; the test is skipped if the script does not exist."""
    given = os.environ.get(ADDRESS)
    if given is not None:
        if arguments:
            pytest.skip(f"{ADDRESS} names a KoP, which cannot be started with {' '.join(arguments)}")
        yield Kop(*given.split())
        return
    if not SCRIPT.exists():
        pytest.skip(f"there is no ../shared/servers/kop beside the checkout, and no {ADDRESS}")
    run = folder / "kop"
    try:
        port = _started(run, arguments)
        address, admin = f"127.0.0.1:{port}", f"http://127.0.0.1:{port + 2}"
        yield Kop(address, admin, run if "--token" in arguments else None)
    finally:
        _stop(run)


def _started(run: Path, arguments: tuple[str, ...]) -> int:
    """Start a KoP, and return the port of its Kafka protocol. One in some hundred hangs while it starts."""
    for _ in range(2):
        port = _free_port()
        started = _script("up", *arguments, KOP_RUN=str(run), KOP_PORT=str(port))
        assert started.returncode == 0, started.stderr + started.stdout
        with suppress(OSError), socket.create_connection(("127.0.0.1", port + 2), _CONNECT_SECONDS):
            return port
        log = (run / "kop.log").read_text(errors="replace")
        print(f"KoP has no admin API after its start; the end of its log:\n{log[-_LOG_CHARACTERS:]}")
        _stop(run)
    raise AssertionError("KoP did not become ready, twice")


def _stop(run: Path) -> None:
    with suppress(OSError, ValueError):  # nothing of it is needed any more, so it need not end in order
        os.kill(int((run / "kop.pid").read_text()), signal.SIGKILL)
    _script("down", KOP_RUN=str(run))


def _script(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        env={**os.environ, "PYTHON": sys.executable, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=_START_SECONDS,
    )
