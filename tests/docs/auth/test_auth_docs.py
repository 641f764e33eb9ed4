"""The example of docs/auth.md runs unchanged, except for addresses, key and key file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from oauth_issuer import SECRET, Issuer, key_file

from streamnative_serdes.testing import LocalRegistry

ROOT = Path(__file__).parents[3]
KEY = "the-api-key"


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
