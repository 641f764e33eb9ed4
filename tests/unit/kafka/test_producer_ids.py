"""Brokers that give no producer ids, as a KoP without transaction coordinator: noticed before anything is sent."""

from __future__ import annotations

import ctypes
import logging
from typing import Any

import pytest
from command import CommandLine
from confluent_kafka import KafkaError

from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import committed_messages, hint_for, idempotence, no_producer_ids, transactions
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.copying.copy import require_ids
from streamnative_serdes.migration.copying.inlet_outlet import NoTransactionsError, Outlet
from streamnative_serdes.migration.copying.resuming import Wishes
from streamnative_serdes.testing import MockBroker

KAFKA = {"bootstrap.servers": "nobody:1"}
NONE = "the brokers give no producer ids; kafkaTransactionCoordinatorEnabled"


@pytest.fixture
def none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The brokers give no ids."""
    monkeypatch.setattr(transactions, "_asked", lambda *_: NONE)
    monkeypatch.setattr(transactions, "_known", {})


def test_brokers_that_give_ids_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockBroker({"t": 1}) as broker:
        kafka: dict[str, Any] = {"bootstrap.servers": broker.bootstrap_servers, "acks": 1, "transactional.id": "x"}
        assert no_producer_ids(kafka, "t") is None
        assert idempotence({**kafka, "enable.idempotence": "true"}, "t") == {}
    monkeypatch.setattr(transactions, "_asked", lambda *_: pytest.fail("asked again"))
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
@pytest.mark.parametrize("given", [True, "true", "True", "t", "1", 1])
def test_who_asks_for_idempotence_gets_an_error_that_names_it(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"enable\.idempotence=true: .*kafkaTransactionCoordinatorEnabled"):
        idempotence({**KAFKA, "enable.idempotence": given}, "t")


@pytest.mark.parametrize(
    "option", ["bootstrap.servers", "metadata.broker.list", "sasl.username", "ssl.certificate.location"]
)
def test_each_cluster_and_each_user_is_asked(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One user may have rights that another lacks, and brokers have two names in a configuration."""
    monkeypatch.setattr(transactions, "_asked", lambda kafka, _: NONE if kafka[option] == "kop" else None)
    monkeypatch.setattr(transactions, "_known", {})
    for name in ("kop", "kafka", "kop"):
        assert no_producer_ids({"client.id": "x", option: name}, "t") == (NONE if name == "kop" else None)
    assert "client.id" not in str(transactions._known)  # nor a password


def test_brokers_that_gave_no_ids_are_asked_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may just have started."""
    clock, answers = [100.0], [NONE, None]
    monkeypatch.setattr(transactions, "_asked", lambda *_: answers.pop(0))
    monkeypatch.setattr(transactions, "_known", {})
    monkeypatch.setattr(transactions.time, "monotonic", lambda: clock[0])
    assert no_producer_ids(KAFKA, "t") == no_producer_ids(KAFKA, "t") == NONE
    clock[0] += 59.0
    assert no_producer_ids(KAFKA, "t") == NONE
    clock[0] += 2.0
    assert no_producer_ids(KAFKA, "t") is no_producer_ids(KAFKA, "t") is None
    assert answers == []


def test_options_that_need_idempotence_do_not_reach_a_client_without() -> None:
    with MockBroker({"t": 1}) as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers, "enable.gapless.guarantee": True}
        assert no_producer_ids(kafka, "t") is None


def refuse_next_batch(broker: MockBroker, code: int) -> None:
    library, codes = broker._library, (ctypes.c_int * 1)(code)
    push = library.rd_kafka_mock_push_request_errors_array  # type: ignore[union-attr]
    push.restype, push.argtypes = None, [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.c_void_p]
    push(broker._cluster, 0, 1, ctypes.byref(codes))  # 0: Produce


@pytest.mark.usefixtures("none")
def test_a_refusal_that_says_nothing_ends_a_copy() -> None:
    """A KoP answers -1 to a batch with a null header, and confluent-kafka cannot make a hash of that error."""
    with MockBroker({"t": 1}) as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        out = Outlet(kafka, "t", transactions=False)
        out.send([(0, 0, (b"a", None, None, 1_000))], marked={0})
        assert out.flush()[0].value() == b"a"
        refuse_next_batch(broker, -1)
        out.send([(0, 1, (b"b", None, None, 1_000)), (0, 2, (b"c", None, None, 1_000))], marked={1})
        with pytest.raises(SerdesError, match=r"the broker refused a message: .*null"):
            out.flush()  # before the progress is sent
        out.close()
        assert [message.value() for message in committed_messages(kafka, "t")] == [b"a"]


def test_who_does_not_want_it_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_asked", lambda *_: pytest.fail("asked"))
    assert idempotence({**KAFKA, "enable.idempotence": "false"}, "t") == {}


@pytest.mark.usefixtures("none")
def test_a_copy_with_transactions_is_an_error_and_one_without_goes_on() -> None:
    with MockBroker({"t": 1}) as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        with pytest.raises(
            NoTransactionsError, match=r"gives no transactions: .*no producer ids; .*--transactions off"
        ):
            require_ids(kafka, "t", Wishes(transactions=True))
        out = Outlet(kafka, "t", transactions=False)
        out.send([(0, 0, (b"value", b"key", None, 0))], marked={0})
        assert out.flush()[0].offset() == 0
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
