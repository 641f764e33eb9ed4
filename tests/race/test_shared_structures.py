"""Structures that threads share lose nothing and mix nothing up; docs/design.md names the guard of each.

Where a race can be forced, the test makes another thread's step happen in the middle of one. Elsewhere 16 threads start
at a barrier, with a switch interval of a microsecond; without the GIL, they run at once.
"""

from __future__ import annotations

import asyncio
import gc
import math
import pickle
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
import waiting
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._auth.tokens import Renewed, Token
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._http.exchange import _TlsAdapter
from streamnative_serdes._reading.framings import Signs, UnknownIds
from streamnative_serdes._schema import Limits
from streamnative_serdes._topics.cache import Shared
from streamnative_serdes._topics.schema_version import Compiled
from streamnative_serdes._topics.topic_state import KeptWhileUnchanged, Topics, TopicState
from streamnative_serdes._topics.watch import Users, Watch
from streamnative_serdes.compat.asynchronous import _Async
from streamnative_serdes.connect import INT32, STRING, JsonConverter, SchemaBuilder, Struct, json_converter
from streamnative_serdes.connect.avro import converter as avro_converter
from streamnative_serdes.connect.json_schema import Envelopes
from streamnative_serdes.schema_registry import SchemaInfo, TopicName
from streamnative_serdes.testing import LocalRegistry

THREADS = 16
USER = record("User", ("id", "int"))
TOPIC = TopicName.parse("users")

_T = TypeVar("_T")


@pytest.fixture(autouse=True)
def busy_switching() -> Iterator[None]:
    with waiting.busy_switching():
        yield


def in_threads(work: Callable[[int], _T]) -> list[_T]:
    return waiting.together(THREADS, work)


# What another thread does in the middle of a step


def test_an_envelope_is_read_by_its_own_schema_whatever_another_thread_keeps_meanwhile() -> None:
    class Overtaken(Envelopes):
        """Each assignment of the last envelope is followed by another thread's."""

        others: Any = None

        @property
        def _last(self) -> Any:
            return self.others

        @_last.setter
        def _last(self, value: Any) -> None:
            pass

    options = JsonConverter().options
    envelopes = Overtaken(options.form, 10, options.max_depth)
    begin = b'{"schema":{"type":"int%d","optional":false},"payload":'
    for bits in (32, 64):
        envelopes.split(begin % bits + b"1}")
    envelopes.others = begin % 64, envelopes._known[begin % 64]
    known, payload = envelopes.split(begin % 32 + b"2}")
    assert (known.schema is not None and known.schema.type, payload) == (INT32.type, 2)


def test_a_rejected_token_does_not_undo_a_renewal_by_another_thread() -> None:
    made = iter(("first", "second", "third"))

    class Text(str):
        """Another thread renews while the rejected token is compared."""

        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            if str.__eq__(self, "first"):
                renewed._held = None
                renewed.token(1.0)
            return str.__eq__(self, other)

    renewed = Renewed(lambda _deadline: Token(Text(next(made)), 100.0), lambda: 0.0)
    renewed.token(1.0)
    renewed.reject("first")
    assert renewed.token(1.0) == Token("second", 100.0)


def test_a_token_that_was_rejected_is_not_used_again() -> None:
    made = iter(("first", "second"))
    renewed = Renewed(lambda _deadline: Token(next(made), 100.0), lambda: 0.0)
    renewed.token(1.0)
    renewed.reject("other")
    assert renewed.token(1.0) == Token("first", 100.0)
    renewed.reject("first")
    assert renewed.token(1.0) == Token("second", 100.0)


def test_a_converter_that_is_configured_while_it_makes_a_writer_keeps_none_of_the_options_before(
    conf: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    converter, original = avro_converter.AvroConverter(conf), avro_converter.avro_schema

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(avro_converter, "avro_schema", original)
        converter.configure({**conf, "max.depth": 7})
        return original(*arguments)

    monkeypatch.setattr(avro_converter, "avro_schema", overtaken)
    schema = SchemaBuilder.struct().name("User").field("id", INT32).build()
    first, second = (converter.from_connect_data("users", schema, Struct(schema, id=1)) for _ in range(2))
    assert first == second
    assert converter._now is not None
    assert policy_of(converter._now._written[schema].exact).conf["max.depth"] == 7


def test_a_json_converter_that_is_configured_meanwhile_writes_by_the_options_of_one_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    converter, original = JsonConverter(), json_converter.to_json

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(json_converter, "to_json", original)
        converter.configure({"schemas.enable": False})
        return original(*arguments)

    monkeypatch.setattr(json_converter, "to_json", overtaken)
    before, after = (converter.from_connect_data("users", STRING, "a") for _ in range(2))
    assert before == b'{"schema":{"type":"string","optional":false},"payload":"a"}'
    assert after == b'"a"'


def test_a_proxys_manager_is_not_dropped_between_the_steps_of_requests() -> None:
    adapter = _TlsAdapter(None, 1)
    asked, lock = threading.Event(), adapter._lock

    class Told:
        """The lock, which tells when another thread waits for it."""

        def __enter__(self) -> None:
            if threading.current_thread() is renewing:
                asked.set()
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    class Managers(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            renewing.start()
            waiting.until(lambda: asked.is_set() or not renewing.is_alive(), "the other thread waits, or is done")
            return super().__contains__(key)

    renewing = threading.Thread(target=adapter.renew, args=(ssl.create_default_context(),), daemon=True)
    manager = adapter.proxy_manager_for("http://127.0.0.1:1")
    adapter._lock = Told()  # type: ignore[assignment]
    adapter.proxy_manager = Managers({"http://127.0.0.1:1": manager})
    assert adapter.proxy_manager_for("http://127.0.0.1:1") is manager
    waiting.join(renewing)
    assert not adapter.proxy_manager


def test_a_pickle_of_a_serializer_that_is_being_configured_is_of_one_configuration(conf: dict[str, str]) -> None:
    deserializer = KafkaAvroDeserializer(conf)
    deserializer._given = deserializer._given._replace(is_key=True)  # as far as configure(conf, is_key=True) has come
    assert policy_of(pickle.loads(pickle.dumps(deserializer))).is_key is False


def test_two_tasks_that_await_one_serializer_get_the_same() -> None:
    made = iter((["first"], ["second"]))
    both = threading.Barrier(2)

    def make() -> Any:
        both.wait(waiting.HANG_SECONDS)
        return next(made)

    async def opened() -> list[Any]:
        shared: _Async[Any] = _Async(make, lambda *_: None)

        async def of_task() -> Any:
            await shared._opened()
            return shared._blocking

        return await asyncio.gather(of_task(), of_task())

    first, second = asyncio.run(opened())
    assert first is second


# Many threads at once


def test_each_unknown_id_counts() -> None:
    ids = UnknownIds(1e9)
    in_threads(lambda _: [ids.note("users") for _ in range(200)])
    counted = ids._by_topic.get("users")
    assert counted is not None
    assert counted[0] == THREADS * 200


def test_a_header_has_one_number_in_all_threads(conf: dict[str, str]) -> None:
    framings = Signs({**policy_of(KafkaAvroDeserializer(conf)).conf, "framings": ("snip42", "confluent-header")})
    values = [b"\0" + number.to_bytes(4) for number in range(500)]
    found = in_threads(lambda _: [framings.header_key(value) for value in values])
    assert all(keys == found[0] for keys in found)
    assert [framings.schema_of(key) for key in found[0]] == list(range(500))


def test_a_warning_about_a_topic_and_version_comes_once(conf: dict[str, str]) -> None:
    policy = policy_of(KafkaAvroDeserializer(conf))
    news = in_threads(lambda _: [policy.is_news("users", version) for version in range(500)])
    assert [sum(each) for each in zip(*news, strict=True)] == [1] * 500


class User:
    """A user of a binding."""

    def rebind(self) -> None:
        pass


def test_users_may_come_and_die_while_others_are_told() -> None:
    users = Users()
    stays = User()
    users.attach(stays, lambda _count: None)

    def work(number: int) -> None:
        for _ in range(300):
            if number % 2:
                users.rebind()
            else:
                users.attach(User(), lambda _count: None)  # dies at once

    in_threads(work)
    gc.collect()
    assert [each() for each in users.refs.values()] == [stays]


def test_room_is_made_for_each_user(conf: dict[str, str]) -> None:
    for _ in range(30):
        topics, users, attached = Topics(10, 1.0, Limits()), Users(), [User() for _ in range(THREADS)]
        in_threads(
            lambda number, users=users, topics=topics, all_=attached: users.attach(all_[number], topics.make_room)
        )
        assert topics._states.capacity == 10 * THREADS


class Look:
    """Counts looks by thread."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def look(self) -> None:
        self.threads.append(threading.current_thread())


def test_of_watches_that_start_at_once_one_stays() -> None:
    owner = Look()
    watch = Watch(0.01, owner.look)
    before = set(threading.enumerate())
    in_threads(lambda _: watch.ensure())

    def watching() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "streamnative_serdes watch"]

    started = lambda: [thread for thread in watching() if thread not in before]  # noqa: E731
    waiting.until(lambda: len(started()) == 1, "all other threads of the watch end")
    waiting.until(lambda: len(owner.threads) >= 3, "the thread that stays looks")
    assert set(owner.threads[-2:]) == set(started())
    watch.stop()
    waiting.until(lambda: not started(), "the watch ends")


def test_schemas_of_equal_text_are_found_while_others_die() -> None:
    texts = [f'{{"type": "fixed", "name": "F{number}", "size": {number}}}' for number in range(5)]

    def work(number: int) -> None:
        for step in range(200):
            text = texts[(number + step) % 5]
            assert Compiled.of(text, Limits()).schema.text == text
            if number == 0 and step % 10 == 0:
                gc.collect(0)

    in_threads(work)
    first = Compiled.of(texts[0], Limits())
    assert Compiled.of(texts[0], Limits()) is first


def test_equal_arguments_give_one_codec() -> None:
    for number in range(20):
        compiled = Compiled.of(f'{{"type": "fixed", "name": "Once", "size": {number}}}', Limits())
        assert len(set(in_threads(lambda _, one=compiled: one.codec({"max_depth": 9})))) == 1


class Thing:
    def after_fork(self) -> None:
        pass


def test_a_shared_object_is_made_once() -> None:
    shared: Shared[Thing] = Shared()
    made: list[Thing] = []

    def make() -> Thing:
        made.append(Thing())
        return made[-1]

    found = in_threads(lambda _: [shared.of({"key": key}, make) for key in range(50)])
    assert len(made) == 50
    assert all(each == found[0] for each in found)


def test_a_kept_reader_is_taken_by_one_thread() -> None:
    kept: KeptWhileUnchanged[object] = KeptWhileUnchanged(10)
    state = TopicState(TOPIC)
    for _ in range(100):
        kept.keep("a", state, math.inf, object())
        assert sum(taken is not None for taken in in_threads(lambda _: kept.take("a", state))) == 1


def test_no_change_of_a_topic_is_lost() -> None:
    topics = Topics(THREADS * 50, 1.0, Limits())
    texts = [(number, f'{{"type": "fixed", "name": "F", "size": {number}}}') for number in range(THREADS * 20)]

    def work(number: int) -> None:
        for version, text in texts[number * 20 : number * 20 + 20]:
            topics.keep(TOPIC, SchemaInfo(version, "AVRO", text))

    in_threads(work)
    assert sorted(topics.get(TOPIC).schemas) == list(range(THREADS * 20))


def test_requests_are_counted_and_one_question_is_asked_once(registry: LocalRegistry, conf: dict[str, str]) -> None:
    serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)

    def work(number: int) -> Any:
        message = serializer.serialize("users", {"id": number})
        serializer.stats()
        return deserializer.deserialize("users", message)["id"]

    assert in_threads(work) == list(range(THREADS))
    assert registry.calls == {"POST schema": 1, "GET version": 1}
    assert serializer.stats()["registry_calls"] == deserializer.stats()["registry_calls"] == 2
