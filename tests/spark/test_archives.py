"""Archives on the path of Spark's workers: their directories are read again only if the files change."""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
import zipfile
import zipimport
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamnative_serdes.spark.session.workers import keep_archives

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An archive with two packages, which are imported."""
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    path = tmp_path / "users.zip"
    fill(path, "users_one/__init__.py", "users_two/__init__.py")
    monkeypatch.syspath_prepend(str(path))
    for package in ("users_one", "users_two"):
        importlib.import_module(package)
        with pytest.raises(ImportError):  # so that its own path is searched
            importlib.import_module(f"{package}.absent")
    yield path
    for name in [name for name in sys.modules if name.startswith("users_")]:
        del sys.modules[name]


def fill(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, f"NAME = {name!r}\n")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The archives whose directories are read, in this order."""
    found: list[str] = []
    read: Any = zipimport._read_directory  # type: ignore[attr-defined]
    monkeypatch.setattr(zipimport, "_read_directory", lambda path: [found.append(path), read(path)][1])
    return found


def looks(reads: list[str], archive: Path) -> int:
    """How often the archive is read when caches are invalidated and a module is looked for, as before a task."""
    reads.clear()
    importlib.invalidate_caches()
    assert importlib.util.find_spec("users_nowhere") is None  # from Python 3.13 on, this reads the directory
    return reads.count(str(archive))


def test_an_archive_is_read_again_only_after_it_has_changed(archive: Path, reads: list[str]) -> None:
    assert looks(reads, archive) >= 1, "as Python does"
    keep_archives()
    keep_archives()
    assert [looks(reads, archive) for _ in range(2)] == [0, 0]
    for number in range(2):
        before = archive.stat()
        fill(archive, "users_one/__init__.py", f"users_new{number}.py")
        os.utime(archive, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        assert looks(reads, archive) >= 1
        assert importlib.import_module(f"users_new{number}").NAME == f"users_new{number}.py"
        assert looks(reads, archive) == 0


def test_an_archive_that_changed_before_it_is_kept_is_read_again(archive: Path) -> None:
    fill(archive, "users_early.py")
    keep_archives()
    importlib.invalidate_caches()
    assert importlib.import_module("users_early").NAME == "users_early.py"


def test_an_archive_that_is_gone_and_comes_back_is_read_again(archive: Path) -> None:
    keep_archives()
    archive.unlink()
    importlib.invalidate_caches()
    with pytest.raises(ImportError):
        importlib.import_module("users_late")
    keep_archives()
    fill(archive, "users_late.py")
    importlib.invalidate_caches()
    assert importlib.import_module("users_late").NAME == "users_late.py"


def test_what_imports_from_an_archive_is_pickled_as_pythons_own(archive: Path) -> None:
    keep_archives()
    finders: list[Any] = [each for path, each in sys.path_importer_cache.items() if path.startswith(str(archive))]
    assert len(finders) == 3, "of the archive and of each package"
    for finder in finders:
        again = pickle.loads(pickle.dumps(finder))
        assert type(again) is zipimport.zipimporter
        assert (again.archive, again.prefix) == (finder.archive, finder.prefix)


def test_a_worker_reads_no_archive_again(spark: SparkSession) -> None:
    """In a task, the archives of Spark, and its jars, are on the path."""

    def look(_: Any) -> list[tuple[int, int]]:
        import importlib.util
        import sys
        import zipimport

        from streamnative_serdes.spark.session import workers  # noqa: F401 - as a task of ours does

        read, found = zipimport._read_directory, list[str]()  # type: ignore[attr-defined]
        zipimport._read_directory = lambda path: [found.append(path), read(path)][1]  # type: ignore[attr-defined]
        try:
            importlib.invalidate_caches()
            importlib.util.find_spec("nowhere")  # from Python 3.13 on, this reads the directories
        finally:
            zipimport._read_directory = read  # type: ignore[attr-defined]
        archives = [each for each in sys.path_importer_cache.values() if isinstance(each, zipimport.zipimporter)]
        return [(len(archives), len(found))]

    ((archives, read),) = spark.sparkContext.parallelize([0], 1).mapPartitions(look).collect()
    assert archives > 1, "pyspark is imported from its archive"
    assert read == 0
