"""What a serializer or a deserializer knows goes with it into another process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.binding import Binding
from streamnative_serdes.testing import LocalRegistry
from streamnative_serdes.watch import Watch


@pytest.mark.parametrize("times", [1, 2])
def test_what_was_warmed_up_needs_no_registry_elsewhere(registry: LocalRegistry, times: int) -> None:
    conf = {"schema.registry.url": registry.url}
    serializer, deserializer = KafkaAvroSerializer(conf, "int"), KafkaAvroDeserializer(conf)
    serializer.warm_up("numbers")
    deserializer.warm_up("numbers")
    for _ in range(times):
        packed = pickle.dumps((serializer, deserializer))
        Binding.forget()  # as in another process
        serializer, deserializer = pickle.loads(packed)
    before = registry.calls.copy()
    message = serializer.serialize("numbers", 7)
    assert deserializer.deserialize("numbers", message) == 7
    assert registry.calls == before


class Looker:
    def look(self) -> None:
        pass


@pytest.fixture
def unwatched() -> Iterator[None]:
    Watch.allowed = False
    yield
    Watch.allowed = True


def test_a_process_may_be_told_not_to_watch(unwatched: None) -> None:
    looker = Looker()
    watch = Watch(60.0, looker.look)
    watch.ensure()
    assert watch._ending is None
    Watch.allowed = True
    watch.ensure()
    assert watch._ending is not None
    watch.stop()
