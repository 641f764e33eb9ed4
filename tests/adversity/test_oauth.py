"""OAuth 2 against an issuer on this machine: where tokens come from, when they are renewed, and what goes wrong."""

from __future__ import annotations

import base64
import json
import logging
import math
import os
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from oauth_issuer import CLIENT, FOUND, SECRET, UNKNOWN, WELL_KNOWN, Guarded, Issuer, key_file, together
from scripted_registry import CONF, Answer, ScriptedRegistry
from servers.certificates import Certificates
from waiting import until

from streamnative_serdes import KafkaAvroSerializer, compat, config, kop
from streamnative_serdes.binding import Binding
from streamnative_serdes.errors import AuthenticationError, ConfigError, RegistryUnavailableError, SchemaRegistryError
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.testing import LocalRegistry

PATIENCE = {"retries.total.ms": 10_000.0, "retries.wait.ms": 20.0}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


def client(url: str, options: dict[str, str], **more: Any) -> SchemaRegistryClient:
    given = {**CONF, "schema.registry.url": url, **options, **more}
    return SchemaRegistryClient(config.parse(config.REGISTRY_OPTIONS, given, strict=True))


def ask(options: dict[str, str], issuer: Issuer, **more: Any) -> ScriptedRegistry:
    """Ask a registry that takes the issuer's tokens alone."""
    with Guarded(issuer) as registry:
        asking = client(registry.url, options, **PATIENCE, **more)
        try:
            assert asking.all_versions("t") == []
        finally:
            asking.close()
    return registry


def test_the_issuer_is_asked_where_tokens_are_and_then_for_one(issuer: Issuer) -> None:
    registry = ask(issuer.options(audience="urn:sn:pulsar:o:i", scope="one two"), issuer)
    assert [asked.headers["Authorization"] for asked in registry.asked] == [f"Bearer {issuer.tokens[0]}"]
    assert [(asked.method, asked.path) for asked in issuer.asked] == [("GET", WELL_KNOWN), ("POST", "/token")]
    assert issuer.forms == [
        {
            "grant_type": "client_credentials",
            "client_id": CLIENT,
            "client_secret": SECRET,
            "audience": "urn:sn:pulsar:o:i",
            "scope": "one two",
        }
    ]
    assert issuer.asked[1].headers["Authorization"] is None  # the secret is in the form, as Pulsar's client has it


def test_a_token_endpoint_may_be_given_directly(issuer: Issuer) -> None:
    options = issuer.options(issuer_endpoint_url=f"{issuer.url}/token")
    del options["bearer.auth.issuer.url"]
    ask(options, issuer)
    assert [asked.path for asked in issuer.asked] == ["/token"]


def test_a_token_endpoint_is_asked_as_it_stands() -> None:
    with ScriptedRegistry(Answer(body={"access_token": "a"})) as endpoint, ScriptedRegistry(FOUND) as registry:
        options = {"bearer.auth.client.id": CLIENT, "bearer.auth.client.secret": SECRET}
        asking = client(registry.url, {**options, "bearer.auth.issuer.endpoint.url": f"{endpoint.url}/token/?p=1"})
        assert asking.all_versions("t") == []
        asking.close()
    assert [asked.path for asked in endpoint.asked] == ["/token/?p=1"]


def test_a_configuration_written_for_confluents_client_signs_in(issuer: Issuer) -> None:
    conf = {
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{issuer.url}/token",
        "bearer.auth.client.id": CLIENT,
        "bearer.auth.client.secret": SECRET,
        "bearer.auth.scope": "registry",
        "bearer.auth.logical.cluster": "lsrc-1",
    }
    with Guarded(issuer) as registry:
        assert compat.SchemaRegistryClient({"url": registry.url, **conf}).get_versions("t") == []
    assert issuer.forms[0]["scope"] == "registry"


def test_an_issuer_that_takes_only_basic_gets_basic(issuer: Issuer) -> None:
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic", "private_key_jwt"]
    ask(issuer.options(), issuer)
    assert issuer.asked[1].headers["Authorization"].startswith("Basic ")
    assert b"client_secret" not in issuer.asked[1].body


@pytest.mark.parametrize("form", ["path", "file:/", "file:///", "base64", "percent"])
@pytest.mark.parametrize("issuer_in", ["file", "option"])
def test_a_key_file_may_be_given_in_each_of_its_forms(
    issuer: Issuer, tmp_path: Path, form: str, issuer_in: str
) -> None:
    text = key_file(issuer_url=f"{issuer.url}/") if issuer_in == "file" else key_file()
    path = tmp_path / "my key.json"
    path.write_text(text)
    given = {
        "path": str(path),
        "file:/": f"file:{quote(str(path))}",
        "file:///": path.as_uri(),
        "base64": f"data:application/json;base64,{base64.b64encode(text.encode()).decode()}",
        "percent": f"data:application/json,{quote(text)}",
    }[form]
    options = {"bearer.auth.private.key": given, "bearer.auth.audience": "a"}
    ask(options if issuer_in == "file" else {**options, "bearer.auth.issuer.url": issuer.url}, issuer)
    assert issuer.forms[0]["client_secret"] == SECRET


def test_a_key_file_is_read_again_for_the_next_token(issuer: Issuer, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(key_file(client_secret="of before"))
    options = {"bearer.auth.private.key": str(path), "bearer.auth.issuer.url": issuer.url}
    with Guarded(issuer) as registry:
        asking = client(registry.url, options)
        with pytest.raises(AuthenticationError, match="invalid_client"):
            asking.all_versions("t")
        path.write_text(key_file())
        assert asking.all_versions("t") == []
        asking.close()


def test_a_token_endpoint_that_moves_is_found_again(issuer: Issuer) -> None:
    issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/of-before"}), Answer(404, b"<html>")]
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        with pytest.raises(SchemaRegistryError, match="expected a bearer token"):
            asking.all_versions("t")
        assert asking.all_versions("t") == []
        asking.close()
    assert [asked.path for asked in issuer.asked] == [WELL_KNOWN, "/of-before", WELL_KNOWN, "/token"]


# Renewal


def test_tokens_are_renewed_ahead_of_their_end_under_load_without_a_failed_call() -> None:
    """Eight threads ask without a pause while tokens that hold for a second come and go."""
    with Issuer(lifetime=1.0) as issuer, Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        enough = threading.Event()

        def work() -> None:
            while not enough.is_set():
                assert asking.all_versions("t") == []

        def watch() -> None:
            try:
                until(lambda: issuer.ahead >= 3, "three tokens are asked for ahead of the last one's end")
            finally:
                enough.set()

        watching = threading.Thread(target=watch)
        watching.start()
        together(8, work)
        watching.join()
        asking.close()
    assert issuer.ahead >= 3
    # One thread asks, the others do not: a second's calls are hundreds, its tokens one or two.
    assert len(issuer.tokens) * 8 < len(registry.asked)


def test_threads_that_start_together_ask_for_one_token(issuer: Issuer) -> None:
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        together(16, lambda: asking.all_versions("t"))
        asking.close()
    assert len(issuer.tokens) == 1
    assert registry.refused == 0


def test_a_token_that_is_found_bad_is_replaced_once(issuer: Issuer) -> None:
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        asking.all_versions("t")
        issuer.revoke()
        together(8, lambda: asking.all_versions("t"))
        assert 2 <= len(issuer.tokens) <= 9
        assert len(issuer.asked) == 1 + len(issuer.tokens)  # the endpoint is not looked for again
        registry._issuer = Issuer()  # takes none
        registry._issuer._server.server_close()
        before = len(issuer.tokens)
        with pytest.raises(AuthenticationError, match="does not take the OAuth issuer's tokens"):
            asking.all_versions("t")
        asking.close()
    assert len(issuer.tokens) == before + 1


def test_a_token_that_holds_is_used_while_the_issuer_is_down(caplog: pytest.LogCaptureFixture) -> None:
    with Issuer(lifetime=3600) as issuer, Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        asking.all_versions("t")
        renewed: Any = asking._transport._auth._renewed
        object.__setattr__(renewed._held, "renew_from", 0.0)  # its end is near
        issuer.faults = [Answer(503)]
        assert asking.all_versions("t") == []
        assert "no new token: the OAuth issuer at" in caplog.text
        assert asking.all_versions("t") == []  # it is not asked at each call
        assert [asked.path for asked in issuer.asked] == [WELL_KNOWN, "/token", "/token"]
        asking.close()


def test_serdes_pickle_and_ask_for_a_token_of_their_own(issuer: Issuer, registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url, **issuer.options()}, '"string"')
    framed = serializer.serialize("t", "a")
    pickled = pickle.dumps(serializer)
    assert issuer.tokens[0].encode() not in pickled
    Binding.forget()
    assert pickle.loads(pickled).serialize("t", "a") == framed
    pickle.loads(pickled).serialize("another", "a")
    assert len(issuer.tokens) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_goes_on_though_a_thread_of_its_parent_was_asking_for_a_token(issuer: Issuer) -> None:
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options(), **{"retries.total.ms": 1_000.0})
        issuer.faults = [Answer(hold=True)]
        pool = ThreadPoolExecutor(1)
        stuck = pool.submit(asking.all_versions, "t")
        until(lambda: issuer.asked, "the thread asks the issuer")
        child = os.fork()
        if child == 0:
            try:
                asking.all_versions("t")
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(RegistryUnavailableError):
            stuck.result()
        pool.shutdown()
        asking.close()


# What goes wrong


def test_a_client_that_the_issuer_does_not_know_is_an_error_that_hides_its_secret(issuer: Issuer) -> None:
    options = issuer.options(client_secret="another secret")
    with pytest.raises(AuthenticationError) as caught:
        ask(options, issuer)
    assert f"topic t: the OAuth issuer at {issuer.url}/token refused: invalid_client: not [hidden]" in str(caught.value)
    assert "hint: client or secret are wrong" in str(caught.value)
    assert (caught.value.status, caught.value.topic, len(issuer.forms)) == (401, "t", 1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(400, {"error": "invalid_scope"}), "refused: invalid_scope .*bearer.auth.scope"),
        (Answer(403, {"error": "access_denied", "error_description": "no"}), "access_denied: no .*audience"),
        (Answer(403, b"<html>"), "refused: HTTP 403"),
    ],
)
def test_a_refusal_of_the_issuer_is_told_in_its_words(issuer: Issuer, answer: Answer, words: str) -> None:
    issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/token"}), answer]
    with pytest.raises(AuthenticationError, match=words):
        ask(issuer.options(), issuer)


def test_an_issuer_that_is_down_is_asked_again_until_the_time_is_over() -> None:
    with Issuer() as issuer:
        pass
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options(), **{**PATIENCE, "retries.total.ms": 200.0})
        with pytest.raises(RegistryUnavailableError) as caught:
            asking.all_versions("t")
        asking.close()
    for words in (f"the OAuth issuer at {issuer.url}{WELL_KNOWN}: ConnectionRefusedError", "attempts", "issuer up?"):
        assert words in str(caught.value)
    assert caught.value.retriable
    assert registry.asked == []


@pytest.mark.parametrize("fault", [Answer(503), Answer(429), Answer(500), Answer(cut=-1), Answer(b"{}", cut=1)])
@pytest.mark.parametrize("at", [0, 1])
def test_a_fault_of_the_issuer_that_passes_is_outlasted(issuer: Issuer, fault: Answer, at: int) -> None:
    metadata = Answer(body={"token_endpoint": f"{issuer.url}/token"})
    issuer.faults = [metadata, fault] if at else [fault]
    ask(issuer.options(), issuer)


def test_a_silent_issuer_is_left_after_the_read_timeout(issuer: Issuer) -> None:
    issuer.faults = [Answer(hold=True)]
    ask(issuer.options(), issuer, **{"http.read.timeout.ms": 100.0})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(404, b"<html>"), "names no token_endpoint .HTTP 404. .*bearer.auth.issuer.url"),
        (Answer(body=b"{"), "names no token_endpoint"),
        (Answer(body=[]), "names no token_endpoint"),
        (Answer(body={"token_endpoint": 1}), "names no token_endpoint"),
        (Answer(body={"token_endpoint": "ftp://x/token"}), "the token_endpoint of http://.* is not an http"),
        (Answer(302, headers={"Location": "http://login/"}), "redirects, where no secret is sent"),
    ],
)
def test_what_is_no_issuer_is_an_error_at_once(issuer: Issuer, answer: Answer, words: str) -> None:
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
    with pytest.raises(SchemaRegistryError, match="expected a bearer token of the OAuth issuer") as caught:
        ask(issuer.options(), issuer)
    assert "not one" not in str(caught.value)


def test_a_redirect_of_the_token_endpoint_is_not_followed_with_the_secret(issuer: Issuer) -> None:
    with ScriptedRegistry(FOUND) as thief:
        to_thief = Answer(307, headers={"Location": f"{thief.url}/token"})
        issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/token"}), to_thief]
        with pytest.raises(SchemaRegistryError, match="redirects, where no secret is sent"):
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


def test_an_issuer_with_a_ca_of_its_own_needs_that_ca(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with Issuer(tls=certificates.server()) as issuer:
        ask(issuer.options(ssl_ca_location=str(certificates.ca)), issuer)
        with pytest.raises(SchemaRegistryError, match=r"(?s)OAuth issuer.*SSLCertVerif.*bearer\.auth\.ssl\.ca\.loc"):
            ask(issuer.options(), issuer)


def test_an_https_issuer_cannot_send_the_secret_to_an_http_endpoint(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with Issuer(tls=certificates.server()) as issuer, Issuer() as thief:
        issuer.metadata["token_endpoint"] = f"{thief.url}/token"
        with pytest.raises(SchemaRegistryError, match="is https, its token_endpoint is not"):
            ask(issuer.options(ssl_ca_location=str(certificates.ca)), issuer)
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
        (key_file().encode(), "names no issuer_url .hint: give bearer.auth.issuer.url"),
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
        "data:,{}",
        "https://example.org/key.json",
        "file://elsewhere/key.json",
        key_file(),
        base64.b64encode(key_file().encode()).decode(),
    ],
)
def test_what_is_no_key_file_is_refused_when_configured(issuer: Issuer, option: str) -> None:
    with pytest.raises(ConfigError, match=r"bearer\.auth\.private\.key") as caught:
        ask({"bearer.auth.private.key": option, "bearer.auth.issuer.url": issuer.url}, issuer)
    assert option not in str(caught.value)


def test_plain_gets_no_token_that_runs_out(issuer: Issuer) -> None:
    conf = {"schema.registry.url": "http://p", **issuer.options()}
    with pytest.raises(ConfigError, match=r"OAuth.s tokens run out .hint: take OAUTHBEARER"):
        kop.sasl_settings(conf, "PLAIN")


def test_a_kafka_clients_callback_gives_the_end_that_the_issuer_told(issuer: Issuer) -> None:
    conf = {"schema.registry.url": "http://p", "pulsar.tenant": "acme", **issuer.options()}
    callback = kop.sasl_settings(conf)["oauth_cb"]
    text, end, _, extensions = callback("")
    assert (text, extensions) == (issuer.tokens[0], {"tenant": "acme"})
    assert end == pytest.approx(time.time() + 3600, abs=60)
    assert callback("")[0] == text
    assert pickle.loads(pickle.dumps(callback))("")[0] == issuer.tokens[1]


def test_a_kafka_clients_callback_gives_an_end_even_where_the_issuer_tells_of_none(issuer: Issuer) -> None:
    issuer.faults = [
        Answer(body={"token_endpoint": f"{issuer.url}/token"}),
        Answer(body={"access_token": "endless", "expires_in": math.inf}),
    ]
    _, end, _, _ = kop.sasl_settings({"schema.registry.url": "http://p", **issuer.options()})["oauth_cb"]("")
    assert end == pytest.approx(time.time() + 365 * 86_400, abs=60)


def test_without_authlib_it_is_said_what_to_install(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'streamnative-serdes\[oauth\]'"):
        ask(issuer.options(), issuer)


def test_log_tells_of_bad_credentials_without_them(issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedRegistry(UNKNOWN, FOUND) as registry:
        asking = client(registry.url, issuer.options())
        asking.all_versions("t")
        asking.close()
    assert "the credentials are bad, trying with those of now" in caplog.text
    assert not [secret for secret in (*issuer.tokens, SECRET) if secret in caplog.text]
