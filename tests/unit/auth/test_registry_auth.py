"""The Authorization header: the token is sent exactly as Pulsar accepts it, and appears nowhere else."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
import requests
from scripted_registry import CONF, Answer, ScriptedRegistry

from streamnative_serdes._auth.credentials import credentials, from_token
from streamnative_serdes._http.api_request import TransientFailure
from streamnative_serdes.errors import AuthenticationError, AuthorizationError, ConfigError
from streamnative_serdes.schema_registry import SchemaRegistryClient

SECRET = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyIn0.c2VjcmV0"
EMPTY = Answer(body={"getSchemaResponses": []})


def header(option: str | None) -> str | TransientFailure | None:
    return credentials({**CONF, "bearer.auth.token": option}, time.monotonic).header(time.monotonic() + 1)


def test_text_and_token_prefix_both_become_a_bearer_header() -> None:
    assert header(SECRET) == f"Bearer {SECRET}"
    assert header(f"token:{SECRET}") == f"Bearer {SECRET}"


def test_without_a_token_there_is_no_header() -> None:
    assert header(None) is None


@pytest.mark.parametrize(
    "option",
    [
        "token:",
        f"Bearer {SECRET}",
        f"{SECRET}\r\nX-Injected: 1",
        f"{SECRET}\n",
        f"{SECRET}\N{EURO SIGN}",
        f"{SECRET}\x00",
        f"{SECRET}\ud800",
    ],
)
def test_an_invalid_token_is_refused_without_being_shown(option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_token(option)
    assert SECRET not in str(caught.value)
    assert "bearer.auth.token" in str(caught.value)


@pytest.mark.parametrize("option", ["file:", "file://", "file:///", "file:token", "file://elsewhere/token"])
def test_a_file_is_given_as_an_absolute_file_url(option: str) -> None:
    with pytest.raises(ConfigError, match="file:///PATH"):
        from_token(option)


def test_a_token_file_is_read_again_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / "my token"
    file.write_text(" first\n")
    with ScriptedRegistry(EMPTY) as server:
        client = SchemaRegistryClient({**CONF, "schema.registry.url": server.url, "bearer.auth.token": file.as_uri()})
        client.all_versions("t")
        for content in ("second\r\n", "token:third\n"):
            file.write_text(content)
            client.all_versions("t")
        client.close()
    assert [asked.headers["Authorization"] for asked in server.asked] == [
        "Bearer first",
        "Bearer second",
        "Bearer third",
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"token:\n",
        f"{SECRET} {SECRET}".encode(),
        f"{SECRET}\n{SECRET}".encode(),
        b"\xff" + SECRET.encode(),
    ],
)
def test_a_file_without_one_token_is_an_error_that_does_not_show_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(AuthenticationError, match="expected one token in the token file") as caught:
        header(file.as_uri())
    assert SECRET not in str(caught.value)


def test_a_missing_file_is_named_when_a_request_needs_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with ScriptedRegistry(EMPTY) as server:
        client = SchemaRegistryClient({**CONF, "schema.registry.url": server.url, "bearer.auth.token": file.as_uri()})
        with pytest.raises(AuthenticationError, match=r"token file .* cannot be read") as caught:
            client.all_versions("t")
        client.close()
    assert caught.value.topic == "t"
    assert server.asked == []


@pytest.mark.parametrize("token", [None, SECRET])
def test_netrc_never_replaces_our_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login thief password thief\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    assert requests.utils.get_netrc_auth("http://127.0.0.1/") == ("thief", "thief")
    with ScriptedRegistry(EMPTY) as server:
        client = SchemaRegistryClient({**CONF, "schema.registry.url": server.url, "bearer.auth.token": token})
        client.all_versions("t")
        client.close()
    assert server.asked[0].headers["Authorization"] == (token and f"Bearer {token}")


def test_the_token_is_in_no_repr_error_or_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedRegistry(Answer(503), Answer(401, {"message": "Authentication required"})) as server:
        client = SchemaRegistryClient(
            {**CONF, "schema.registry.url": server.url, "bearer.auth.token": SECRET}, sleep=lambda _: None
        )
        with pytest.raises(AuthenticationError) as caught:
            client.latest("t")
        client.close()
    shown = [repr(client), repr(from_token(SECRET)), str(caught.value), repr(vars(caught.value)), caplog.text]
    assert "503" in caplog.text
    assert not [text for text in shown if SECRET in text]


def test_cookies_are_not_kept() -> None:
    with ScriptedRegistry(Answer(body={"getSchemaResponses": []}, headers={"Set-Cookie": "id=1; Path=/"})) as server:
        client = SchemaRegistryClient({**CONF, "schema.registry.url": server.url})
        client.all_versions("t")
        client.all_versions("t")
        client.close()
    assert [asked.headers["Cookie"] for asked in server.asked] == [None, None]


UNKNOWN = Answer(401, {"servlet": "s", "message": "Authentication required", "url": "/", "status": "401"})
FORBIDDEN = Answer(401, {"reason": "Unauthorized to validateTopicOperation for operation [PRODUCE] on topic [t]"})


def asked_by(*answers: Answer, token: object) -> list[str | None]:
    """Request all versions, and return the credentials of each attempt until success or failure."""
    with ScriptedRegistry(*answers) as server:
        client = SchemaRegistryClient({**CONF, "schema.registry.url": server.url, "bearer.auth.token": token})
        try:
            client.all_versions("t")
        finally:
            client.close()
            credentials = [asked.headers["Authorization"] for asked in server.asked]
    return credentials


def test_a_token_function_is_called_for_each_request() -> None:
    tokens = iter(["first", "token:second"])
    assert asked_by(EMPTY, token=lambda: next(tokens)) == ["Bearer first"]
    assert asked_by(EMPTY, token=lambda: next(tokens)) == ["Bearer second"]


def test_rejected_credentials_are_fetched_again_once() -> None:
    tokens = iter(["old", "new"])
    assert asked_by(UNKNOWN, EMPTY, token=lambda: next(tokens)) == ["Bearer old", "Bearer new"]


def test_credentials_that_are_rejected_again_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET)
    seen: list[int] = []
    with pytest.raises(AuthenticationError, match="Authentication required"):
        asked_by(UNKNOWN, UNKNOWN, token=lambda: seen.append(1) or SECRET)
    assert len(seen) == 2
    with pytest.raises(AuthenticationError):
        asked_by(UNKNOWN, UNKNOWN, token=file.as_uri())


def test_a_rejected_literal_token_is_not_tried_again() -> None:
    with pytest.raises(AuthenticationError):
        asked_by(UNKNOWN, EMPTY, token=SECRET)  # a second request would succeed


def test_a_missing_permission_does_not_renew_the_credentials() -> None:
    seen: list[int] = []
    with pytest.raises(AuthorizationError, match="the role needs the right to produce or consume"):
        asked_by(FORBIDDEN, token=lambda: seen.append(1) or SECRET)
    assert seen == [1]


@pytest.mark.parametrize(
    ("result", "got"), [(None, "NoneType"), (SECRET.encode(), "bytes"), ("", "str"), (f"{SECRET}\n", "str")]
)
def test_a_function_that_returns_no_token_is_an_error_that_does_not_show_it(result: object, got: str) -> None:
    with pytest.raises(AuthenticationError, match=f"returned an invalid token of type {got}") as caught:
        asked_by(token=lambda: result)
    assert SECRET not in str(caught.value)


def test_the_error_of_a_token_function_shows_only_its_type() -> None:
    def fails() -> str:
        raise KeyError(SECRET)

    with pytest.raises(AuthenticationError, match="failed: KeyError") as caught:
        asked_by(token=fails)
    assert SECRET not in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)
