"""Programs for Confluent's Avro SerDes return the same objects with ours after only imports and URL are changed.

The scripts in ``confluent_scripts/`` are written for Confluent's SerDes: ``run(client, brokers, topic)``, or ``main``
with the address, returns the objects in ``READ``. They are also compared as text, which distinguishes 1 from 1.0,
and different objects for UTC.
"""

from __future__ import annotations

import runpy
import uuid
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pprint import pformat

import pytest
from servers import ConfluentRegistry, Pulsar

from streamnative_serdes.testing import LocalRegistry, MockBroker

SCRIPTS = sorted((Path(__file__).parent / "confluent_scripts").glob("*.py"))
THEIRS, OURS = "confluent_kafka.schema_registry", "streamnative_serdes.compat"

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)


@pytest.fixture
def topic() -> str:
    return f"script-{uuid.uuid4()}"


@pytest.fixture
def brokers(topic: str) -> Iterator[str]:
    # A broker for each script: they share a group, and MockBroker lets a new member wait 44 s for one that has left.
    with MockBroker() as broker:
        broker.create_topic(topic, 1)
        yield broker.bootstrap_servers


def check(script: Path, package: str, url: str, brokers: str, topic: str) -> None:
    names = runpy.run_path(str(script))
    if "main" in names:
        read = names["main"](url, brokers, topic)
    else:
        with import_module(package).SchemaRegistryClient({"url": url}) as client:
            read = names["run"](client, brokers, topic)
    assert read == names["READ"]
    assert pformat(read) == pformat(names["READ"])  # sorts the keys of dicts


@pytest.fixture
def migrated(script: Path, tmp_path: Path) -> Path:
    """Return the script with our imports."""
    source = script.read_text()
    assert f"from {THEIRS}" in source
    path = tmp_path / script.name
    path.write_text(source.replace(f"from {THEIRS}", f"from {OURS}"))
    return path


def test_there_are_at_least_a_dozen_scripts() -> None:
    assert len(SCRIPTS) >= 12


@pytest.mark.promise("same-programs")
@each_script
def test_scripts_run_with_our_serdes_and_the_embedded_registry(
    migrated: Path, registry: LocalRegistry, brokers: str, topic: str
) -> None:
    check(migrated, OURS, registry.url, brokers, topic)


@pytest.mark.promise("drop-in", "same-programs")
@each_script
def test_scripts_run_with_our_serdes_and_a_real_pulsar(
    migrated: Path, pulsar: Pulsar, brokers: str, topic: str
) -> None:
    check(migrated, OURS, pulsar.url, brokers, topic)


@pytest.mark.promise("same-programs")
@each_script
def test_scripts_run_with_confluents_serdes_and_registry(
    script: Path, confluent_registry: ConfluentRegistry, brokers: str, topic: str
) -> None:
    check(script, THEIRS, confluent_registry.url, brokers, topic)
