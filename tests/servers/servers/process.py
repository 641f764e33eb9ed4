"""Server process: starts a Java process with a log, waits until it is ready, and always ends it by its pid.

A test run that dies takes no server down with it, since each is a session of its own, safe from Ctrl-C. That is the
guard's work: one small process that holds the list of pids, and ends them when the run's end of the pipe closes.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

import requests

from .downloads import requirements

# How long it may take to be ready, for the first time and once more: servers have been seen that hang as they start.
READY_SECONDS: tuple[float, ...] = (90.0, 180.0)
_DUMP_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 10.0
_LOG_LINES: Final = 30
_HANGING_LINES: Final = 1000  # all threads
_PORTS: Final = range(15_000, 32_000)

# Starts fastest on few cores.
_SMALL: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LOGGING: Final = """\
Configuration:
  Appenders:
    Console: {name: STDOUT, PatternLayout: {pattern: "%d %-5p %c{1} %m%n"}}
  Loggers:
    Root: {level: warn, AppenderRef: {ref: STDOUT}}
    Logger: [{name: org.apache.kafka.common.utils.AppInfoParser, level: info}]
"""


_given: set[int] = set()


class ServerError(Exception):
    """A server did not start; the text holds the end of its log."""


class Server:
    """A server on loopback. Each start writes on in the same ``folder`` (data and log), so a restart keeps all.

    Args:
        name: what it is called in errors.
        folder: its data and log; None makes a temporary one, which :meth:`close` removes.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name = name
        self._temporary = None if folder else temporary_folder(name)
        self.folder = folder or Path(self._temporary.name)  # type: ignore[union-attr]
        self.log = self.folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    # What a kind of server knows of itself

    def command(self) -> Sequence[str]:
        """What follows ``java``."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether it answers as it should. Errors of connections count as no."""
        raise NotImplementedError

    # Life

    def start(self) -> Self:
        """Start it and wait until it is ready.

        Raises:
            ServerError: it died, or is not ready in time.
        """
        self.launch()
        self.wait()
        return self

    def launch(self) -> None:
        """Start it, and do not wait."""
        (self.folder / "log4j2.yaml").write_text(_LOGGING)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(requirements().java), *_SMALL, *self.command()],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _Guard.of_this_process().tell(f"+{self._process.pid}")

    def wait(self) -> None:
        """Wait until it is ready. One that hangs shows on stderr what its threads do, and is started once more.

        Raises:
            ServerError: it died, or is not ready in time.
        """
        for seconds in READY_SECONDS:
            if self._is_ready_within(seconds):
                return
            hangs = f"{self.name} is not ready after {seconds:.0f} s\n{self._threads()}"
            self.kill()
            if seconds != READY_SECONDS[-1]:
                print(hangs, "--- it is started once more", sep="\n", file=sys.stderr)
                self.launch()
        raise ServerError(hangs)

    def _is_ready_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._answers():
            if not self.alive:
                raise ServerError(f"{self.name} died as it started\n{self.end_of_log()}")
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def _threads(self) -> str:
        """The end of its log after it was asked, as one asks Java, what its threads do."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        time.sleep(_DUMP_SECONDS)
        return self.end_of_log(_HANGING_LINES)

    def _answers(self) -> bool:
        try:
            return self.ready()
        except (OSError, requests.RequestException):
            return False

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ask it to end, and wait; what does not end in time is killed."""
        self._end(lambda process: process.terminate())

    def kill(self) -> None:
        """SIGKILL, as when the machine's power fails."""
        self._end(lambda process: process.kill())

    def close(self) -> None:
        """End it and remove its data. SIGKILL: nobody needs what an orderly end would write."""
        self.kill()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self, ask: Callable[[subprocess.Popen[bytes]], None]) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        ask(process)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _Guard.of_this_process().tell(f"-{process.pid}")

    def end_of_log(self, count: int = _LOG_LINES) -> str:
        """The last ``count`` lines that it wrote."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"--- end of {self.name}'s log", *lines[-count:]])


class _Guard:
    """The process that ends what this one leaves behind; started with the first server."""

    _one: _Guard | None = None

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("guard.py"))],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @classmethod
    def of_this_process(cls) -> _Guard:
        if cls._one is None:
            cls._one = cls()
        return cls._one

    def tell(self, line: str) -> None:
        """As guard.py reads it."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()


def temporary_folder(name: str) -> tempfile.TemporaryDirectory[str]:
    """A folder for a server's data, removed in any case."""
    folder = tempfile.TemporaryDirectory(prefix=f"{name}-", ignore_cleanup_errors=True)
    _Guard.of_this_process().tell(folder.name)
    return folder


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, and that this process has not been given before.

    From below those that systems give to outgoing connections, of which one could take it before its server does.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(_PORTS.start, _PORTS.stop)
        if port not in _given and _is_free(port):
            _given.add(port)
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    """Whether somebody takes connections there.

    Raises:
        OSError: nobody does.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=2):
        return True


def properties(*groups: dict[str, object]) -> str:
    """The text of a ``.properties`` file; later groups win."""
    merged: dict[str, object] = {}
    for group in groups:
        merged |= group
    return "".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}\n" for key, value in merged.items()
    )
