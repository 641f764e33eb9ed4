"""The check before a release: Pythons that cannot be had are named, and so is what only a person can do."""

from __future__ import annotations

import shutil
from pathlib import Path

import debian_python
import pytest
import release_check


def test_a_python_that_cannot_be_had_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(release_check, "ROOT", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert release_check.found("3.99") is None
    said = capsys.readouterr().out
    assert said.startswith("skipped: Python 3.99 is neither installed here nor to be had from Debian: apt-get, ")


def test_a_python_that_was_unpacked_before_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "3.99.done").touch()
    assert debian_python.python("3.99", tmp_path) == tmp_path / "3.99" / "usr" / "bin" / "python3.99"


def test_the_archive_is_the_one_that_apt_knows_for_debian_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "Debian trixie-security http://a/s\nOther trixie http://b/\nDebian trixie http://a/debian\n\n"
    monkeypatch.setattr(debian_python, "said", lambda *command: lines)
    assert debian_python.mirror() == "http://a/debian"
    monkeypatch.setattr(debian_python, "said", lambda *command: "Other trixie http://b/\n")
    with pytest.raises(debian_python.MissingPythonError, match="does not know Debian"):
        debian_python.mirror()


@pytest.mark.parametrize(
    ("urls", "missing"), [({}, "Homepage, Documentation, Issues, Changelog"), ({"Homepage": "x"}, "Documentation, ")]
)
def test_addresses_that_the_metadata_lack_are_named(urls: dict[str, str], missing: str) -> None:
    assert missing in release_check.left_to_a_person({"version": "1.0", "urls": urls})
