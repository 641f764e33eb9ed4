"""A topic is known again by its id and by kept messages; a message that compaction has deleted says nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streamnative_serdes.migration.copying import resuming
from streamnative_serdes.migration.copying.progress import Kept
from streamnative_serdes.migration.copying.resuming import ChangedTopicError

KEPT = Kept(5, 1_000, "digest")
PARTS = {"partition": 0, "offset": 6, "key": None, "value": b"v", "timestamp": (1, 1_000)}
NEXT = SimpleNamespace(**{name: lambda part=part: part for name, part in PARTS.items()})  # the message behind it


def side(monkeypatch: pytest.MonkeyPatch, now: str | None, found: Any) -> resuming._CopiedTopic:
    """The source, with this id now, and this first message from offset 5 on."""
    monkeypatch.setattr(resuming, "Cluster", lambda *_: SimpleNamespace(id_of=lambda _: (True, now)))
    monkeypatch.setattr(resuming, "bounds", lambda *_: {0: (0, 9)})
    monkeypatch.setattr(resuming, "_first", lambda *_: {} if found is None else {0: found})
    route: Any = SimpleNamespace(reading=SimpleNamespace(kafka={}), source="orders", target="copies")
    return resuming._CopiedTopic(route, "source")


@pytest.mark.parametrize("found", [None, NEXT])
@pytest.mark.parametrize(
    ("now", "ids", "proven"),
    [("A", {"A"}, True), ("A", {"A", None}, False), (None, {"A"}, False), (None, {None}, False), ("A", set(), True)],
)
def test_a_missing_message_is_one_that_compaction_has_deleted_only_where_ids_prove_the_topic(
    monkeypatch: pytest.MonkeyPatch, now: str | None, ids: set[str | None], proven: bool, found: Any
) -> None:
    source = side(monkeypatch, now, found)
    if proven:
        source.require({0: KEPT}, ids, 0.0)
    else:
        with pytest.raises(ChangedTopicError, match="partition 0 has another message at offset 5"):
            source.require({0: KEPT}, ids, 0.0)


def test_another_id_is_another_topic_whatever_its_messages_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ChangedTopicError, match="its id is B, and was A"):
        side(monkeypatch, "B", None).require({}, {"A", "B", None}, 0.0)
