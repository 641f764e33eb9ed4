"""Kafka clients are created in one place, which refuses what would end the process."""

from __future__ import annotations

import re
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

import streamnative_serdes
from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import ClientErrors, client, clients, within

PACKAGE = Path(streamnative_serdes.__file__).parent


@pytest.mark.parametrize("group", ["", None, "\0", "\0spark", " ", "\t\n", " \0g"])
@pytest.mark.parametrize("kind", [Consumer, Producer, AdminClient])
def test_a_group_that_would_abort_the_process_is_refused(kind: Any, group: str | None) -> None:
    with pytest.raises(ConfigError, match=r"group\.id: expected a name, got .*is that set\?\)"):
        client(kind, {"bootstrap.servers": "x:1", "group.id": group}, "t")


@pytest.mark.parametrize("group", ["g", " g", "a\0b", 0, False, b""])
def test_other_groups_are_the_clients_affair(group: Any) -> None:
    client(Consumer, {"bootstrap.servers": "127.0.0.1:1", "group.id": group}, "t").close()


def test_an_admin_connects_as_the_others_do_and_asks_for_no_producer_id() -> None:
    """A KoP without transaction coordinator would close its connection for it."""
    seen: list[dict[str, Any]] = []

    class AdminClient:
        def __init__(self, conf: dict[str, Any]) -> None:
            seen.append(conf)

    ids = {"enable.idempotence": True, "transactional.id": "x"}
    connecting = {"enable.ssl.certificate.verification": False, "enable.sasl.oauthbearer.unsecure.jwt": True}
    client(AdminClient, {"bootstrap.servers": "x:1", **ids, **connecting, "enable.auto.commit": False}, "t")
    assert seen[0].keys() - {"bootstrap.servers", "log_level", "error_cb"} == connecting.keys()


def test_every_client_of_the_package_is_created_in_that_place() -> None:
    """Other than to ask librdkafka whether it knows an option, and in the documentation."""
    made = re.compile(r"(?<![\w.`])(Consumer|Producer|AdminClient)\((?!\))")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if made.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"_config/kafka_client.py", "testing/mock_broker.py"}


def test_no_future_of_a_client_is_waited_for_without_a_limit() -> None:
    endless = [path.name for path in PACKAGE.rglob("*.py") if ".result()" in path.read_text(encoding="utf-8")]
    assert endless == []


def test_an_answer_that_never_comes_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_GRACE_SECONDS", 0.0)
    with pytest.raises(KafkaException) as caught:
        within(Future(), 0.01)
    assert caught.value.args[0].name() == "_TIMED_OUT"


def test_a_refused_token_is_logged_once_and_the_hint_is_about_credentials(caplog: pytest.LogCaptureFixture) -> None:
    errors = ClientErrors({"bootstrap.servers": "a:1"}, "t")
    for time in (28, 29, 30):
        text = f"sasl_plaintext://a:1/bootstrap: SASL authentication error: JWT expired, a difference of {time} ms."
        errors(KafkaError(KafkaError._AUTHENTICATION, f"{text} (after {time}ms in state AUTH_REQ)"))
    assert len(caplog.messages) == 1
    found = errors.error(5)
    assert found.message.count("JWT expired") == 1
    assert "a difference of 30 ms." in found.message
    assert found.hint == "the user name, the password or the token is invalid, or the token has expired"


def test_a_missing_topic_is_logged_once_and_is_no_connection_error(caplog: pytest.LogCaptureFixture) -> None:
    errors = ClientErrors({"bootstrap.servers": "a:1"}, "t")
    for _ in range(3):
        errors(KafkaError(KafkaError._UNKNOWN_TOPIC, "a:1/1: t [0]: unknown topic"))
    assert caplog.messages == ["Kafka client of topic t: a:1/1: t [0]: unknown topic"]
    assert str(errors) == ""
    errors.clear()
    errors(KafkaError(KafkaError._UNKNOWN_TOPIC, "a:1/1: t [0]: unknown topic"))
    assert len(caplog.messages) == 2


def test_each_address_has_its_error_and_the_hint_is_about_the_latest_one() -> None:
    errors = ClientErrors({"bootstrap.servers": "a:1"}, "t")
    refusal = "a:1/1: SASL authentication error: JWT expired"
    one, two = (f"a:1/1: Connect to ipv4#10.0.0.{number}:9092 failed" for number in (1, 2))
    for text in (refusal, one, two):
        errors(KafkaError(KafkaError._TRANSPORT, text))
    assert str(errors) == f"{refusal}; {one}; {two}"
    assert "bootstrap.servers" in (errors.error(5).hint or "")
    errors(KafkaError(KafkaError._AUTHENTICATION, refusal))
    assert str(errors) == f"{one}; {two}; {refusal}"
    assert "token" in (errors.error(5).hint or "")
