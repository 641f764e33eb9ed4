"""Worker processes: the objects and the directories of archives that each keeps from task to task, and its packages.

Spark unpickles a job's objects again for each task. So expensive objects (a deserializer with its compiled schemas, a
producer with its connections) are created once per process and cached by their configuration. Objects from before a
fork are not used after it, since connections and threads do not survive a fork.

Workers run the Python of ``PYSPARK_PYTHON``, or else the first ``python3`` on PATH, even if the driver runs that of a
virtual environment. The error is then a ModuleNotFoundError somewhere in hundreds of lines.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from zipimport import ZipImportError, zipimporter

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext, TaskContext, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamnative_serdes._topics.watch import Watch

logger = logging.getLogger(__name__)

_MOST: Final = 64  # cached objects; the oldest are evicted
_T = TypeVar("_T")


class Carried(Generic[_T]):
    """A pickled value for workers; each worker process unpickles it only once, for all its tasks.

    A SerDes takes its cached schemas along, so a worker need not fetch them. It does not watch for recreated topics:
    the driver does that.
    """

    def __init__(self, value: _T) -> None:
        self.packed = self.pack(value)
        self._key = blake2b(self.packed).digest()

    def get(self) -> _T:
        """The value; the same object each time within a process."""
        if TaskContext.get() is not None:
            Watch.allowed = False
        return _shelf.own.get(self._key, self.unpack)

    def pack(self, value: _T) -> bytes:
        """The bytes of the pickle; a subclass may pack otherwise."""
        return _packed(value)

    def unpack(self) -> _T:
        """The value from the bytes."""
        value: _T = pickle.loads(self.packed)  # noqa: S301 - the driver made it
        return value


def key_of(*parts: object) -> bytes:
    """A key for :func:`kept`, equal for equal configurations."""
    return blake2b(_packed(parts)).digest()


def _packed(value: object) -> bytes:
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed


def kept(key: bytes, make: Callable[[], _T]) -> _T:
    """This process's object for ``key``, created on first use."""
    return _shelf.own.get(key, make)


class _Shelf:
    """The objects of one process; a lock guards them, also while one is made, so that each is made once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # an object may need another one
        self._things: dict[bytes, Any] = {}

    def get(self, key: bytes, make: Callable[[], _T]) -> _T:
        with self._lock:
            thing: _T
            if key in self._things:
                thing = self._things[key]
            else:
                thing = self._things[key] = make()
                keep_archives()  # of the packages that it has imported, too
                while len(self._things) > _MOST:
                    del self._things[next(iter(self._things))]
            return thing


class _Archive(zipimporter):
    """Imports from an archive on ``sys.path``, and reads its directory again only if the file has changed."""

    def __init__(self, path: str, state: object) -> None:
        super().__init__(path)
        self._known = state

    def invalidate_caches(self) -> None:
        state = _state_of(self.archive)
        if state != self._known:
            super().invalidate_caches()
            self._known = state

    def __reduce__(self) -> tuple[type[zipimporter], tuple[str]]:
        return zipimporter, (os.path.join(self.archive, self.prefix),)


def _state_of(path: str) -> object:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def keep_archives() -> None:
    """Let the archives that this process imports from be read again only if their files have changed.

    Workers of PySpark 4.0 call ``importlib.invalidate_caches`` before each task, and before each question of the
    driver; those of 4.3 only if the path has changed. Python then reads the directory of ``pyspark.zip`` again for each
    package in it, which took most of the time of a query of few rows.
    """
    states: dict[str, object] = {}
    for path, finder in list(sys.path_importer_cache.items()):
        if type(finder) is not zipimporter:
            continue
        if finder.archive not in states:
            states[finder.archive] = _state_of(finder.archive)
            finder.invalidate_caches()  # it may have been read before the file changed
        with suppress(ZipImportError):  # the file is gone
            sys.path_importer_cache[path] = _Archive(path, states[finder.archive])


class OfProcess(Generic[_T]):
    """An object of which each process has its own: a forked child creates another one.

    The child keeps the parent's object alive: closing a Kafka client would wait for threads that no longer exist.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make, self._inherited = make, list[_T]()
        self.own = make()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._inherited.append(self.own)
        self.own = self._make()


_shelf: Final = OfProcess(_Shelf)
keep_archives()


_NEEDED: Final = ("streamnative_serdes", "confluent_kafka", "pandas", "pyarrow")
_LOOK: Final = "import sys; from importlib.util import find_spec; print(*(n for n in sys.argv[1:] if not find_spec(n)))"
_LOOK_SECONDS: Final = 30
_MISSING: Final = re.compile(rf"No module named '({'|'.join(_NEEDED)})\b")


def warn_of_workers(session: SparkSession) -> None:
    """Log which packages the workers' Python lacks, if tasks run on this machine with another Python than the driver.

    DataFrames are evaluated later, outside our calls, so we cannot add a hint to their errors.
    """
    try:
        context = session.sparkContext
    except PySparkException:  # Spark Connect: the workers are those of a server
        return
    python = shutil.which(context.pythonExec)
    local = (context.master or "").startswith("local")
    if local and python and Path(python).absolute() != Path(sys.executable).absolute():
        _warn(python, _paths(context))


@cache
def _warn(python: str, paths: str) -> None:
    """Log the warning once per Python."""
    look = [python, "-c", _LOOK, *_NEEDED]
    try:
        found = subprocess.run(
            look,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=_LOOK_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return  # it is not a working Python: Spark reports that itself
    if missing := found.stdout.split():
        logger.warning("Spark's workers run %s, which lacks %s; %s", python, ", ".join(missing), _remedy())


def _paths(context: SparkContext) -> str:
    """The workers' PYTHONPATH as Spark composes it, without Spark's own paths."""
    given = (context.environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH"))
    return os.pathsep.join(path for path in given if path)


@contextmanager
def worker_hints() -> Iterator[None]:
    """Add a hint to the error of a job inside the block if a worker lacks a required package."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        found = _MISSING.search(str(error))
        if found:
            error.add_note(f"Spark's workers run a Python that lacks {found[1]} (hint: {_remedy()})")
        raise


def _remedy() -> str:
    return (
        f"before the session starts, set PYSPARK_PYTHON to a Python that has it, such as {sys.executable}, or "
        "install the package with its extra [spark] there"
    )
