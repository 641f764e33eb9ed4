"""The progress of a copy, and where to go on: messages of topics, which are faked here."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, TopicPartition
from consumed import Message

from streamnative_serdes._rewriting import BadMessageError
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.migration.copying import copy as copying
from streamnative_serdes.migration.copying import groups, progress, resuming
from streamnative_serdes.migration.copying.dead_letters import DeadLetter, DeadLetterFile
from streamnative_serdes.migration.copying.messages import PLACE, Rules, mark_of
from streamnative_serdes.migration.copying.progress import Kept, Progress, ProgressTopic
from streamnative_serdes.migration.copying.resuming import Wishes, behind_copies, find_places
from streamnative_serdes.migration.route import Route, Side

SOURCE = "orders@CLUSTER"


def message(
    key: Any = None,
    value: Any = None,
    headers: Any = None,
    place: tuple[int, int] = (0, 0),
    time: int = 1,
    kind: int = 1,
) -> Message:
    return Message(value, key, headers, partition=place[0], offset=place[1], timestamp=(kind, time))


class FakeTopics(dict[str, list[Message]]):
    """Topics, as the functions of the module ``topics`` read them."""

    def committed(self, _: Any, topic: str, starts: Mapping[int, int] | None = None) -> Iterator[Message]:
        for one in self.get(topic, []):
            if starts is None or one.offset() >= starts.get(one.partition(), 1 << 62):
                yield one

    def bounds(self, _: Any, topic: str) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        for one in self.get(topic, []):
            low = found.get(one.partition(), (one.offset(), 0))[0]
            found[one.partition()] = low, one.offset() + 1
        return found


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> FakeTopics:
    found = FakeTopics()
    for module in (progress, resuming, groups):
        monkeypatch.setattr(module, "committed_messages", found.committed)
    for module in (resuming, groups):
        monkeypatch.setattr(module, "bounds", found.bounds)
    monkeypatch.setattr(resuming, "_SETTLED_SECONDS", 0)
    return found


def topic(source: str | None = SOURCE) -> ProgressTopic:
    return ProgressTopic({}, "to", source)


def test_what_is_written_is_read_with_sorted_anchors_and_the_last_word_of_each_partition(topics: FakeTopics) -> None:
    one = Progress(11, 9, 2, (10, 8), places=True, read=Kept(10, 1, "ab"), written=Kept(8, None, "cd"))
    one.ids, one.letters, one.keys = ("A", None), ("topic:to.dead-letters", "file:/letters"), "strip"
    words = [topic().words(0, Progress(5)), topic().words(2, Progress(0)), topic().words(0, one)]
    words += [topic().anchor_words(0, source, source + 5) for source in (9, 100, 20)]
    words += [topic().anchor_words(0, 20, 26), topic().anchor_words(7, 1, 1), topic().owner_words("run")]
    topics["to.migration-state"] = [message(*pair) for pair in words]
    one.anchors = [(9, 14), (20, 26), (100, 105)]
    assert topic().read() == {0: one, 2: Progress(0)}
    assert topic(None).read() == {0: one, 2: Progress(0)}


def test_no_topic_is_no_progress(topics: FakeTopics) -> None:
    assert topic().read() == {}


def test_the_progress_of_another_source_is_refused(topics: FakeTopics) -> None:
    topics["to.migration-state"] = [message(*topic("orders@OTHER").words(0, Progress(5)))]
    with pytest.raises(SerdesError, match="already has copies of orders@OTHER"):
        topic().read()


KEY, VALUE = topic().words(0, Progress(5))


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, VALUE), (KEY, None), (KEY, b"{"), (b"[]", VALUE), (b"1", VALUE), (KEY, b"5"), (KEY, b'{"next": 1}'),
     (KEY, b'{"target": 1}'), (topic().anchor_words(0, 1, 1)[0], VALUE), (b'{"source": "orders@CLUSTER"}', VALUE),
     (KEY, json.dumps({**json.loads(VALUE), "more": 1}).encode()), (b"\xff", VALUE),
     (KEY, VALUE.replace(b', "keys": "keep"', b""))],  # the last one of an earlier version
)  # fmt: skip
def test_another_message_is_refused_with_its_place(topics: FakeTopics, key: Any, value: Any) -> None:
    topics["to.migration-state"] = [message(key, value, place=(0, 3))]
    with pytest.raises(SerdesError, match=r"to\.migration-state, offset 3: expected the progress of a migration"):
        topic().read()


@pytest.mark.parametrize(
    ("name", "part"),
    [("next", "5"), ("next", -1), ("next", 1 << 63), ("next", True), ("next", 1.0), ("copied", None), ("bad", []),
     ("last", [1]), ("last", {}), ("last", ["1", 2]), ("places", 1), ("read", [1, 2]), ("read", [1, "2", "3"]),
     ("written", "text"), ("ids", [1, 2]), ("ids", None), ("letters", ["orders"]), ("letters", [[]]),
     ("keys", "other"), ("keys", None), ("keys", []), ("partition", "x"), ("partition", 0.5), ("source", 1)],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_the_topic_and_the_member(topics: FakeTopics, name: str, part: Any) -> None:
    trees = [{**json.loads(words), **({name: part} if name in json.loads(words) else {})} for words in (KEY, VALUE)]
    topics["to.migration-state"] = [message(*(json.dumps(tree).encode() for tree in trees), place=(0, 3))]
    with pytest.raises(SerdesError, match=rf"to\.migration-state, offset 3: .* member '{name}': expected") as caught:
        topic(None).read()
    assert "copy to another target, or delete this topic" in str(caught.value.hint)


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"next":' * 100_000])
def test_deep_json_is_refused_as_other_messages_are(topics: FakeTopics, deep: bytes) -> None:
    for pair in ((KEY, deep), (deep, VALUE)):
        topics["to.migration-state"] = [message(*pair, place=(0, 3))]
        with pytest.raises(SerdesError, match="offset 3: expected the progress of a migration"):
            topic().read()


def placed(place: bytes | None, *where: int, mark: str = f":{mark_of(SOURCE)}") -> Message:
    headers = None if place is None else [("a", b"0:99"), (PLACE, place + mark.encode())]
    return message(headers=headers, place=(where[0], where[1]))


def letter(partition: int, offset: int, at: int) -> Message:
    parts = DeadLetter(partition, offset, 1, None, None, None, "").produced("orders")
    return message(headers=parts["headers"], place=(partition, at))


ORDERS = Route("forward", "orders", "to", Side({}, {}), Side({}, {}))


def found(known: dict[int, Progress], **wishes: Any) -> Any:
    return find_places(ORDERS, SOURCE, known, Wishes(**{"transactions": False, **wishes}))


def source(*offsets: int, partition: int = 0) -> list[Message]:
    return [message(place=(partition, offset)) for offset in offsets]


@pytest.mark.parametrize("transactions", [False, True])
def test_a_copy_goes_on_as_it_was_begun(topics: FakeTopics, transactions: bool) -> None:
    known = {0: Progress(5, places=not transactions), 1: Progress(6, places=not transactions)}
    assert found(known, transactions=transactions) == ({0: 5, 1: 6}, {})
    begun = "without" if transactions else "with"
    known[1].places = transactions
    with pytest.raises(ConfigError, match=f"was begun {begun} transactions"):
        found(known, transactions=transactions)


@pytest.mark.parametrize("keys", ["keep", "strip"])
def test_a_copy_goes_on_with_the_keys_it_was_begun_with(topics: FakeTopics, keys: Any) -> None:
    known = {number: Progress(5 + number, places=True, keys=keys) for number in (0, 1)}
    assert found(known, rules=Rules(keys))[0] == {0: 5, 1: 6}
    with pytest.raises(ConfigError, match=f"was begun with --keys {keys}"):
        found(known, rules=Rules("strip" if keys == "keep" else "keep"))


def test_without_transactions_the_copies_say_where_to_go_on(topics: FakeTopics) -> None:
    topics["to"] = [
        placed(b"0:7", 0, 0), placed(b"0:9", 0, 1), placed(None, 0, 2), placed(b"1:8", 0, 3),
        placed(b"1:3", 1, 0), placed(b"2:x", 2, 0), placed(b"2:", 2, 1), placed(b"2:-4", 2, 2), placed(b"2:1:2", 2, 3),
        placed(b"3:0", 3, 0), placed(b"3:7", 3, 1, mark=""),
    ]  # fmt: skip
    topics["to.dead-letters"] = [letter(0, 4, 0), letter(0, 8, 1), placed(b"0:9", 0, 2), letter(2, 0, 0)]
    topics["orders"] = source(4, 7, 8, 9)
    places, safe = found({0: Progress(5, places=True), 1: Progress(6, places=True)})
    assert places == {0: 10, 1: 6, 3: 1}
    assert safe == {0: {8}, 1: set(), 2: {0}, 3: set()}
    assert found({}, transactions=True) == ({}, {})


@pytest.mark.parametrize(
    ("copies", "there", "letters", "place"),
    [
        ([0, 1, 2], range(9), [], 3),
        ([0, 1, 2, 6, 7, 8], range(9), [], 3),  # a batch was refused, and the next one was in flight
        ([6, 7, 8], range(9), [], 0),
        ([0, 1, 2, 6, 7, 8, 3, 4], range(9), [], 5),  # ... and the run after it was stopped
        ([0, 1, 2, 6, 7, 8, 3, 4, 5, 6, 7, 8], range(9), [], 9),
        ([0, 3, 7], [0, 3, 7, 9], [], 8),  # markers between, or compacted
        ([0, 3, 7], [0, 3, 5, 7, 9], [], 4),
        ([0, 2, 4], range(6), [1, 3], 5),
        ([0, 2, 4], range(6), [1], 3),  # a dead letter was refused
        ([0, 1, 1, 2], range(6), [], 3),
        ([0, 1, 2, 0, 1], range(6), [], 2),  # a task that ran again
        ([2, 3], range(2, 6), [], 0),  # deleted meanwhile, and perhaps not copied: Inlet.beginnings refuses it
    ],
)
def test_copying_goes_on_at_the_first_message_that_has_no_copy(
    topics: FakeTopics, copies: list[int], there: Any, letters: list[int], place: int
) -> None:
    topics["to"] = [placed(b"0:%d" % offset, 0, at) for at, offset in enumerate(copies)]
    topics["to.dead-letters"] = [letter(0, offset, at) for at, offset in enumerate(letters)]
    topics["orders"] = source(*there)
    assert found({0: Progress(0, places=True)}) == ({0: place}, {0: set(letters)})
    topics["to"] = [placed(b"0:%d" % (100 + offset), 0, at) for at, offset in enumerate([-2, *copies])]
    topics["to.dead-letters"] = [letter(0, 100 + offset, at) for at, offset in enumerate([-1, *letters])]
    topics["orders"] = source(98, 99, *(100 + offset for offset in there))
    if there[0] == 0:
        assert found({0: Progress(100, places=True)})[0] == {0: 100 + place}
    topics["to.dead-letters"] = [message(headers=DeadLetter(0, 100 + offset, 1, None, None, None, "").produced("x")
                                 ["headers"], place=(0, at)) for at, offset in enumerate(letters)]  # fmt: skip
    assert found({0: Progress(100, places=True)})[1] == {0: set()}  # those of another source


@pytest.mark.parametrize(("place", "ends"), [(None, True), (b"0:9", False)])
def test_a_target_that_grows_is_awaited_only_while_copies_come(
    topics: FakeTopics, monkeypatch: pytest.MonkeyPatch, place: bytes | None, ends: bool
) -> None:
    topics["to"], topics["orders"] = [placed(b"0:0", 0, 0)], source(0)
    monkeypatch.setattr(resuming, "_SETTLING_SECONDS", 0.05)

    def sleep(_: float) -> None:
        topics["to"].append(placed(place, 0, len(topics["to"])))

    monkeypatch.setattr(resuming.time, "sleep", sleep)
    if ends:
        assert found({0: Progress(0, places=True)})[0] == {0: 1}
    else:
        with pytest.raises(SerdesError, match="another process copies to topic to"):
            found({0: Progress(0, places=True)})


def test_copies_of_another_source_are_not_this_one_s(topics: FakeTopics) -> None:
    topics["orders"] = source(*range(9))
    for mark, place in ((f":{mark_of('other@CLUSTER')}", 0), (f":{mark_of(SOURCE)}", 3), ("", 0)):
        topics["to"] = [placed(b"0:%d" % offset, 0, offset, mark=mark) for offset in range(3)]
        assert found({0: Progress(0, places=True)})[0] == {0: place}


def test_dead_letters_in_files_are_no_lost_copies(topics: FakeTopics, tmp_path: Path) -> None:
    topics["to"], topics["orders"] = [placed(b"0:%d" % at, 0, at) for at in (0, 2, 4)], source(*range(6))
    for name, offset in (("a", 1), ("b", 3)):
        with closing(DeadLetterFile(tmp_path / name, SOURCE, {})) as file:
            file.add(DeadLetter(0, offset, 1, None, None, None, ""))
    earlier = {0: Progress(0, places=True, letters=("topic:to.dead-letters", f"file:{tmp_path / 'a'}"))}
    assert found({0: Progress(0, places=True)})[0] == {0: 1}
    assert found(earlier) == ({0: 3}, {0: {1}})
    assert found(earlier, dead_letters=tmp_path / "b") == ({0: 5}, {0: {1, 3}})


def test_without_progress_copying_goes_on_from_where_it_is_to_begin(topics: FakeTopics) -> None:
    topics["to"], topics["orders"] = [placed(b"0:%d" % at, 0, at) for at in (7, 8)], source(5, 6, 7, 8)
    assert found({})[0] == {0: 0}
    assert found({}, start={0: 6})[0] == {0: 6}
    assert found({}, start={0: 7})[0] == {0: 9}
    topics["orders"] = source(7, 8)
    assert found({})[0] == {0: 9}


def test_dead_letters_of_a_target_that_was_deleted_do_not_count(topics: FakeTopics) -> None:
    topics["to"], topics["to.dead-letters"] = [placed(None, 0, 0)], [letter(0, 8, 0)]
    assert found({}) == ({}, {})
    topics["to"], topics["orders"] = [placed(b"0:1", 0, 0)], source(1)
    assert found({}) == ({0: 2}, {0: {8}})


@pytest.mark.parametrize("behind", [0, 199, 200, 201, 999, 1000, 1001])
def test_the_last_copies_are_found_behind_any_number_of_other_messages(topics: FakeTopics, behind: int) -> None:
    topics["to"] = [placed(b"0:4", 0, 9), placed(b"0:5", 0, 10)]
    topics["to"] += [placed(None, 0, 11 + number) for number in range(behind)]
    assert found({0: Progress(4, places=True)})[0] == {0: 6}
    assert found({0: Progress(5, places=True)})[0] == {0: 6}


def test_the_way_back_begins_behind_the_last_copies(topics: FakeTopics) -> None:
    back = Route("back", "to", "from", Side({}, {}), Side({}, {}))
    with pytest.raises(SerdesError, match="nothing was copied"):
        behind_copies(back)
    words = [topic().words(0, Progress(11, last=(10, 8))), topic().words(1, Progress(3))]
    topics["to.migration-state"] = [message(*pair) for pair in words]
    assert behind_copies(back) == {0: 9}


@pytest.mark.parametrize(
    ("places", "low", "begin"), [(False, 9, 9), (False, 10, 10), (False, 11, 9), (True, 10, 9)],
)  # fmt: skip
def test_the_way_back_may_begin_behind_the_marker_that_retention_has_deleted(
    topics: FakeTopics, places: bool, low: int, begin: int
) -> None:
    back = Route("back", "to", "from", Side({}, {}), Side({}, {}))
    topics["to.migration-state"] = [message(*topic().words(0, Progress(11, last=(10, 8), places=places)))]
    topics["to"] = [message(place=(0, low))]
    assert behind_copies(back) == {0: begin}


class FakeCluster:
    """A cluster whose topics have these ids; None where the broker has none."""

    ids: ClassVar[dict[str, str | None]] = {}

    def __init__(self, *_: Any) -> None: ...

    def id_of(self, name: str) -> tuple[bool, str | None]:
        return name in self.ids, self.ids.get(name)


@pytest.fixture
def world(topics: FakeTopics, monkeypatch: pytest.MonkeyPatch) -> FakeTopics:
    """Source and target with a message in each of two partitions, the second of which begins later."""
    monkeypatch.setattr(resuming, "Cluster", FakeCluster)
    monkeypatch.setattr(FakeCluster, "ids", {"from": "S", "to": "T"})
    topics["from"] = [message(b"k", b"%d" % at, place=(0, at), time=at) for at in range(5)]
    topics["to"] = [message(b"k", b"%d" % at, place=(0, at), time=at) for at in range(5)]
    topics["from"] += [message(b"k", b"late", place=(1, 7))]
    topics["to"] += [message(b"k", b"late", place=(1, 7))]
    return topics


def known_of(world: FakeTopics, at: int = 3, ids: Any = ("S", "T"), **more: Any) -> dict[int, Progress]:
    read, written = (Kept.of(world[name][at]) for name in ("from", "to"))
    return {0: Progress(at + 1, at + 1, last=(at, at), **{"read": read, "written": written, "ids": ids, **more})}


ROUTE = Route("forward", "from", "to", Side({}, {}), Side({}, {}))


@pytest.mark.parametrize("ids", [("S", "T"), (None, None)])
def test_the_topics_of_the_progress_are_known_again(world: FakeTopics, ids: Any) -> None:
    if ids[0] is None:
        FakeCluster.ids |= {"from": None, "to": None}
    known = known_of(world, ids=ids)
    known[1] = Progress(3, last=(2, 2), read=Kept(2, 1, "deleted"), written=Kept(2, None, "deleted"), ids=ids)
    known[2] = Progress(0)
    resuming.require_known(ROUTE, known)


@pytest.mark.parametrize("role", ["source", "target"])
@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize(
    ("change", "reason"),
    [({"digest": "other"}, "partition 0 has another message at offset 3"),
     ({"timestamp": 1}, "partition 0 has another message at offset 3"),
     ({"offset": 5}, "partition 0 ends at 5, and had offset 5")],
)  # fmt: skip
def test_a_topic_with_another_message_is_another_one(
    world: FakeTopics, role: Any, has_ids: bool, change: dict[str, Any], reason: str
) -> None:
    ids = ("S", "T") if has_ids else (None, None)
    if not has_ids:
        FakeCluster.ids |= {"from": None, "to": None}
    known, name = known_of(world, ids=ids), "read" if role == "source" else "written"
    setattr(known[0], name, getattr(known[0], name)._replace(**change))
    with pytest.raises(resuming.ChangedTopicError, match=f"the {role} is not the topic .*: {reason}") as caught:
        resuming.require_known(ROUTE, known, settle=0)
    assert "delete what there is of the topics to, to.migration-state and to.dead-letters first" in str(caught.value)
    assert caught.value.topic == ("from" if role == "source" else "to")
    pickle.loads(pickle.dumps(caught.value))
    resuming.require_known(ROUTE, known, ["target" if role == "source" else "source"], settle=0)


@pytest.mark.parametrize(("name", "role"), [("from", "source"), ("to", "target")])
@pytest.mark.parametrize("others", [False, True])
def test_ids_are_compared_where_no_message_was_read(world: FakeTopics, name: str, role: str, others: bool) -> None:
    known = {**(known_of(world) if others else {}), 1: Progress(7, ids=("S", "T"))}
    resuming.require_known(ROUTE, known)
    known[1].ids = ("OLD", "T") if role == "source" else ("S", "OLD")
    with pytest.raises(
        resuming.ChangedTopicError, match=f"the {role} is not the topic .*: its id is [ST], and was OLD"
    ):
        resuming.require_known(ROUTE, known)
    known[1].ids = ("S", "T")
    del FakeCluster.ids[name]
    with pytest.raises(resuming.ChangedTopicError, match=f"the {role} is not .*: it does not exist any more"):
        resuming.require_known(ROUTE, known)
    known = {1: Progress(7)}  # such as a KoP's: nothing is known of the topics
    resuming.require_known(ROUTE, known)


def test_what_compaction_has_deleted_says_nothing_where_topics_have_ids(world: FakeTopics) -> None:
    known = known_of(world)
    for name in ("from", "to"):
        world[name].pop(3)
    resuming.require_known(ROUTE, known)
    FakeCluster.ids |= {"from": None, "to": None}
    with pytest.raises(resuming.ChangedTopicError, match="partition 0 has another message at offset 3"):
        resuming.require_known(ROUTE, known_of(world, 3, ids=(None, None), read=known[0].read))


def test_topics_must_stay_the_same_while_a_run_goes_on(world: FakeTopics) -> None:
    known, same = known_of(world), resuming.SameTopics(ROUTE)
    assert same.ids == ("S", "T")
    same.require(known)
    same.require({0: Progress(0)})
    FakeCluster.ids["to"] = "NEW"
    with pytest.raises(resuming.ChangedTopicError, match="its id is NEW, and was T when this run began"):
        same.require({0: Progress(0)})


def test_where_topics_have_no_ids_the_message_that_was_kept_last_has_to_be_there_still(world: FakeTopics) -> None:
    FakeCluster.ids |= {"from": None, "to": None}
    known, same = known_of(world, ids=(None, None)), resuming.SameTopics(ROUTE)
    same.require(known)
    world["from"][3] = message(b"k", b"other", place=(0, 3), time=3)
    with pytest.raises(resuming.ChangedTopicError, match="the source is not the topic"):
        same.require(known)


class FakeCopier:
    """A copy is the message itself; those with value ``bad`` cannot be copied."""

    def copy(self, one: Message) -> Any:
        if one.value() == b"bad":
            raise BadMessageError("bad")
        return one.value(), one.key(), None, one.timestamp()[1]


def walk(topics: FakeTopics, known: dict[int, Progress], start: Mapping[int, int] | None = None) -> Any:
    """Sources 2 (bad), 3, 4, 6 and 7 (bad) have copies at 12, 14 and 17, among messages of others."""
    side = Side({}, {})
    topics["from"] = [message(None, value, place=(0, offset)) for offset, value in
                      ((2, b"bad"), (3, b"a"), (4, b"b"), (6, b"a"), (7, b"bad"))]  # fmt: skip
    topics["to"] = [message(None, value, place=(0, offset)) for offset, value in
                    ((10, b"z"), (12, b"a"), (13, b"z"), (14, b"b"), (16, b"z"), (17, b"a"), (18, b"z"))]  # fmt: skip
    state: Any = type("State", (), {"route": Route("forward", "from", "to", side, side)})
    return groups._Walk(state, FakeCopier(), known, start or {}, {0: 9})


@pytest.mark.promise("groups")
@pytest.mark.parametrize("anchors", [[], [(3, 12)], [(3, 12), (6, 17)], [(4, 14)]])
@pytest.mark.parametrize(
    ("offset", "target"), [(0, 12), (2, 12), (3, 12), (4, 14), (5, 17), (6, 17), (7, 18), (8, 18), (9, 18)]
)
def test_a_group_goes_on_at_the_copy_of_its_next_message(
    topics: FakeTopics, anchors: list[tuple[int, int]], offset: int, target: int
) -> None:
    moved = walk(topics, {0: Progress(8, last=(6, 17), anchors=anchors)}).moved("g", 0, offset)
    assert moved == groups.Moved("g", 0, offset, target, early=offset == 9)


class FakeAdmin:
    """Says that a group has a transaction open, for some questions; then that it is at offset 7."""

    def __init__(self, unstable: int) -> None:
        self.unstable = unstable

    def list_consumer_group_offsets(self, asked: Any, *, require_stable: bool, **_: Any) -> Any:
        place = TopicPartition("from", 0, 7)
        if self.unstable and require_stable:
            self.unstable -= 1
            place = SimpleNamespace(error=KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT))  # type: ignore[assignment]
        future: Any = Future()
        future.set_result(SimpleNamespace(topic_partitions=[place]))
        return {asked[0].group_id: future}


def test_the_offsets_of_a_group_s_open_transaction_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    (place,) = groups._offsets(FakeAdmin(2), "g", "from", [0])
    assert place.offset == 7
    monkeypatch.setattr(groups, "_SECONDS", 0.2)
    with pytest.raises(SerdesError, match="the group 'g' has a transaction open"):
        groups._offsets(FakeAdmin(100), "g", "from", [0])


def test_a_group_from_before_the_start_is_refused(topics: FakeTopics) -> None:
    known = {0: Progress(8, last=(6, 17))}
    assert walk(topics, known, {0: 3}).moved("g", 0, 3).target == 12
    with pytest.raises(SerdesError, match="at offset 2 of partition 0; copying began at 3"):
        walk(topics, known, {0: 3}).moved("g", 0, 2)


@pytest.mark.parametrize(("offset", "early"), [(3, False), (4, True)])
def test_without_any_copy_a_group_goes_on_at_the_target_s_end(topics: FakeTopics, offset: int, early: bool) -> None:
    for known in ({0: Progress(3)}, {}):
        moved = walk(topics, known, {0: 3}).moved("g", 0, offset)
        assert moved == groups.Moved("g", 0, offset, 19, early)


def test_a_copy_that_is_gone_is_an_error(topics: FakeTopics) -> None:
    one = walk(topics, {0: Progress(8, last=(6, 17))})
    topics["to"].pop(3)
    with pytest.raises(SerdesError, match="partition 0, offset 4 is not there"):
        one.moved("g", 0, 4)


@pytest.mark.promise("groups")
@pytest.mark.parametrize("anchors", [[], [(3, 12)]])
def test_copies_that_retention_has_deleted_are_not_looked_for(
    topics: FakeTopics, anchors: list[tuple[int, int]]
) -> None:
    known = {0: Progress(8, last=(6, 17), anchors=anchors)}
    one = walk(topics, known)
    del topics["to"][:3]
    one._bounds = topics.bounds({}, "to")
    assert [one.moved("g", 0, offset).target for offset in (4, 5, 6)] == [14, 17, 17]


def test_times_that_the_target_s_broker_has_set_are_not_compared(topics: FakeTopics) -> None:
    one = walk(topics, {0: Progress(8, last=(6, 17), anchors=[(3, 12)])})
    topics["to"] = [message(None, copy.value(), place=(0, copy.offset()), time=99, kind=2) for copy in topics["to"]]
    assert [one.moved("g", 0, offset).target for offset in (3, 4, 5)] == [12, 14, 17]


def test_a_group_is_refused_plainly_behind_the_source_s_end_and_where_the_source_was_emptied(
    topics: FakeTopics,
) -> None:
    one = walk(topics, {0: Progress(8, last=(6, 17))})
    with pytest.raises(SerdesError, match=r"at offset 10 of partition 0, which is out of range: .* ends at 9"):
        one.moved("g", 0, 10)
    topics["from"] = []
    with pytest.raises(SerdesError, match="partition 0 has no message from offset 4 on any more"):
        one.moved("g", 0, 4)


def test_a_batch_is_due_at_its_bounds() -> None:
    batch = copying._Batch()
    assert not batch.is_due(idle=True)
    batch.seen[0] = message()
    assert batch.is_due(idle=True)
    assert not batch.is_due(idle=False)
    batch.copied[0], batch.bad[1] = copying.COMMIT_MESSAGES - 2, 1
    assert not batch.is_due(idle=False)
    batch.bad[0] += 1
    assert batch.is_due(idle=False)
    for size in (copying.COMMIT_BYTES - 1, copying.COMMIT_BYTES):
        batch = copying._Batch(seen={0: message()}, size=size)
        assert batch.is_due(idle=False) == (size == copying.COMMIT_BYTES)


def test_a_batch_is_due_by_its_age_which_counts_from_its_first_message(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(copying.time, "monotonic", lambda: now[0])
    batch = copying._Batch(since=90.0)
    assert not batch.is_due(idle=False)  # nothing was read yet
    batch.seen[0] = message()
    now[0] = 101.9
    assert not batch.is_due(idle=False)
    now[0] = 102.0
    assert batch.is_due(idle=False)


def test_a_kept_time_of_zero_is_a_time_and_one_that_is_not_known_fits_any() -> None:
    found: Any = message(b"k", b"v", time=5)
    kept = Kept.of(found)
    assert kept.timestamp == 5
    assert [kept._replace(timestamp=time).is_of(found) for time in (5, None, 0, 4)] == [True, True, False, False]
    assert not kept._replace(offset=1).is_of(found)


def test_what_has_to_be_copied_ends_before_the_last_copy(topics: FakeTopics) -> None:
    topics["from"] = [message(place=(0, offset)) for offset in (3, 4, 6, 7)]
    route: Any = SimpleNamespace(reading=SimpleNamespace(kafka={}), source="from")
    for begin, end, begun, expected in (
        (3, 6, True, [3, 4]),
        (1, 7, True, [1, 2, 3, 4]),
        (1, 7, False, [3, 4]),
        (3, 3, True, []),
    ):
        assert resuming._messages(route, 0, begin, end, begun=begun, but={6}) == expected


# A topic is known again by its id and by kept messages; a message that compaction has deleted says nothing

KEPT = Kept(5, 1_000, "digest")
BEHIND = message(value=b"v", place=(0, 6), time=1_000)  # behind the kept message


def side(monkeypatch: pytest.MonkeyPatch, now: str | None, found: Any) -> resuming._CopiedTopic:
    """The source, with this id now, and this first message from offset 5 on."""
    monkeypatch.setattr(resuming, "Cluster", lambda *_: SimpleNamespace(id_of=lambda _: (True, now)))
    monkeypatch.setattr(resuming, "bounds", lambda *_: {0: (0, 9)})
    monkeypatch.setattr(resuming, "_first", lambda *_: {} if found is None else {0: found})
    route: Any = SimpleNamespace(reading=SimpleNamespace(kafka={}), source="orders", target="copies")
    return resuming._CopiedTopic(route, "source")


@pytest.mark.parametrize("found", [None, BEHIND])
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
        with pytest.raises(resuming.ChangedTopicError, match="partition 0 has another message at offset 5"):
            source.require({0: KEPT}, ids, 0.0)


def test_another_id_is_another_topic_whatever_its_messages_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(resuming.ChangedTopicError, match="its id is B, and was A"):
        side(monkeypatch, "B", None).require({}, {"A", "B", None}, 0.0)
