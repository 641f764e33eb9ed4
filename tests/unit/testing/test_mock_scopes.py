"""mock://SCOPE as an address: an in-memory registry, shared by all clients of the scope."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.compat import SchemaRegistryClient
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.testing import registry_of

SCHEMA = record("R", ("a", "int"))


@pytest.fixture
def scope() -> Iterator[str]:
    """A scope that only this test uses; its threads end with the test."""
    scope = f"scope-{uuid.uuid4()}"
    yield scope
    for name in (scope, f"{scope}-other"):
        registry_of(name).close()


def test_clients_of_one_scope_share_its_registry(scope: str) -> None:
    conf = {"schema.registry.url": f"mock://{scope}"}
    message = KafkaAvroSerializer(conf, SCHEMA).serialize("t", {"a": 1})
    assert KafkaAvroDeserializer({**conf, "max.depth": 9}).deserialize("t", message) == {"a": 1}
    assert SchemaRegistryClient({"url": f"mock://{scope}"}).get_versions("t-value") == [1]
    assert registry_of(scope).calls["POST schema"] == 1


def test_scopes_are_isolated_from_each_other(scope: str) -> None:
    KafkaAvroSerializer({"schema.registry.url": f"mock://{scope}"}, SCHEMA).serialize("t", {"a": 1})
    assert SchemaRegistryClient({"url": f"mock://{scope}-other"}).get_versions("t") == []


@pytest.mark.parametrize("proxy", [{}, {"proxy": "http://127.0.0.1:1"}], ids=["of the environment", "option"])
def test_a_scope_is_reached_without_a_proxy(scope: str, proxy: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    conf = {"schema.registry.url": f"mock://{scope}", "retries.total.ms": 1_000, **proxy}
    KafkaAvroSerializer(conf, SCHEMA).serialize("t", {"a": 1})


def test_no_registry_is_started_before_the_first_request() -> None:
    code = (
        "import sys, threading\n"
        "from streamnative_serdes.compat import SchemaRegistryClient\n"
        "client = SchemaRegistryClient({'url': 'mock://x'})\n"
        "assert 'streamnative_serdes.testing' not in sys.modules\n"
        "client.get_versions('t')\n"
        "assert 'streamnative_serdes.testing' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default::ResourceWarning", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.promise("mock-scopes")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_its_own_scope_and_both_processes_end() -> None:
    code = (
        "import os, signal, sys\nsignal.alarm(50)\n"
        "from streamnative_serdes.compat import Schema, SchemaRegistryClient\n"
        "client = SchemaRegistryClient({'url': 'mock://x'})\n"
        'client.register_schema(\'t\', Schema(\'{"type": "record", "name": "R", "fields": []}\'))\n'
        "child = os.fork()\n"
        'sys.stdout.write(f\'{"parent" if child else "child"} {client.get_versions("t")}\\n\')\n'
        "sys.stdout.flush()\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    # Python 3.12 and later warn about forks with threads, which this test needs.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["child []", "parent [1]"]


@pytest.mark.parametrize("url", ["mock://x/path", "mock://x?a=b", "mock://x#y"])
def test_a_mock_address_has_only_a_scope(url: str) -> None:
    with pytest.raises(ConfigError, match="takes only a scope"):
        KafkaAvroSerializer({"schema.registry.url": url}, SCHEMA)
