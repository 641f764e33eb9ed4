"""A task of Spark that copies: which dead letters it sends."""

from __future__ import annotations

import pickle
from typing import Any

from streamnative_serdes._rewriting import BadMessageError
from streamnative_serdes.migration import Route, Rules, Side
from streamnative_serdes.migration.copying import spark_copy
from streamnative_serdes.migration.copying.dead_letters import OFFSET


class FakeOutbox:
    """Keeps what is sent: the topic, the partition, and the offset in the source of a dead letter."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, _value: Any, _key: Any, headers: Any, partition: int, _moment: int, topic: str) -> None:
        self.sent.append((topic, partition, int(dict(headers)[OFFSET])))

    def flush(self) -> None:
        self.sent.append("flush")


class FakeCopier:
    """Cannot copy anything."""

    def copy(self, _: Any) -> Any:
        raise BadMessageError("bad")


def test_dead_letters_that_are_there_already_are_not_sent_again() -> None:
    route = Route("forward", "from", "to", Side({}, {}), Side({}, {}))
    made = spark_copy._CopyTask(route, None, Rules(), 0, {}, {1: {4, 6}})  # type: ignore[arg-type]
    task, out, done = pickle.loads(pickle.dumps(made)), FakeOutbox(), spark_copy._Done(1)
    for offset in (4, 5, 6, 7):
        message = spark_copy._Message((b"key", b"value", 1, offset, 1, 0, None))
        assert task._copy(message, FakeCopier(), out, done, spark_copy._Tail())
    assert out.sent == [("to.dead-letters", 1, 5), "flush", ("to.dead-letters", 1, 7), "flush"]
    assert done.bad == 4
