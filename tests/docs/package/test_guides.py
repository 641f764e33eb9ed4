"""Guides are short, and each page is in the site's navigation once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
TREES = dict(
    re.findall(r"(?s)```\{toctree\}\n:caption: (\w+)\n:hidden:\n\n(.*?)\n```", (DOCS / "index.md").read_text())
)
WORDS = 1500


@pytest.mark.parametrize("page", (TREES["Start"] + "\n" + TREES["Guides"]).split())
def test_a_guide_has_at_most_1500_words(page: str) -> None:
    """As `wc -w` counts; what is longer is two guides, or has a reference in it."""
    assert len((DOCS / f"{page}.md").read_text().split()) <= WORDS


def test_each_page_is_in_the_navigation_once() -> None:
    listed = [page for tree in TREES.values() for page in tree.split() if "/" not in page]
    assert sorted(listed) == sorted(path.stem for path in DOCS.glob("*.md") if path.stem != "index")
