"""The code in docs/auth.md and its example runs unchanged, except for addresses, key and key file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka import serialization
from oauth_issuer import SECRET, Issuer, key_file

from streamnative_serdes.testing import LocalRegistry, MockBroker

ROOT = Path(__file__).parents[3]
KEY = "the-api-key"
SCHEMA: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "auth.md").read_text(), re.DOTALL)


def run(code: str, registry: LocalRegistry, **changes: str) -> dict[str, Any]:
    names: dict[str, Any] = {"API_KEY": KEY, "schema": SCHEMA}
    for old, new in {"http://localhost:8080": registry.url, **changes}.items():
        assert old in code
        code = code.replace(old, new)
    exec(code, names)
    return names


@pytest.mark.skipif(
    not hasattr(serialization, "SerializerBuilder"), reason="confluent-kafka supports builders from 2.16 on"
)
def test_the_code_with_one_key_in_the_clients_configuration_runs() -> None:
    with LocalRegistry(token=KEY) as registry:
        producer = run(BLOCKS[0], registry)["producer"]
        assert producer._value_serializer.serialize("users", {"name": "Ada"}) is not None


def test_the_code_with_one_key_in_the_serdes_configuration_runs() -> None:
    with LocalRegistry(token=KEY) as registry:
        names = run(BLOCKS[1], registry)
        assert names["producer"]._value_serializer.serialize("users", {"name": "Ada"}) is not None
        assert names["kop"].sasl_settings(names["conf"])["sasl.password"] == f"token:{KEY}"


def test_the_code_for_full_topic_names_stores_schema_and_messages_in_that_namespace() -> None:
    topic = "persistent://acme/sales/users"
    with LocalRegistry() as registry, MockBroker({topic: 1}) as broker:
        for made, body in (("tenants/acme", {"allowedClusters": ["standalone"]}), ("namespaces/acme/sales", {})):
            assert requests.put(f"{registry.url}/admin/v2/{made}", json=body, timeout=10).status_code == 204
        producer = run(BLOCKS[2], registry, **{"localhost:9092": broker.bootstrap_servers})["producer"]
        assert producer.flush(30) == 0
        schema = requests.get(f"{registry.url}/admin/v2/schemas/acme/sales/users/schema", timeout=10)
        assert schema.json()["version"] == 0


def test_the_code_for_a_service_account_runs(tmp_path: Path) -> None:
    path = tmp_path / "service-account.json"
    with Issuer(make=lambda _: KEY) as issuer, LocalRegistry(token=KEY) as registry:
        path.write_text(key_file(issuer_url=issuer.url))
        names = run(BLOCKS[3], registry, **{"file:///secrets/service-account.json": path.as_uri()})
        assert names["serializer"].serialize("users", {"name": "Ada"}) is not None
    assert issuer.forms[0]["audience"] == "urn:sn:pulsar:my-organization:my-instance"


def test_every_block_of_the_page_is_tested() -> None:
    assert len(BLOCKS) == 4


@pytest.mark.parametrize("good", [True, False])
def test_the_example_signs_in_or_says_why_not(tmp_path: Path, good: bool) -> None:
    path = tmp_path / "key.json"
    script = ROOT / "examples" / "sign_in_with_oauth.py"
    with Issuer(make=lambda _: KEY) as issuer, LocalRegistry(token=KEY) as registry:
        path.write_text(key_file(issuer_url=issuer.url, **({} if good else {"client_secret": "wrong-one"})))
        command = [sys.executable, script, registry.url, path, "urn:a"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if good:
        assert (done.returncode, done.stderr) == (0, "")
        assert "registered, and read back: {'text': 'hello'}" in done.stdout
        assert "'sasl.mechanism': 'OAUTHBEARER', 'oauth_cb': TokenCallback(Bearer(OAuth))" in done.stdout
    else:
        assert done.returncode == 1
        assert "refused: invalid_client: not [hidden]" in done.stderr
    assert not [secret for secret in (SECRET, KEY, "wrong-one") if secret in done.stdout + done.stderr]
