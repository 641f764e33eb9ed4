"""Sites of several versions beside each other, with a list of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from publish_site import newest_first, publish


def test_a_site_replaces_that_of_its_version_and_is_listed(tmp_path: Path) -> None:
    pages, site = tmp_path / "pages", tmp_path / "site"
    site.mkdir()
    for name in ("main", "v0.9.0", "v0.10.0", "v0.9.0"):
        (site / "index.html").write_text(name)
        publish(pages, site, name)
    (site / "index.html").unlink()
    assert json.loads((pages / "versions.json").read_text()) == ["v0.10.0", "v0.9.0", "main"]
    assert 'url=v0.10.0/"' in (pages / "index.html").read_text()
    assert (pages / "main" / "index.html").read_text() == "main"


def test_releases_come_first_by_number() -> None:
    assert newest_first(["main", "v1.2", "v1.10", "v1.2.1", "next"]) == ["v1.10", "v1.2.1", "v1.2", "main", "next"]


def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="without a slash"):
        publish(tmp_path, tmp_path, "../other")
