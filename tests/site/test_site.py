"""The site of the documentation: no link leads nowhere, every name is found, and pages fit wide and narrow screens."""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from streamnative_serdes import _config as config
from streamnative_serdes import errors

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "site-pictures"
COMMANDS = (
    "convert",
    "decode",
    "migrate plan",
    "migrate schemas",
    "migrate topic",
    "migrate verify",
    "ping",
    "produce",
)
SPARK = (
    "startingOffsets",
    "maxOffsetsPerTrigger",
    "failOnDataLoss",
    "errorColumn",
    "delivery",
    "dedupHeaders",
    "encode",
)


class Links(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {anchor for anchor in (given.get("id"), given.get("name")) if anchor}
        self.links += [link for link in (given.get("href"), given.get("src")) if link]


@cache
def links(path: Path) -> Links:
    return Links(path)


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_modules" not in path.parts)


def broken(site: Path, page: Path) -> Iterator[str]:
    for link in links(page).links:
        target = urlsplit(link)
        if target.scheme or target.netloc:
            continue
        path = (page.parent / unquote(target.path)).resolve() if target.path else page
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            yield f"{page.relative_to(site)}: {link} leads nowhere"
        elif target.fragment and path.suffix == ".html" and unquote(target.fragment) not in links(path).anchors:
            yield f"{page.relative_to(site)}: {link} has no such anchor"


def test_no_link_and_no_anchor_is_broken(site: Path) -> None:
    assert len(pages(site)) > 50
    assert [complaint for page in pages(site) for complaint in broken(site, page)] == []


def test_every_public_name_has_a_place(site: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from api_page import PACKAGE, Code, modules

    compressed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split(" ", 1)[0] for line in zlib.decompress(compressed).decode().splitlines()}
    code = Code(ROOT / PACKAGE)
    wanted = {
        f"{PACKAGE}.{module}.{name}".replace("..", ".") for module in modules(code) for name in code.public(module)
    }
    assert len(wanted) > 250
    builders = {
        f"{PACKAGE}.serialization.{kind}Builder" for kind in ("Deserializer", "Serializer")
    }  # confluent-kafka's
    assert sorted(wanted - known - builders) == []


@pytest.fixture(scope="module")
def found_by_search(site: Path) -> Any:
    """A function of words: the pages that the site's search finds for them."""
    stemmer = pytest.importorskip("snowballstemmer", reason="Sphinx is not installed: make site").stemmer("english")
    stop_words = pytest.importorskip("sphinx.search.en").ENGLISH_STOPWORDS
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    names = index["docnames"]

    def stemmed(word: str) -> str:
        return str(stemmer.stemWord(word.lower()))

    def found(words: str) -> set[str]:
        every = []
        for word in re.findall(r"\w+", words):
            if word in stop_words:  # as the search itself does
                continue
            numbers: set[int] = set()
            for table in (index["terms"], index["titleterms"]):
                for term in {word.lower(), stemmed(word)}:
                    entry = table.get(term, [])
                    numbers |= {entry} if isinstance(entry, int) else set(entry)
            every.append({names[number] for number in numbers})
        return set.intersection(*every)

    return found


@pytest.mark.parametrize(
    ("words", "page"),
    [
        *((option.key, "config") for option in (*config.SERIALIZER_OPTIONS, *config.DESERIALIZER_OPTIONS)),
        *(
            (name, "api")
            for name in vars(errors)
            if name.endswith("Error") and getattr(errors, name).__module__ == errors.__name__
        ),
        *((command, "cli" if " " not in command else "migrate") for command in COMMANDS),
        *((option, "spark-") for option in SPARK),
    ],
)
def test_the_search_finds(found_by_search: Any, words: str, page: str) -> None:
    assert any(found.startswith(page) for found in found_by_search(words)), found_by_search(words)


@pytest.mark.parametrize("width", [1280, 390])
def test_each_page_has_text_and_fits(site: Path, page: Page, width: int) -> None:
    """The second width is that of a telephone."""
    PICTURES.mkdir(exist_ok=True)
    page.set_viewport_size({"width": width, "height": 900})
    wrong = []
    for path in pages(site):
        page.goto(path.as_uri())
        name = str(path.relative_to(site).with_suffix("")).replace("/", ".")
        if len(page.inner_text("article")) < 40 and name not in ("search", "genindex", "py-modindex"):
            wrong.append(f"{name} has no text")
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append(f"{name} is {wide} pixels wide")
        page.screenshot(path=PICTURES / f"{name}-{width}.png")
    assert wrong == []


def test_dark_pages_are_dark(site: Path, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto((site / "index.html").as_uri())
    page.screenshot(path=PICTURES / "index-dark.png")
    red, green, blue = map(
        int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert red + green + blue < 200
    page.emulate_media(color_scheme="light")
