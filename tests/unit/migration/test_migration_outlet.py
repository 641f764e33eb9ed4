"""The outlet of a copy on a producer that only notes what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes._kafka import producing
from streamnative_serdes.migration.copying import inlet_outlet
from streamnative_serdes.migration.copying.inlet_outlet import Outlet


class Producer:
    def __init__(self) -> None:
        self.reported: list[bool] = []

    def produce(self, *_: Any, on_delivery: Any, **__: Any) -> None:
        self.reported.append(on_delivery is not None)


@pytest.mark.parametrize(
    ("transactions", "reported"), [(True, [False, True, False]), (False, [True, True, True])], ids=["with", "without"]
)
def test_only_without_transactions_each_copy_has_a_report(
    monkeypatch: pytest.MonkeyPatch, transactions: bool, reported: list[bool]
) -> None:
    """With transactions, the commit says that a message is missing."""
    producer = Producer()
    monkeypatch.setattr(producing, "client", lambda *_: producer)
    monkeypatch.setattr(inlet_outlet, "idempotence", lambda *_: {})
    monkeypatch.setattr(Outlet, "_init_transactions", lambda _: None)
    copies: Any = [(0, offset, (b"v", None, None, 5)) for offset in range(3)]
    Outlet({"bootstrap.servers": "x:1"}, "t", transactions=transactions).send(copies, marked={1})
    assert producer.reported == reported
