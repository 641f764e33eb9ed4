"""What copying asks before it creates anything: producer ids of brokers that give none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import transactions
from streamnative_serdes.migration import Route, Side, TopicCopy, Wishes
from streamnative_serdes.migration.copying import copy, spark_copy
from streamnative_serdes.migration.copying.inlet_outlet import NoTransactionsError

NONE = "the brokers give no producer ids; kafkaTransactionCoordinatorEnabled"


class ReadyError(Exception):
    """Copying has come to what creates topics."""


@pytest.fixture(autouse=True)
def brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers without producer ids, as a KoP is delivered."""
    monkeypatch.setattr(transactions, "_asked", lambda *_: NONE)
    monkeypatch.setattr(transactions, "_known", {})

    def ready(*_: Any) -> Any:
        raise ReadyError

    for module in (copy, spark_copy):
        monkeypatch.setattr(module, "ready", ready)
        monkeypatch.setattr(module, "Inlet", lambda *_: SimpleNamespace(cluster="CLUSTER", close=lambda: None))


def copy_of(*, transactions: bool = False, spark: bool = False, **kafka: Any) -> Any:
    side = Side({"bootstrap.servers": "nobody:1", **kafka}, {})
    state: Any = SimpleNamespace(route=Route("forward", "from", "to", side, side), rewriter=lambda: None)
    wishes = Wishes(transactions=transactions)
    return spark_copy.SparkCopy(state, wishes, None) if spark else TopicCopy(state, wishes)


def test_transactions_that_there_are_not_are_an_error_before_anything_is_created() -> None:
    with pytest.raises(NoTransactionsError, match=r"gives no transactions: .*no producer ids; .*--transactions off"):
        copy_of(transactions=True).run()


@pytest.mark.parametrize("spark", [False, True])
@pytest.mark.parametrize("given", [True, False, None])
def test_idempotence_that_there_is_not_is_an_error_before_anything_is_created(spark: bool, given: bool | None) -> None:
    options = {} if given is None else {"enable.idempotence": given}
    expected = pytest.raises(ConfigError, match=r"enable\.idempotence=true: ") if given else pytest.raises(ReadyError)
    with expected:
        copy_of(spark=spark, **options).run()


def test_brokers_that_give_ids_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_asked", lambda *_: None)
    with pytest.raises(ReadyError):
        copy_of(transactions=True).run()
