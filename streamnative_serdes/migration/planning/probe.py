"""The probe: messages in a scratch topic show which parts the target's broker refuses, alters or does not support.

Each case is a message, sent alone and read back. There are three transactions: committed, aborted, committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from confluent_kafka import KafkaException, Message

from streamnative_serdes._kafka import BrokerRefusedError, BrokerUnavailableError, Cluster, RefusedMessageError, Sender
from streamnative_serdes._rewriting import Headers
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.route import Route

from .source_messages import Sample

logger = logging.getLogger(__name__)

_DELIVERY_SECONDS: Final = 10.0
_DELETION_SECONDS: Final = 10.0
_VISIBLE_SECONDS: Final = 10.0  # until a transaction that was committed can be read
_PAST: Final = 60_000  # milliseconds; a broker that sets the time itself sets a later one
_LONGEST_NAME: Final = 200  # characters of the target's name in that of the scratch topic; Kafka's limit is 249
_LABEL: Final = "streamnative.migration.probe"  # header
_KEY: Final = b"\x00\xff key"
_VALUE: Final = b"\x03\x04\x00\xff value"
_OF_OTHERS: Final = ("transactional.id", "enable.idempotence", "delivery.timeout.ms")  # which do not fit here


@dataclass(frozen=True, slots=True)
class Case:
    key: bytes | None = _KEY
    value: bytes | None = _VALUE
    headers: Sequence[tuple[str, bytes | None]] = ()


CASES: Final[Mapping[str, Case]] = {
    "values": Case(),
    "null_headers": Case(headers=[("h", None)]),
    "empty_headers": Case(headers=[("h", b"")]),
    "raw_headers": Case(headers=[("h", b"\x00\xff\x80")]),
    "repeated_headers": Case(headers=[("b", b"1"), ("a", b"2"), ("b", b"3")]),
    "null_keys": Case(key=None),
    "empty_keys": Case(key=b""),
    "empty_values": Case(value=b""),
    "tombstones": Case(value=None),
}


@dataclass(frozen=True, slots=True)
class Probed:
    # whether the broker keeps the message of each case and ``timestamps``, and supports ``transactions``
    kept: Mapping[str, bool]
    reasons: Mapping[str, str]  # why not
    left: str | None = None  # the scratch topic and why it could not be deleted; None if it was deleted

    def tree(self) -> dict[str, Any]:
        return {**self.kept, "reasons": dict(self.reasons)}


def probe(route: Route, cluster: Cluster, replicas: int) -> Probed:
    """Probe the target's broker. The scratch topic is deleted afterwards, also after an error or Ctrl-C."""
    left: list[str] = []
    with _scratch_topic(route, cluster, replicas, left) as name:
        reasons = _reasons(route.writing.kafka, name)
        # With a KoP, transactions are used only if the user asks for them.
        uncommitted = "a KoP may show what a killed copy has left uncommitted"
        refused = uncommitted if cluster.is_kop else _transactions(route.writing.kafka, name)
    if refused is not None:
        reasons["transactions"] = refused
    kept = {case: case not in reasons for case in (*CASES, "timestamps", "transactions")}
    return Probed(kept, reasons, left[0] if left else None)


@contextmanager
def _scratch_topic(route: Route, cluster: Cluster, replicas: int, left: list[str]) -> Iterator[str]:
    name = f"{route.target[:_LONGEST_NAME]}.migration-probe-{uuid4().hex[:8]}"
    try:
        _create(cluster, name, replicas)
        yield name
    except BaseException:
        for said in _deleted(cluster, name):
            logger.warning("%s", said)
        raise
    left += _deleted(cluster, name)


def _create(cluster: Cluster, name: str, replicas: int) -> None:
    try:
        cluster.create(name, 1, replicas, {})
    except BrokerRefusedError as error:
        error.hint = f"{error.hint or 'the probe needs a scratch topic'}; --no-probe leaves the probe out"
        raise


def _deleted(cluster: Cluster, name: str) -> list[str]:
    try:
        cluster.delete(name, _DELETION_SECONDS)
    except SerdesError as error:
        return [f"topic {name} could not be deleted: {error}"]
    return []


def _reasons(kafka: Mapping[str, Any], topic: str) -> dict[str, str]:
    """The reason for each case that is not kept. Raises BrokerUnavailableError or BrokerRefusedError."""
    sender, sent_at = _sender(kafka, topic, {"acks": "all"}), int(time.time() * 1000) - _PAST
    refusals = {name: _refusal(sender, topic, name, sent_at) for name in CASES}
    found = {name: refusal for name, refusal in refusals.items() if refusal is not None}
    if found.keys() == CASES.keys():
        raise BrokerRefusedError(
            f"cannot write to topic {topic}: {found['values']}",
            topic=topic,
            hint="the user needs the right WRITE on it; --no-probe leaves the probe out",
        )
    read = {label: message for message in _read(kafka, topic) if (label := _label(message))}
    for name in CASES.keys() - found.keys():
        difference = _difference(CASES[name], read.get(name))
        if difference is not None:
            found[name] = difference
    moment = next((message.timestamp()[1] for message in read.values()), sent_at)
    return found if moment == sent_at else {**found, "timestamps": f"altered: sent {sent_at}, read {moment}"}


def _refusal(sender: Sender, topic: str, name: str, sent_at: int) -> str | None:
    case = CASES[name]
    headers = [(_LABEL, name.encode()), *case.headers]
    try:
        sender.send(topic, value=case.value, key=case.key, headers=headers, timestamp=sent_at)
        sender.flush()
    except BrokerUnavailableError:
        sender.discard()
        raise
    except KafkaException as error:
        return _refused(error)
    return None


def _difference(case: Case, message: Message | None) -> str | None:
    if message is None:
        return "lost: it was confirmed, and cannot be read"
    parts: list[tuple[str, Any, Any]] = [
        ("key", case.key, message.key()),
        ("value", case.value, message.value()),
        ("headers", list(case.headers), [pair for pair in _headers(message) if pair[0] != _LABEL]),
    ]
    changed = [f"{name}: sent {sent!r:.80}, read {got!r:.80}" for name, sent, got in parts if sent != got]
    return f"altered: {'; '.join(changed)}" if changed else None


def _transactions(kafka: Mapping[str, Any], topic: str) -> str | None:
    """The reason why transactions cannot be used; None if they can."""
    more = {"transactional.id": topic, "transaction.timeout.ms": int(_DELIVERY_SECONDS * 1000)}
    sender = _sender(kafka, topic, more)
    producer = sender.client
    try:
        producer.init_transactions(_DELIVERY_SECONDS)
        for label in ("committed", "aborted", "committed again"):
            producer.begin_transaction()
            sender.send(topic, value=_VALUE, key=_KEY, headers=[(_LABEL, label.encode())])
            sender.flush()
            end = producer.abort_transaction if label == "aborted" else producer.commit_transaction
            end(_DELIVERY_SECONDS)
    except KafkaException as error:
        sender.discard()
        return _refused(error)
    return _hidden(kafka, topic)


def _sender(kafka: Mapping[str, Any], topic: str, more: Mapping[str, Any]) -> Sender:
    own = {name: option for name, option in kafka.items() if name not in _OF_OTHERS}
    conf = {**own, "message.timeout.ms": int(_DELIVERY_SECONDS * 1000), **more}
    return Sender(conf, topic, _DELIVERY_SECONDS + 1)


def _refused(error: KafkaException) -> str:
    if isinstance(error, RefusedMessageError):
        return f"refused: {error.fault.str()}"
    return f"refused: {error.message if isinstance(error, SerdesError) else error.args[0].str()}"


def _hidden(kafka: Mapping[str, Any], topic: str) -> str | None:
    """Why a consumer does not read just the committed messages; None if it does. Waits until they are visible."""
    until = time.monotonic() + _VISIBLE_SECONDS
    while time.monotonic() < until:
        try:
            seen = {_label(message) for message in _read(kafka, topic)}
        except (BrokerUnavailableError, BrokerRefusedError) as error:
            return f"refused: {error}"
        if {"committed", "committed again"} <= seen:
            return "altered: a message of an aborted transaction can be read" if "aborted" in seen else None
        time.sleep(0.1)
    return "lost: messages of committed transactions cannot be read"


def _read(kafka: Mapping[str, Any], topic: str) -> Iterator[Message]:
    return iter(Sample(kafka, topic, 1))


def _label(message: Message) -> str | None:
    return next((data.decode() for name, data in _headers(message) if name == _LABEL and data is not None), None)


def _headers(message: Message) -> Sequence[tuple[str, bytes | None]]:
    headers: Headers = message.headers()  # type: ignore[assignment]
    return headers or ()
