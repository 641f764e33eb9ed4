"""Brokers that give no producer ids, as a KoP without transaction coordinator: noticed before anything is sent."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from command import CommandLine
from confluent_kafka import KafkaError

from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import hint_for, idempotence, no_producer_ids, producer_ids
from streamnative_serdes.migration.copying.outlet import NoTransactionsError, Outlet
from streamnative_serdes.testing import MockBroker

KAFKA = {"bootstrap.servers": "nobody:1"}
NONE = "the brokers give no producer ids; kafkaTransactionCoordinatorEnabled"


@pytest.fixture
def none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The brokers give no ids."""
    monkeypatch.setattr(producer_ids, "_asked", lambda *_: NONE)
    monkeypatch.setattr(producer_ids, "_known", {})


def test_brokers_that_give_ids_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockBroker({"t": 1}) as broker:
        kafka: dict[str, Any] = {"bootstrap.servers": broker.bootstrap_servers, "acks": 1, "transactional.id": "x"}
        assert no_producer_ids(kafka, "t") is None
        assert idempotence({**kafka, "enable.idempotence": "true"}, "t") == {}
    monkeypatch.setattr(producer_ids, "_asked", lambda *_: pytest.fail("asked again"))
    assert no_producer_ids(kafka, "t") is None
    assert idempotence(kafka, "t") == {}


@pytest.mark.usefixtures("none")
def test_where_the_choice_is_ours_messages_are_sent_without_and_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = idempotence(KAFKA, "t")
    assert found == {"enable.idempotence": False, "max.in.flight.requests.per.connection": 1}  # which keeps the order
    assert caplog.text.count("sent without enable.idempotence") == 1
    assert idempotence({**KAFKA, **found}, "t") == {}


@pytest.mark.usefixtures("none")
@pytest.mark.parametrize("given", [True, "true", "True"])
def test_who_asks_for_idempotence_gets_an_error_that_names_it(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"enable\.idempotence=true: .*kafkaTransactionCoordinatorEnabled"):
        idempotence({**KAFKA, "enable.idempotence": given}, "t")


def test_who_does_not_want_it_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_ids, "_asked", lambda *_: pytest.fail("asked"))
    assert idempotence({**KAFKA, "enable.idempotence": "false"}, "t") == {}


@pytest.mark.usefixtures("none")
def test_a_copy_with_transactions_is_an_error_and_one_without_goes_on() -> None:
    with MockBroker({"t": 1}) as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        with pytest.raises(
            NoTransactionsError, match=r"gives no transactions: .*no producer ids; .*--transactions off"
        ):
            Outlet(kafka, "t", transactions=True)
        out = Outlet(kafka, "t", transactions=False)
        out.send([(0, 0, (b"value", b"key", None, 0))], marked={0})
        assert out.flush() == {0: 0}
        out.close()


@pytest.mark.usefixtures("none")
def test_produce_with_idempotence_by_name_is_an_error() -> None:
    with MockBroker({"t": 1}) as broker:
        run = CommandLine(bootstrap=broker.bootstrap_servers)
        line = b'{"value_hex": "00"}'
        ended = run("produce", "t", "--set", "enable.idempotence=true", "--json", stdin=line, code=None)
        assert ended.code == 2
        assert "the brokers give no producer ids" in ended.error["error"]["message"]


def test_the_hint_at_null_headers_goes_with_the_error_that_says_nothing() -> None:
    hint = hint_for(KafkaError(KafkaError.UNKNOWN))
    assert hint is not None
    assert "header whose value is null" in hint
    assert hint_for(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)) is None
