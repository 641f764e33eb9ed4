"""Server process: starts a Java process with a log, waits until it is ready, and always ends it by its pid.

Each server is its own session, safe from Ctrl-C, so it would survive a test run that dies. Therefore a guard, one small
process with the list of pids, ends the servers when the run's end of the pipe closes.
"""

from __future__ import annotations

import os
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

# Time limits until a server is ready, at the first and the second start: some were observed to hang at start.
READY_SECONDS: tuple[float, ...] = (90.0, 180.0)
_DUMP_SECONDS: Final = 2.0
_STOP_SECONDS: Final = 10.0
_KEEP_SECONDS: Final = 180.0
_LOG_LINES: Final = 30
_HANGING_LINES: Final = 1000  # enough for all threads
_PORTS: Final = range(15_000, 32_000)

# These options start fastest on few cores.
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
    """A server did not start; the text contains the end of its log."""


class Startable:
    """Started by a ``with`` statement, and closed at the end of its block, also if it does not start."""

    def start(self) -> Self:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()


class Server(Startable):
    """A server on loopback. Each start writes on in the same ``folder`` (data and log), so a restart keeps all.

    Args:
        name: its name in errors.
        folder: for data and log; None creates a temporary one, which :meth:`close` removes.
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name = name
        self._temporary = None if folder else temporary_folder(name)
        self.folder = folder or Path(self._temporary.name)  # type: ignore[union-attr]
        self.log = self.folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._keeping: tuple[str, ...] = ()

    # Defined by each kind of server

    def command(self) -> Sequence[str]:
        """Return the arguments of ``java``."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether the server responds as it should. Connection errors count as no."""
        raise NotImplementedError

    # Starting and stopping

    def start(self) -> Self:
        """Start the server and wait until it is ready.

        Raises:
            ServerError: it died, or is not ready in time.
        """
        self.launch()
        self.wait()
        return self

    def launch(self) -> None:
        """Start the server without waiting."""
        (self.folder / "log4j2.yaml").write_text(_LOGGING)
        command = self.command()
        kept = _classes(command)
        shared = [f"-XX:SharedArchiveFile={kept}"] if kept is not None and kept.exists() else []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(requirements().java), *_SMALL, *(self._keeping or shared), *command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _Guard.of_this_process().tell(f"+{self._process.pid}")

    def keep_classes(self) -> None:
        """Keep the classes that a start loads beside their jars: later starts take about half of the processor's time.

        Java ignores what it kept for other jars or for another version of itself.
        """
        kept = _classes(self.command())
        if kept is None or kept.exists():
            return
        beside = kept.with_suffix(f".{os.getpid()}")
        self._keeping = (f"-XX:ArchiveClassesAtExit={beside}",)
        with self:
            assert self._process is not None
            self._process.terminate()
            self._process.wait(_KEEP_SECONDS)
        if beside.exists():  # else Java has said why in the log, and servers start without it
            beside.replace(kept)

    def wait(self) -> None:
        """Wait until the server is ready. If it hangs, dump its threads to stderr and start it once more.

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
        """Let Java dump its threads to the log, and return the end of the log."""
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
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop the server, and wait; it is killed if it does not end in time."""
        self._end(lambda process: process.terminate())

    def kill(self) -> None:
        """Send SIGKILL, which acts like a power failure."""
        self._end(lambda process: process.kill())

    def pause(self) -> None:
        """Send SIGSTOP: the server takes connections and does not answer, until :meth:`resume`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Send SIGCONT."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Kill the server and remove its data. An orderly stop would only write data that nobody needs."""
        self.kill()
        if self._temporary is not None:
            self._temporary.cleanup()

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
        """Return the last ``count`` lines of the log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"--- end of {self.name}'s log", *lines[-count:]])


def _classes(command: Sequence[str]) -> Path | None:
    """The file with the classes of a folder of jars, if the arguments of ``java`` name such a folder."""
    return Path(command[command.index("-cp") + 1]).parent / "classes.jsa" if "-cp" in command else None


class _Guard:
    """The process that ends servers that this process leaves behind; started with the first server."""

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
        """Send a line to the guard, in the format of guard.py."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()


def temporary_folder(name: str) -> tempfile.TemporaryDirectory[str]:
    """Create a folder for a server's data, which is removed in any case."""
    folder = tempfile.TemporaryDirectory(prefix=f"{name}-", ignore_cleanup_errors=True)
    _Guard.of_this_process().tell(folder.name)
    return folder


def free_ports(count: int) -> list[int]:
    """Return loopback ports on which nothing listens, and which this function has not returned before.

    They are below the range that systems use for outgoing connections, which could take a port before its server does.
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
    """Return True if a server accepts connections on the port.

    Raises:
        OSError: nothing listens on the port.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=2):
        return True


def properties(*groups: dict[str, object]) -> str:
    """Return the text of a ``.properties`` file; later groups override earlier ones."""
    merged: dict[str, object] = {}
    for group in groups:
        merged |= group
    return "".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}\n" for key, value in merged.items()
    )
