"""OAuth 2 against a local issuer: where tokens come from, and when they are renewed."""

from __future__ import annotations

import base64
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from oauth_issuer import (
    CLIENT,
    FOUND,
    SECRET,
    WELL_KNOWN,
    Guarded,
    Issuer,
    ask,
    client,
    key_file,
)
from scripted_registry import Answer, ScriptedRegistry
from waiting import HANG_SECONDS, exit_code, join, together, until

from streamnative_serdes import KafkaAvroSerializer, compat
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import AuthenticationError, RegistryUnavailableError, SchemaRegistryError
from streamnative_serdes.testing import LocalRegistry


def test_the_issuers_metadata_is_requested_first_and_then_a_token(issuer: Issuer) -> None:
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
    assert issuer.asked[1].headers["Authorization"] is None  # the secret is in the form, as with Pulsar's client


def test_a_token_endpoint_may_be_given_directly(issuer: Issuer) -> None:
    options = issuer.options(issuer_endpoint_url=f"{issuer.url}/token")
    del options["bearer.auth.issuer.url"]
    ask(options, issuer)
    assert [asked.path for asked in issuer.asked] == ["/token"]


def test_a_configured_token_endpoint_is_used_unchanged() -> None:
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


def test_an_issuer_that_accepts_only_basic_gets_basic(issuer: Issuer) -> None:
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic", "private_key_jwt"]
    ask(issuer.options(), issuer)
    assert issuer.asked[1].headers["Authorization"].startswith("Basic ")
    assert b"client_secret" not in issuer.asked[1].body


@pytest.mark.parametrize("methods", [["client_secret_basic", "client_secret_post"], ["client_secret_post"], [], None])
def test_other_issuers_get_the_secret_in_the_form(issuer: Issuer, methods: list[str] | None) -> None:
    issuer.metadata["token_endpoint_auth_methods_supported"] = methods
    ask(issuer.options(), issuer)
    assert "Authorization" not in issuer.asked[1].headers
    assert b"client_secret" in issuer.asked[1].body


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


def test_a_token_endpoint_that_moved_is_looked_up_again(issuer: Issuer) -> None:
    issuer.faults = [Answer(body={"token_endpoint": f"{issuer.url}/of-before"}), Answer(404, b"<html>")]
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        with pytest.raises(SchemaRegistryError, match="expected a bearer token"):
            asking.all_versions("t")
        assert asking.all_versions("t") == []
        asking.close()
    assert [asked.path for asked in issuer.asked] == [WELL_KNOWN, "/of-before", WELL_KNOWN, "/token"]


# Renewal


def test_tokens_are_renewed_before_they_expire_without_a_failed_call() -> None:
    """Eight threads send requests without a pause, with tokens that expire after a second."""
    with Issuer(lifetime=1.0) as issuer, Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        enough = threading.Event()

        def work(_: int) -> None:
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
        join(watching)
        asking.close()
    assert issuer.ahead >= 3
    # Only one thread gets each token: there are hundreds of calls per second, but one or two tokens.
    assert len(issuer.tokens) * 8 < len(registry.asked)


def test_threads_that_start_together_request_only_one_token(issuer: Issuer) -> None:
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        together(16, lambda _: asking.all_versions("t"))
        asking.close()
    assert len(issuer.tokens) == 1
    assert registry.refused == 0


def test_a_rejected_token_is_replaced_once(issuer: Issuer) -> None:
    with Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        asking.all_versions("t")
        issuer.revoke()
        together(8, lambda _: asking.all_versions("t"))
        assert 2 <= len(issuer.tokens) <= 9
        assert len(issuer.asked) == 1 + len(issuer.tokens)  # the endpoint is not looked up again
        registry._issuer = Issuer()  # accepts no token
        registry._issuer._server.server_close()
        before = len(issuer.tokens)
        with pytest.raises(AuthenticationError, match="rejects the OAuth issuer's tokens"):
            asking.all_versions("t")
        asking.close()
    assert len(issuer.tokens) == before + 1


def test_a_valid_token_is_used_while_the_issuer_is_down(caplog: pytest.LogCaptureFixture) -> None:
    with Issuer(lifetime=3600) as issuer, Guarded(issuer) as registry:
        asking = client(registry.url, issuer.options())
        asking.all_versions("t")
        renewed: Any = asking.rest._auth._renewed
        object.__setattr__(renewed._held, "renew_from", 0.0)  # its end is near
        issuer.faults = [Answer(503)]
        assert asking.all_versions("t") == []
        assert "cannot renew the token: the OAuth issuer at" in caplog.text
        assert asking.all_versions("t") == []  # the issuer is not asked at each call
        assert [asked.path for asked in issuer.asked] == [WELL_KNOWN, "/token", "/token"]
        asking.close()


def test_a_pickled_serdes_gets_its_own_token(issuer: Issuer, registry: LocalRegistry) -> None:
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
def test_a_forked_process_works_even_if_a_parents_thread_was_fetching_a_token(issuer: Issuer) -> None:
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
        assert exit_code(child) == 0
        with pytest.raises(RegistryUnavailableError):
            stuck.result(HANG_SECONDS)
        pool.shutdown()
        asking.close()
