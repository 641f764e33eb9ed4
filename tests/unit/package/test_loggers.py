"""Each module logs by a logger of its own name, so that a program can choose; docs/observe.md has the parts."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import streamnative_serdes
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes.cli import servers
from streamnative_serdes.testing import LocalRegistry

PACKAGE = Path(streamnative_serdes.__file__).parent
DOCS = Path(__file__).parents[3] / "docs"


def logging_modules() -> dict[str, str]:
    """The modules that log, and their source."""
    sources = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    return {
        ".".join(path.with_suffix("").parts): text
        for path, text in sources.items()
        if re.search(r"\blogger\.[a-z]+\(", text)
    }


@pytest.mark.promise("own-loggers")
def test_each_module_that_logs_has_a_logger_of_its_name() -> None:
    modules = logging_modules()
    assert len(modules) > 20
    assert [name for name, text in modules.items() if "\nlogger = logging.getLogger(__name__)\n" not in text] == []


def test_the_guide_has_each_part_that_logs() -> None:
    if not DOCS.exists():
        pytest.skip("without the checkout")
    _, _, table = (DOCS / "observe.md").read_text(encoding="utf-8").partition("loggers below")
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {
        name.partition(".")[0] for name in logging_modules()
    }


def fall_back(registry: LocalRegistry, topic: str) -> None:
    conf = {"schema.registry.url": registry.url}
    message = KafkaAvroSerializer(conf, '"string"').serialize(topic, "Ada") or b""
    assert KafkaAvroDeserializer(conf).deserialize(topic, header.pack(7) + message[10:]) == "Ada"


@pytest.mark.parametrize(
    ("part", "logs"), [("._reading", False), ("", False), ("._topics", True), ("._reading.policy", False)]
)
def test_a_level_of_one_part_or_of_all_holds(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture, part: str, logs: bool
) -> None:
    logger = logging.getLogger(f"streamnative_serdes{part}")
    logger.setLevel(logging.ERROR)
    try:
        fall_back(registry, "t")
    finally:
        logger.setLevel(logging.NOTSET)
    assert [record.name for record in caplog.records] == ["streamnative_serdes._reading.policy"] * logs


def test_ping_logs_nothing_and_leaves_the_level(caplog: pytest.LogCaptureFixture) -> None:
    logger, package = logging.getLogger("streamnative_serdes._http.exchange"), logging.getLogger("streamnative_serdes")
    package.setLevel(logging.INFO)
    try:
        with servers._unlogged():
            logger.critical("unreachable")
        assert package.level == logging.INFO
        logger.warning("reachable")
    finally:
        package.setLevel(logging.NOTSET)
    assert [record.message for record in caplog.records] == ["reachable"]
