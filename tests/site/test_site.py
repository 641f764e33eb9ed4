"""The site of the documentation: no link leads nowhere, every name is found, and pages fit wide and narrow screens."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
import zlib
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click
import pytest
from publish_site import publish

from streamnative_serdes import _config as config
from streamnative_serdes.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "site-pictures"
WIDTHS = (1280, 390)  # pixels; the second is that of a telephone
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
SPARK = (
    "startingOffsets",
    "maxOffsetsPerTrigger",
    "failOnDataLoss",
    "errorColumn",
    "delivery",
    "dedupHeaders",
    "encode",
)


# Questions of somebody who knows Kafka: the texts of the links to click on from the first page, and words of the answer
QUESTIONS = {
    "how do I install it": (["Start"], "pip install"),
    "how do I read a topic": (["Start"], "KafkaAvroDeserializer(conf)"),
    "what is allow.null": (["Options"], "allow.null"),
    "how do I migrate a topic": (["the runbook"], "migrate plan orders orders-snip42"),
    "what is Schema not found (HTTP 404)": (
        ["When something goes wrong", "Schema not found (HTTP 404)"],
        "or let a serializer register one",
    ),
    "a stream of Spark with dead letters": (["Dead letters of Spark"], "split_errors"),
    "is it safe with untrusted bytes": (["Security"], "every read is bounded by the end of the message"),
    "how fast is it against fastavro": (["Performance"], "fastavro"),
    "which Pythons": (["Pythons"], "CPython 3.11, 3.12 and 3.13"),
}


def commands() -> Iterator[str]:
    """All commands of the command line, such as ``migrate topic``."""
    waiting: list[tuple[str, click.Command]] = [("", main)]
    while waiting:
        path, command = waiting.pop()
        if isinstance(command, click.Group):
            waiting += [(f"{path} {name}".strip(), each) for name, each in command.commands.items()]
        else:
            yield path


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


class Article(HTMLParser):
    """The text of a page and the links in it and in its list of sections, without the navigation of the site."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.texts: list[tuple[str, list[str]]] = []  # of a link: where it leads, and its words
        self._inside, self._link, self._said = "", False, list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    @property
    def words(self) -> str:
        return " ".join("".join(self._said).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "article" or given.get("class") == "toc-tree":
            self._inside = tag
        elif tag == "a" and self._inside:
            self._link = True
            self.texts.append((given.get("href") or "", []))

    def handle_endtag(self, tag: str) -> None:
        self._link = self._link and tag != "a"
        if tag == self._inside and tag == "article":
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._said.append(data)
        if self._link:
            self.texts[-1][1].append(data)


@cache
def article(path: Path) -> Article:
    return Article(path)


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
        *((name, "api") for name in re.findall(r"^\| `(\w+Error)`", API, re.MULTILINE)),
        *((command, "migrat" if command.startswith("migrate") else "cli") for command in commands()),
        *((option, "spark-") for option in SPARK),
        *((framing, "which-registry") for framing in ("snip42", *config.BY_NAME, "headerless")),
        *((vendor, "which-registry") for vendor in ("Confluent", "Apicurio", "AWS Glue", "Azure")),
        ("EXTERNAL", "schema-types"),
        *((client, "clients") for client in ("DeserializingShareConsumer", "asyncio", "FastStream", "Quix Streams")),
        *((words, "observe") for words in ("OpenTelemetry", "Prometheus", "error.type")),
    ],
)
def test_the_search_finds(found_by_search: Any, words: str, page: str) -> None:
    assert any(found.startswith(page) for found in found_by_search(words)), found_by_search(words)


def test_each_page_has_text_and_fits(site: Path, page: Page) -> None:
    PICTURES.mkdir(exist_ok=True)
    wrong = []
    for path in pages(site):
        page.goto(path.as_uri())
        name = str(path.relative_to(site).with_suffix("")).replace("/", ".")
        if len(page.inner_text("article")) < 40 and name not in ("search", "genindex", "py-modindex"):
            wrong.append(f"{name} has no text")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                wrong.append(f"{name} is {wide} pixels wide")
            if "CI" not in os.environ:  # for people, who look at them; nobody does there
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


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def test_the_list_of_versions_is_that_of_the_folder_above(site: Path, page: Page, tmp_path: Path) -> None:
    for name in ("v0.1.0", "main"):
        (tmp_path / name / "_static").mkdir(parents=True)
        shutil.copy(site / "start.html", tmp_path / name / "index.html")
        shutil.copy(site / "_static" / "versions.js", tmp_path / name / "_static")
    publish(tmp_path, tmp_path / "main", "v0.2.0")
    handler = partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            page.goto(f"http://127.0.0.1:{server.server_port}/main/index.html")
            page.wait_for_function("document.querySelectorAll('#versions option').length == 3")
            assert page.locator("#versions option").all_inner_texts() == ["v0.2.0", "v0.1.0", "main"]
            assert page.input_value("#versions") == "main"
            page.select_option("#versions", "v0.1.0")
            page.wait_for_url("**/v0.1.0/")
        finally:
            server.shutdown()


def test_a_site_by_itself_shows_its_version(site: Path, page: Page) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    page.goto((site / "start.html").as_uri())
    assert page.locator("#versions option").all_inner_texts() == [version]


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_two_clicks_away(site: Path, question: str) -> None:
    """Without the navigation at the side, which leads everywhere: by links in the text of pages."""
    clicks, answer = QUESTIONS[question]
    assert len(clicks) <= 2
    path, anchor = site / "index.html", ""
    for label in clicks:
        found = [href for href, text in article(path).texts if "".join(text).strip() == label]
        assert found, f"{path.name} has no link {label!r}"
        target = urlsplit(found[0])
        path, anchor = (path.parent / unquote(target.path)).resolve() if target.path else path, unquote(target.fragment)
    assert not anchor or anchor in links(path).anchors
    assert answer in article(path).words
