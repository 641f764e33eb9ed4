"""The processes and tasks that copy: their owner, what they ask first, what they send and what they send again."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from consumed import Message

from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import (
    BrokerUnavailableError,
    OffsetsGoneError,
    RefusedMessageError,
    TopicConsumer,
    consuming,
    producing,
    transactions,
)
from streamnative_serdes._rewriting import BadMessageError
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration import Route, Rules, Side, TopicCopy, Wishes
from streamnative_serdes.migration.copying import copy, inlet_outlet, progress, spark_copy
from streamnative_serdes.migration.copying.dead_letters import OFFSET
from streamnative_serdes.migration.copying.inlet_outlet import NoTransactionsError, Outlet, TransactionAbortedError
from streamnative_serdes.migration.copying.progress import Owner, ProgressTopic

TOPIC = ProgressTopic({}, "to", "from@CLUSTER")


class FakeConsumer:
    """A consumer that is about to give these messages."""

    def __init__(self) -> None:
        self.coming: list[Any] = []

    def assign(self, _: Any) -> None: ...

    def unassign(self) -> None: ...

    def position(self, places: Any) -> Any:
        return places

    def consume(self, *_: Any) -> list[Any]:
        found, self.coming = self.coming, []
        return found

    def close(self) -> None: ...

    def say(self, key: bytes, value: bytes) -> None:
        self.coming.append(Message(value, key))

    def fail(self, code: int) -> None:
        self.coming.append(Message(error=KafkaError(code)))


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> FakeConsumer:
    fake = FakeConsumer()
    monkeypatch.setattr(consuming, "client", lambda *_: fake)
    monkeypatch.setattr(consuming, "bounds_of", lambda *_: (0, 0))
    return fake


def test_another_process_that_copies_since_ends_this_one(consumer: FakeConsumer) -> None:
    consumer.say(*TOPIC.owner_words("earlier"))
    owner = Owner({}, "to", TOPIC, consumer.say)
    owner.require()
    consumer.say(*TOPIC.owner_words("later"))
    with pytest.raises(SerdesError, match="another process copies to topic to now"):
        owner.require()


@pytest.mark.parametrize("another", [True, False])
def test_a_process_that_is_fenced_is_the_owner_unless_another_one_claims_the_target(
    consumer: FakeConsumer, monkeypatch: pytest.MonkeyPatch, another: bool
) -> None:
    monkeypatch.setattr(progress, "_CLAIM_SECONDS", 0.05)
    owner = Owner({}, "to", TOPIC, consumer.say)
    if another:
        consumer.say(*TOPIC.owner_words("later"))
    assert owner.is_last() is not another


@pytest.mark.parametrize("code", [KafkaError._PARTITION_EOF, KafkaError.GROUP_AUTHORIZATION_FAILED])
def test_an_end_of_partition_and_a_group_that_nobody_uses_say_nothing(consumer: FakeConsumer, code: int) -> None:
    owner = Owner({}, "to", TOPIC, consumer.say)
    consumer.fail(code)
    consumer.say(*TOPIC.owner_words("later"))
    with pytest.raises(SerdesError, match="another process"):
        owner.require()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "the user needs the right to consume from the topic"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "UNKNOWN_TOPIC_OR_PART"),
    ],
)
def test_what_the_broker_refuses_is_raised(consumer: FakeConsumer, code: int, said: str) -> None:
    owner = Owner({}, "to", TOPIC, consumer.say)
    owner.require()
    consumer.fail(code)
    with pytest.raises(KafkaException, match=said) as caught:
        owner.require()
    cause = caught.value.__cause__ or caught.value
    assert cause.args[0].code() == code


def test_a_progress_that_was_deleted_is_an_error(consumer: FakeConsumer) -> None:
    owner = Owner({}, "to", TOPIC, consumer.say)
    owner.require()
    consumer.fail(KafkaError._AUTO_OFFSET_RESET)
    with pytest.raises(OffsetsGoneError):
        owner.require()


# The source's end


@pytest.mark.parametrize("looks", [[9], [3, 9], [3, 12]])
def test_messages_of_a_commit_that_was_just_confirmed_are_awaited(
    consumer: FakeConsumer, monkeypatch: pytest.MonkeyPatch, looks: list[int]
) -> None:
    ends = iter([9, *looks])
    monkeypatch.setattr(TopicConsumer, "bounds", lambda *_: {0: (0, next(ends))})
    monkeypatch.setattr(consuming, "POLL_SECONDS", 0)
    assert TopicConsumer({}, "from").settled_bounds() == ({0: (0, looks[-1])}, {0: 9})


def test_messages_behind_an_open_transaction_are_awaited_for_a_while(
    consumer: FakeConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = chain([9], repeat(3))
    monkeypatch.setattr(TopicConsumer, "bounds", lambda *_: {0: (0, next(ends))})
    monkeypatch.setattr(consuming, "_SETTLING_SECONDS", 0.01)
    assert TopicConsumer({}, "from").settled_bounds() == ({0: (0, 3)}, {0: 9})


# What copying asks before it creates anything: producer ids of brokers that give none

NONE = "the brokers give no producer ids; kafkaTransactionCoordinatorEnabled"


class ReadyError(Exception):
    """Copying has come to what creates topics."""


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers without producer ids, as a KoP is delivered."""
    monkeypatch.setattr(transactions, "_asked", lambda *_: NONE)
    monkeypatch.setattr(transactions, "_known", {})

    def ready(*_: Any) -> Any:
        raise ReadyError

    for module in (copy, spark_copy):
        monkeypatch.setattr(module, "ready", ready)
        monkeypatch.setattr(module, "Inlet", lambda *_: SimpleNamespace(cluster="CLUSTER", close=lambda: None))


def copy_of(*, exactly_once: bool = False, spark: bool = False, **kafka: Any) -> Any:
    side = Side({"bootstrap.servers": "nobody:1", **kafka}, {})
    state: Any = SimpleNamespace(route=Route("forward", "from", "to", side, side), rewriter=lambda: None)
    wishes = Wishes(transactions=exactly_once)
    return spark_copy.SparkCopy(state, wishes, None) if spark else TopicCopy(state, wishes)


@pytest.mark.usefixtures("brokers")
def test_transactions_that_there_are_not_are_an_error_before_anything_is_created() -> None:
    with pytest.raises(NoTransactionsError, match=r"gives no transactions: .*no producer ids; .*--transactions off"):
        copy_of(exactly_once=True).run()


@pytest.mark.usefixtures("brokers")
@pytest.mark.parametrize("spark", [False, True])
@pytest.mark.parametrize("given", [True, False, None])
def test_idempotence_that_there_is_not_is_an_error_before_anything_is_created(spark: bool, given: bool | None) -> None:
    options = {} if given is None else {"enable.idempotence": given}
    expected = pytest.raises(ConfigError, match=r"enable\.idempotence=true: ") if given else pytest.raises(ReadyError)
    with expected:
        copy_of(spark=spark, **options).run()


@pytest.mark.usefixtures("brokers")
def test_brokers_that_give_ids_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_asked", lambda *_: None)
    with pytest.raises(ReadyError):
        copy_of(exactly_once=True).run()


# The outlet


class Producer:
    def __init__(self) -> None:
        self.reported: list[bool] = []

    def produce(self, *_: Any, on_delivery: Any, **__: Any) -> None:
        self.reported.append(on_delivery is not None)


@pytest.mark.parametrize(
    ("exactly_once", "reported"), [(True, [False, True, False]), (False, [True, True, True])], ids=["with", "without"]
)
def test_only_without_transactions_each_copy_has_a_report(
    monkeypatch: pytest.MonkeyPatch, exactly_once: bool, reported: list[bool]
) -> None:
    """With transactions, the commit says that a message is missing."""
    producer = Producer()
    monkeypatch.setattr(producing, "client", lambda *_: producer)
    monkeypatch.setattr(inlet_outlet, "idempotence", lambda *_: {})
    monkeypatch.setattr(Outlet, "_init_transactions", lambda _: None)
    copies: Any = [(0, offset, (b"v", None, None, 5)) for offset in range(3)]
    Outlet({"bootstrap.servers": "x:1"}, "t", transactions=exactly_once).send(copies, marked={1})
    assert producer.reported == reported


@pytest.mark.parametrize("in_transaction", [True, False])
def test_an_error_names_the_topic_of_the_refused_message(monkeypatch: pytest.MonkeyPatch, in_transaction: bool) -> None:
    refused: Any = SimpleNamespace(topic=lambda: "t.dead-letters")

    def flush(_: Any) -> None:
        raise RefusedMessageError(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), refused, "t")

    monkeypatch.setattr(producing, "client", lambda *_: SimpleNamespace(begin_transaction=lambda: None))
    monkeypatch.setattr(producing.Sender, "flush", flush)
    monkeypatch.setattr(inlet_outlet, "idempotence", lambda *_: {})
    monkeypatch.setattr(Outlet, "_init_transactions", lambda _: None)
    outlet = Outlet({"bootstrap.servers": "x:1"}, "t", transactions=in_transaction)
    outlet.begin()
    with pytest.raises(SerdesError) as caught:
        outlet.flush()
    assert isinstance(caught.value, TransactionAbortedError) is in_transaction
    assert (caught.value.topic, caught.value.hint) == (
        "t.dead-letters",
        "the user needs the right to produce to the topic",
    )


class SlowProducer:
    """A producer whose brokers do not answer at once, or never."""

    def __init__(self, silent: int, away: bool) -> None:
        self.silent, self.away = silent, away

    def init_transactions(self, _: float) -> None:
        self.silent -= 1
        if self.silent >= 0:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "Timed out", retriable=True))

    def list_topics(self, **_: Any) -> Any:
        return None if self.away else SimpleNamespace(topics={})

    def poll(self, _: float) -> int:
        return 0


@pytest.mark.parametrize(
    ("silent", "away", "error"),
    [(0, False, None), (11, False, None), (12, False, NoTransactionsError), (1, True, BrokerUnavailableError)],
)
def test_a_broker_that_is_away_at_the_start_is_not_one_without_transactions(
    monkeypatch: pytest.MonkeyPatch, silent: int, away: bool, error: type[Exception] | None
) -> None:
    monkeypatch.setattr(producing, "client", lambda *_: SlowProducer(silent, away))
    with pytest.raises(error) if error is not None else nullcontext():
        Outlet({"bootstrap.servers": "x:1"}, "t", transactions=True)


# A task of Spark


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
