"""The site that `make site` has built; without it, and without a browser, the tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

BUILT = Path(__file__).parents[2] / "build" / "site"


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder with the pages."""
    if not (BUILT / "index.html").is_file():
        pytest.skip("the site is not built: make site")
    return BUILT


@pytest.fixture(scope="session")
def page(site: Path) -> Iterator[Page]:
    """A page of a headless Chromium."""
    browser = shutil.which("chromium-headless-shell")
    if browser is None:
        pytest.skip("no browser: apt-get install chromium-headless-shell")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make site")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield chromium.new_page()
        chromium.close()
