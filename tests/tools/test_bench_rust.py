"""``make bench-rust``: what it says without cargo, and the versions that it compiles."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "benchmarks" / "arrow_avro"
INDEX = "registry+https://github.com/rust-lang/crates.io-index"


def locked() -> list[dict[str, str]]:
    return tomllib.loads((CRATE / "Cargo.lock").read_text())["package"]


def test_without_cargo_it_says_so_and_ends_with_status_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "arrow_avro.py"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "`cargo` is not in PATH" in done.stderr
    assert done.stdout == ""


def test_the_lock_file_names_the_public_index_only() -> None:
    assert {package.get("source") for package in locked()} == {INDEX, None}  # None: the crate itself
    assert [package["name"] for package in locked() if "source" not in package] == ["arrow-avro-peer"]


def test_the_lock_file_has_the_versions_of_arrow_that_are_asked_for() -> None:
    asked = tomllib.loads((CRATE / "Cargo.toml").read_text())["dependencies"]
    versions = {name: kind if isinstance(kind, str) else kind["version"] for name, kind in asked.items()}
    found = {package["name"]: f"={package['version']}" for package in locked()}
    assert versions == {name: found[name] for name in versions}
    assert "arrow-avro" in versions
