"""OAuth 2 faults: an issuer that is down, refuses or sends bad responses, and invalid key files."""

from __future__ import annotations

import base64
import json
import logging
import math
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from oauth_issuer import (
    FOUND,
    PATIENCE,
    SECRET,
    UNKNOWN,
    WELL_KNOWN,
    Guarded,
    Issuer,
    ask,
    client,
    key_file,
)
from scripted_registry import Answer, ScriptedRegistry
from servers.certificates import Certificates

from streamnative_serdes.errors import AuthenticationError, ConfigError, RegistryUnavailableError, SchemaRegistryError
from streamnative_serdes.integrations import kop


def test_a_client_that_the_issuer_does_not_know_is_an_error_that_hides_its_secret(issuer: Issuer) -> None:
    options = issuer.options(client_secret="another secret")
    with pytest.raises(AuthenticationError) as caught:
        ask(options, issuer)
    assert f"topic t: the OAuth issuer at {issuer.url}/token refused: invalid_client: not [hidden]" in str(caught.value)
    assert "hint: check bearer.auth.client.id" in str(caught.value)
    assert (caught.value.status, caught.value.topic, len(issuer.forms)) == (401, "t", 1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(400, {"error": "invalid_scope"}), "refused: invalid_scope .*bearer.auth.scope"),
        (Answer(403, {"error": "access_denied", "error_description": "no"}), "access_denied: no .*audience"),
        (Answer(403, b"<html>"), "refused: HTTP 403"),
    ],
)
def test_an_error_quotes_the_issuers_refusal(issuer: Issuer, answer: Answer, words: str) -> None:
    issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/token"}), answer]
    with pytest.raises(AuthenticationError, match=words):
        ask(issuer.options(), issuer)


def test_an_issuer_that_is_down_is_retried_until_the_time_limit() -> None:
    with Issuer() as issuer:
        pass
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options(), **{**PATIENCE, "retries.total.ms": 200.0})
        with pytest.raises(RegistryUnavailableError) as caught:
            asking.all_versions("t")
        asking.close()
    for words in (
        f"the OAuth issuer at {issuer.url}{WELL_KNOWN}: ConnectionRefusedError",
        "attempts",
        "issuer running?",
    ):
        assert words in str(caught.value)
    assert caught.value.retriable
    assert registry.asked == []


@pytest.mark.parametrize("fault", [Answer(503), Answer(429), Answer(500), Answer(cut=-1), Answer(b"{}", cut=1)])
@pytest.mark.parametrize("at", [0, 1])
def test_a_transient_fault_of_the_issuer_is_retried(issuer: Issuer, fault: Answer, at: int) -> None:
    metadata = Answer(body={"token_endpoint": f"{issuer.url}/token"})
    issuer.faults = [metadata, fault] if at else [fault]
    ask(issuer.options(), issuer)


def test_a_silent_issuer_is_given_up_after_the_read_timeout(issuer: Issuer) -> None:
    issuer.faults = [Answer(hold=True)]
    ask(issuer.options(), issuer, **{"http.read.timeout.ms": 100.0})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(404, b"<html>"), "with a token_endpoint at .*, got none .HTTP 404. .*bearer.auth.issuer.url"),
        (Answer(body=b"{"), "with a token_endpoint at .*, got none"),
        (Answer(body=[]), "with a token_endpoint at .*, got none"),
        (Answer(body={"token_endpoint": 1}), "with a token_endpoint at .*, got none"),
        (Answer(body={"token_endpoint": "ftp://x/token"}), "the token_endpoint of http://.* is not an http"),
        (Answer(302, headers={"Location": "http://login/"}), "redirects; secrets are not sent to another address"),
    ],
)
def test_a_server_that_is_not_an_issuer_fails_without_retries(issuer: Issuer, answer: Answer, words: str) -> None:
    issuer.faults = [answer]
    with pytest.raises(SchemaRegistryError, match=words):
        ask(issuer.options(), issuer)
    assert len(issuer.asked) == 1


@pytest.mark.parametrize(
    "body",
    [b"", [], {}, {"access_token": 1}, {"access_token": "not one"}, {"access_token": "a", "token_type": "mac"}],
)
def test_an_answer_without_a_bearer_token_is_an_error_that_does_not_show_it(issuer: Issuer, body: Any) -> None:
    issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/token"}), Answer(body=body)]
    with pytest.raises(SchemaRegistryError, match="expected a bearer token from the OAuth issuer") as caught:
        ask(issuer.options(), issuer)
    assert "not one" not in str(caught.value)


def test_a_redirect_of_the_token_endpoint_is_not_followed_with_the_secret(issuer: Issuer) -> None:
    with ScriptedRegistry(FOUND) as thief:
        to_thief = Answer(307, headers={"Location": f"{thief.url}/token"})
        issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/token"}), to_thief]
        with pytest.raises(SchemaRegistryError, match="redirects; secrets are not sent to another address"):
            ask(issuer.options(), issuer)
    assert thief.asked == []


@pytest.mark.parametrize("seconds", ["3600", None, "soon", -5, 0, 10**400, math.inf, math.nan, [], True])
def test_a_lifetime_may_be_missing_or_odd(issuer: Issuer, seconds: object) -> None:
    issuer.faults = [
        Answer(body={"token_endpoint": f"{issuer.url}/token"}),
        Answer(body={"access_token": "odd", "expires_in": seconds}),
    ]
    with ScriptedRegistry(FOUND) as registry:
        asking = client(registry.url, issuer.options())
        assert asking.all_versions("t") == []
        asking.close()
    assert registry.asked[0].headers["Authorization"] == "Bearer odd"


# The issuer over TLS


def test_an_issuer_with_a_private_ca_needs_that_ca(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with Issuer(tls=certificates.server()) as issuer:
        ask(issuer.options(ssl_ca_location=str(certificates.ca)), issuer)
        with pytest.raises(SchemaRegistryError, match=r"(?s)OAuth issuer.*SSLCertVerif.*bearer\.auth\.ssl\.ca\.loc"):
            ask(issuer.options(), issuer)


@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
def test_an_https_issuer_cannot_send_the_secret_to_an_http_endpoint(tmp_path: Path, scheme: str) -> None:
    certificates = Certificates(tmp_path)
    with Issuer(tls=certificates.server()) as issuer, Issuer() as thief:
        issuer.metadata["token_endpoint"] = f"{thief.url}/token"
        options = issuer.options(ssl_ca_location=str(certificates.ca))
        options["bearer.auth.issuer.url"] = issuer.url.replace("https", scheme)
        with pytest.raises(SchemaRegistryError, match="is https; got http, which would expose the secret"):
            ask(options, issuer)
    assert thief.asked == []


# Key files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "key file .* cannot be read: No such file"),
        (b"", "has no client_id and no client_secret"),
        (b"\xff\xfe", "has no client_id and no client_secret"),
        (b"[1]", "has no client_id and no client_secret"),
        (json.dumps({"client_id": "a", "secret": SECRET}).encode(), "has no client_secret"),
        (json.dumps({"client_id": "a", "client_secret": SECRET}).encode()[:-1], "has no client_id"),
        (b"{" + b" " * 70_000, "larger than 65536 bytes"),
        (key_file().encode(), "has no issuer_url .hint: set bearer.auth.issuer.url"),
        (key_file(issuer_url="auth.example.org").encode(), "issuer_url is not an http"),
    ],
)
def test_a_bad_key_file_is_an_error_that_does_not_show_it(
    issuer: Issuer, tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "key.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SchemaRegistryError, match=words) as caught:
        ask({"bearer.auth.private.key": str(path)}, issuer)
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "option",
    [
        "data:application/json;base64,???",
        "data:nothing",
        f"DATA:application/json;base64,???{SECRET}",
        f"Data:{SECRET}",
        "data:,{}",
        "https://example.org/key.json",
        "file://elsewhere/key.json",
        key_file(),
        base64.b64encode(key_file().encode()).decode(),
    ],
)
def test_an_invalid_key_file_option_is_refused_when_configured(issuer: Issuer, option: str) -> None:
    with pytest.raises(ConfigError, match=r"bearer\.auth\.private\.key") as caught:
        ask({"bearer.auth.private.key": option, "bearer.auth.issuer.url": issuer.url}, issuer)
    assert option not in str(caught.value)


def test_plain_refuses_tokens_that_expire(issuer: Issuer) -> None:
    conf = {"schema.registry.url": "http://p", **issuer.options()}
    with pytest.raises(ConfigError, match=r"OAuth tokens expire .hint: use OAUTHBEARER"):
        kop.sasl_settings(conf, "PLAIN")


def test_oauth_cb_returns_the_expiry_that_the_issuer_sends(issuer: Issuer) -> None:
    conf = {"schema.registry.url": "http://p", "pulsar.tenant": "acme", **issuer.options()}
    callback = kop.sasl_settings(conf)["oauth_cb"]
    text, end, _, extensions = callback("")
    assert (text, extensions) == (issuer.tokens[0], {"username": "acme"})
    assert end == pytest.approx(time.time() + 3600, abs=60)
    assert callback("")[0] == text
    assert pickle.loads(pickle.dumps(callback))("")[0] == issuer.tokens[1]


def test_oauth_cb_returns_an_expiry_even_if_the_issuer_sends_none(issuer: Issuer) -> None:
    issuer.faults = [
        Answer(body={"token_endpoint": f"{issuer.url}/token"}),
        Answer(body={"access_token": "endless", "expires_in": math.inf}),
    ]
    _, end, _, _ = kop.sasl_settings({"schema.registry.url": "http://p", **issuer.options()})["oauth_cb"]("")
    assert end == pytest.approx(time.time() + 365 * 86_400, abs=60)


def test_without_authlib_the_error_says_what_to_install(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="pip install authlib"):
        ask(issuer.options(), issuer)


def test_rejected_credentials_are_logged_without_the_secret(issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedRegistry(UNKNOWN, FOUND) as registry:
        asking = client(registry.url, issuer.options())
        asking.all_versions("t")
        asking.close()
    assert "credentials rejected, retrying with new ones" in caplog.text
    assert not [secret for secret in (*issuer.tokens, SECRET) if secret in caplog.text]
