"""KoP settings: the SASL mechanism, its credentials, and when a token expires."""

from __future__ import annotations

import base64
import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from oauth_issuer import Issuer
from sasl_capture import SaslCapture, extensions

from streamnative_serdes.errors import AuthenticationError, ConfigError, SerdesError
from streamnative_serdes.integrations import kop

URL = {"schema.registry.url": "http://localhost:8080"}
NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


def jwt(**claims: Any) -> str:
    parts = ({"alg": "HS256"}, claims, "signature")
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


def test_a_token_as_text_is_the_password_of_plain() -> None:
    assert kop.sasl_settings({**URL, "bearer.auth.token": "abc"}) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "public/default",
        "sasl.password": "token:abc",
    }


def test_the_tenant_comes_from_the_serdes_and_tls_may_be_off() -> None:
    conf = {**URL, "bearer.auth.token": "token:abc", "pulsar.tenant": "acme", "pulsar.namespace": "ns", "acks": "all"}
    settings = kop.sasl_settings(conf, tls=False)
    assert (settings["sasl.username"], settings["sasl.password"]) == ("acme/ns", "token:abc")
    assert settings["security.protocol"] == "SASL_PLAINTEXT"


def test_a_user_whose_password_is_a_token_signs_in_with_it() -> None:
    settings = kop.sasl_settings({**URL, "basic.auth.user.info": "public/default:token:abc"})
    assert settings["sasl.password"] == "token:abc"


def test_a_token_that_may_change_is_requested_repeatedly(tmp_path: Path) -> None:
    file = tmp_path / "token"
    tokens = [jwt(sub="me", exp=time.time() + 600), jwt(sub="you", exp=time.time() + 900)]
    file.write_text(tokens[0])
    for given in (file.as_uri(), lambda: file.read_text()):
        settings = kop.sasl_settings({**URL, "bearer.auth.token": given, "pulsar.tenant": "acme"})
        assert settings["sasl.mechanism"] == "OAUTHBEARER"
        for token, name, seconds in zip(tokens, ("me", "you"), (600, 900), strict=True):
            file.write_text(token)
            text, end, principal, extensions = settings["oauth_cb"](None)
            assert (text, principal, extensions) == (token, name, {"username": "acme"})
            assert end == pytest.approx(time.time() + seconds, abs=60)


@pytest.mark.parametrize("tenant", ["public", "t2"])
def test_a_client_names_the_tenant_in_the_extension_that_kop_reads(tenant: str) -> None:
    conf = {**URL, "bearer.auth.token": jwt(sub="me", exp=time.time() + 600), "pulsar.tenant": tenant}
    settings = kop.sasl_settings(conf, "OAUTHBEARER", tls=False)
    with SaslCapture() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, **settings})
        deadline = time.monotonic() + 30
        while broker.said.empty():
            assert time.monotonic() < deadline, "the client did not sign in"
            producer.poll(0.1)
        said = broker.said.get()
    assert conf["bearer.auth.token"].encode() in said
    assert extensions(said) == {"username": tenant}


@pytest.mark.parametrize("name", ["a", "ab", "abc", "abcd"])
def test_a_token_of_any_length_names_its_principal(name: str) -> None:
    """The base64 of its payload has no padding."""
    conf = {**URL, "bearer.auth.token": jwt(sub=name)}
    assert kop.sasl_settings(conf, "OAUTHBEARER")["oauth_cb"]("")[2] == name


def test_either_mechanism_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("abc")
    settings = kop.sasl_settings({**URL, "bearer.auth.token": file.as_uri()}, "PLAIN")
    assert settings["sasl.password"] == "token:abc"
    settings = kop.sasl_settings({**URL, "bearer.auth.token": "abc"}, "OAUTHBEARER")
    assert settings["oauth_cb"]("")[0] == "abc"


@pytest.mark.parametrize("mechanism", ["plain", "SCRAM-SHA-256", "", 1])
def test_another_mechanism_is_refused(mechanism: Any) -> None:
    with pytest.raises(ConfigError, match=f"mechanism: expected PLAIN or OAUTHBEARER, got {mechanism!r}"):
        kop.sasl_settings({**URL, "bearer.auth.token": "abc"}, mechanism)


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "a.e30.c", jwt(exp="soon"), f"a.{'W' * 9999}.c", "a.W10.c"])
def test_a_token_without_expiry_is_requested_again_after_minutes(token: str) -> None:
    _, end, principal, _ = kop.sasl_settings({**URL, "bearer.auth.token": token}, "OAUTHBEARER")["oauth_cb"]("")
    assert 0 < end - time.time() <= 300
    assert principal == ""


def test_an_expired_token_is_an_error_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The client does not say it."""
    token = jwt(sub="me", exp=time.time() - 1)
    tokens = [jwt(sub="me", exp=time.time() + 600), token]
    callback = kop.sasl_settings({**URL, "bearer.auth.token": lambda: tokens.pop(0)}, "OAUTHBEARER")["oauth_cb"]
    with pytest.raises(AuthenticationError, match="the token for Kafka has expired"):
        callback("")
    assert "cannot get a token for Kafka: the token for Kafka has expired" in caplog.text
    assert token not in caplog.text


def _fails() -> str:
    raise OSError("the vault is closed")


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
@pytest.mark.parametrize(
    ("token", "words"),
    [
        (jwt(sub="me", exp=time.time() - 1), "the token for Kafka has expired"),
        (_fails, "the function for bearer.auth.token failed: OSError"),
        ("file:///nowhere/token", "nowhere"),
    ],
)
def test_a_first_token_that_cannot_be_had_is_an_error_before_there_is_a_client(
    token: Any, words: str, mechanism: kop.Mechanism
) -> None:
    """With an ``error_cb``, confluent-kafka 2.16 would end in a bare SystemError."""
    with pytest.raises(AuthenticationError, match=words):
        kop.sasl_settings({**URL, "bearer.auth.token": token}, mechanism)


def test_an_issuer_that_is_down_is_an_error_before_there_is_a_client() -> None:
    pytest.importorskip("authlib", reason="authlib is not installed: pip install authlib")
    oauth = {"bearer.auth.client.id": "me", "bearer.auth.client.secret": "secret", "bearer.auth.scope": "x"}
    conf = {
        **URL,
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": "http://127.0.0.1:1/token",
        **oauth,
        "retries.total.ms": 100,
    }
    with pytest.raises(SerdesError, match=r"get a token for Kafka.*127\.0\.0\.1:1"):
        kop.sasl_settings(conf)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "KoP requires a token, and the options contain none .hint: set bearer.auth.token"),
        ({"basic.auth.user.info": "me:password"}, "KoP requires a token"),
        ({"bearer.auth.token": "a b"}, "bearer.auth.token is not a token"),
        ({"bearer.auth.token": "a", "basic.auth.user.info": "me:password"}, "cannot sign in with both"),
        (
            {"basic.auth.user.info": "t2/default:token:a"},
            "user t2/default belongs to tenant t2, but pulsar.tenant is public",
        ),
        (
            {"bearer.auth.token": "a", "sasl.username": "public/x", "sasl.password": "token:a", "pulsar.tenant": "t2"},
            "user public/x belongs to tenant public, but pulsar.tenant is t2",
        ),
    ],
)
def test_a_missing_token_or_another_tenant_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        kop.sasl_settings({**URL, **options})


def test_a_callback_can_be_pickled_and_shows_no_secret() -> None:
    callback = kop.sasl_settings({**URL, "bearer.auth.token": "abc"}, "OAUTHBEARER")["oauth_cb"]
    assert pickle.loads(pickle.dumps(callback))("")[0] == "abc"
    assert "abc" not in repr(callback)


def test_confluents_clients_accept_the_settings() -> None:
    conf = {**URL, "bearer.auth.token": jwt(sub="me", exp=time.time() + 600)}
    for tls in (True, False):
        settings = kop.sasl_settings(conf, tls=tls)
        assert Producer({**NOWHERE, **settings}).poll(0) >= 0
        Consumer({**NOWHERE, "group.id": "g", **settings}).close()
    assert Producer({**NOWHERE, **kop.sasl_settings(conf, "OAUTHBEARER")}).poll(0) >= 0


def test_a_token_that_expired_while_the_machine_slept_is_not_handed_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with Issuer(lifetime=3600) as issuer:
        callback = kop.sasl_settings({**URL, **issuer.options()}, "OAUTHBEARER")["oauth_cb"]
        real, first = time.time, callback()
        monkeypatch.setattr(time, "time", lambda: real() + 1800)  # the monotonic clock stands still during sleep
        assert callback()[:2] == (first[0], pytest.approx(first[1], abs=10))
        monkeypatch.setattr(time, "time", lambda: real() + 7200)
        text, end, *_ = callback()
        assert text != first[0]
        assert end - time.time() == pytest.approx(3600, abs=10)
