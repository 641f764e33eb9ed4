"""The command ``ping``: checks of servers and rights."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import click
from confluent_kafka import KafkaException, Producer

from streamnative_serdes._kafka import ClientErrors, Cluster, client, listed, metadata
from streamnative_serdes.errors import (
    AuthorizationError,
    ConfigError,
    RegistryUnavailableError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.schema_registry import SchemaInfo, SchemaRegistryClient

from .kafka_clients import reach_end
from .options import Connection, choice_option, connected, topic_name
from .output import (
    REFUSED,
    Command,
    FailureError,
    as_json,
    counted,
    failure_of,
    marked,
    show_json,
    show_table,
)

_SECONDS: Final = 5.0  # for an answer of the registry, and of a broker
_RIGHTS_SECONDS: Final = 5.0  # to ask a broker for the operations it permits, which many do not say
_SLOW: Final = "is schema.registry.url Pulsar's HTTP address? If it is only slow, --set retries.total.ms=60000 waits"
_NO_TOPIC: Final = "streamnative-serdes-ping"  # a topic that should not exist, to ask the registry for


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one check; ``good`` is None if the outcome cannot be known, or does not matter here."""

    check: str
    good: bool | None
    found: str
    hint: str | None = None
    millis: int | None = None


@click.command(cls=Command)
@click.argument("topic", required=False, callback=topic_name)
@choice_option("--for", "purpose", of=("consume", "produce", "admin"), text="Which rights are needed.")
@connected
def ping(connection: Connection, topic: str | None, purpose: str) -> None:
    """Check registry and broker, and the rights on TOPIC.

    Nothing is changed: where the right to register is needed, the topic's own latest schema is registered again, which
    Pulsar answers with its version. The exit code is 3 if a server does not answer or a needed right is missing.
    """
    if topic is None and purpose != "consume":
        raise click.UsageError(f"--for {purpose} needs a topic: rights are those on a topic")
    if connection.registry.get("schema.registry.url") is None and not connection.kafka.get("bootstrap.servers"):
        raise click.UsageError("name a server: --registry URL, --bootstrap HOST:PORT, or both in --config")
    results = _results(connection, topic, purpose)
    if as_json():
        show_json([asdict(result) for result in results])
    elif any(result.good for result in results):
        show_table(("CHECK", "RESULT", "FOUND", "MS"), map(_row, results))
    bad = [result for result in results if result.good is False]
    if bad:
        hints = "; ".join(dict.fromkeys(result.hint for result in bad if result.hint is not None))
        said = "; ".join(f"{result.check}: {result.found}" for result in bad)
        failure = FailureError(said, REFUSED, hint=hints or None)
        failure.hint_first = True
        raise failure


def _results(connection: Connection, topic: str | None, purpose: str) -> list[Result]:
    """The results of all checks. Both servers are asked at the same time, without logging: errors say the same."""
    with _unlogged(), ThreadPoolExecutor(2) as pool:
        registry, broker = pool.map(lambda look: list(look(connection, topic, purpose)), (_registry, _broker))
        return [*registry, *broker]


@contextmanager
def _unlogged() -> Iterator[None]:
    package = logging.getLogger("streamnative_serdes")
    before = package.level
    package.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        package.setLevel(before)


def _row(result: Result) -> tuple[Any, ...]:
    words = {True: "ok", False: "failed", None: "-"}
    return (
        result.check,
        marked(result.good, words[result.good]),
        "see below" if result.good is False else result.found,
        "" if result.millis is None else str(result.millis),
    )


def _tried(check: str, needed: bool, attempt: Callable[[], str]) -> Result:
    """The result of an attempt, with its text; if the right is not ``needed``, a refusal is not a failure."""
    begun = time.monotonic()
    try:
        found, good, hint = attempt(), True, None
    except ConfigError:  # a mistake of the user, not of a server
        raise
    except (SerdesError, KafkaException, TimeoutError) as error:
        if isinstance(error, TimeoutError):
            failure = FailureError("no answer in time")
        else:
            failure = failure_of(error)
        found, good, hint = str(failure), False, failure.parts.get("hint")
    millis = int((time.monotonic() - begun) * 1000)
    return Result(check, good if good or needed else None, found, hint, millis)


# The registry


def _registry(connection: Connection, topic: str | None, purpose: str) -> Iterator[Result]:
    if connection.registry.get("schema.registry.url") is None:
        yield Result("registry", None, "not asked: --registry is missing")
        return
    limits = {"retries.total.ms": int(_SECONDS * 1000), **connection.registry}
    with replace(connection, registry=limits).client() as client_:
        found: list[SchemaInfo] = []
        reading = _tried("registry: read", True, lambda: _read(client_, topic or _NO_TOPIC, found))
        yield reading
        if not reading.good:
            return
        name = connection.full_name(topic or _NO_TOPIC)
        yield _namespace(client_, f"{name.tenant}/{name.namespace}")
        if not found:
            yield Result("registry: other rights", None, "not checked: this needs a topic that has a schema")
            return
        yield _tried(
            "registry: register", purpose == "produce", lambda: _register_again(client_, topic or "", found[0])
        )
        yield _tried("registry: administer", purpose == "admin", lambda: _ask_as_admin(client_, topic or "", found[0]))


def _read(client_: SchemaRegistryClient, topic: str, found: list[SchemaInfo]) -> str:
    try:
        found.append(client_.latest(topic))
    except SchemaNotFoundError as error:
        if error.status != 404 or error.hint is not None:  # which says that this is no registry of Pulsar's
            raise
        return "answers; no schema" if topic != _NO_TOPIC else "answers"
    except SchemaRegistryError as error:
        error.topic = None if topic == _NO_TOPIC else topic
        if isinstance(error, RegistryUnavailableError) and error.hint is None:
            error.hint = _SLOW
        raise
    return f"answers; version {found[0].version}, {found[0].type}"


def _namespace(client_: SchemaRegistryClient, namespace: str) -> Result:
    """The check that a namespace exists: Pulsar says "Schema not found" also in a namespace that does not exist."""
    check = f"registry: namespace {namespace}"
    try:
        count = len(client_.topics(namespace))
    except AuthorizationError:
        return Result(check, None, "not permitted to look at it")
    except SchemaNotFoundError as error:
        hint = error.hint or "check pulsar.tenant and pulsar.namespace; Pulsar does not create them automatically"
        return Result(check, False, error.reason or "does not exist", hint)
    except SchemaRegistryError as error:
        return Result(check, None, str(failure_of(error)))
    return Result(check, True, counted(count, "topic"))


def _register_again(client_: SchemaRegistryClient, topic: str, info: SchemaInfo) -> str:
    number = client_.register(topic, info.text, type=info.type, properties=info.properties)
    return "permitted" if number == info.version else f"permitted; the schema is version {number} now"


def _ask_as_admin(client_: SchemaRegistryClient, topic: str, info: SchemaInfo) -> str:
    verdict = client_.compatibility(topic, info.text, type=info.type, properties=info.properties)
    return f"permitted; compatibility strategy {verdict.strategy or 'unknown'}"


# The broker


def _broker(connection: Connection, topic: str | None, purpose: str) -> Iterator[Result]:
    if not connection.kafka.get("bootstrap.servers"):
        yield Result("broker", None, "not asked: --bootstrap is missing")
        return
    kafka = connection.kafka_conf()
    answers = _tried("broker", True, lambda: _brokers(kafka, topic))
    yield answers
    if topic is None or not answers.good:
        return
    yield _tried("broker: consume", purpose == "consume", lambda: _consume(kafka, topic))
    if purpose == "produce":
        yield _may_write(kafka, topic)


def _brokers(kafka: dict[str, Any], topic: str | None) -> str:
    errors = ClientErrors(kafka, topic or "")
    producer = client(Producer, kafka, topic or "", errors)
    found = f"answers; {counted(len(metadata(producer, errors, most=_SECONDS).brokers), 'broker')}"
    if topic is None:
        return found
    partitions = listed(kafka, topic)
    if not partitions:
        raise SerdesError(
            "the broker does not have the topic, or does not show it",
            topic=topic,
            hint="create the topic, or ask for the right to describe it",
        )
    return f"{found}; the topic has {counted(len(partitions), 'partition')}"


def _consume(kafka: dict[str, Any], topic: str) -> str:
    """Read from the topic's end up to the end, which needs the right to fetch.

    The last message of a KoP may be in an open transaction, and readers of committed messages may not even be told so.
    """
    return f"permitted; {counted(reach_end({**kafka, 'isolation.level': 'read_uncommitted'}, topic), 'message')}"


def _may_write(kafka: dict[str, Any], topic: str) -> Result:
    """The right to write, which some brokers tell; with other brokers, only sending a message would show it."""
    check = "broker: produce"
    names = Cluster(kafka, topic).operations(topic, _RIGHTS_SECONDS)
    if not names:
        return Result(check, None, "not known: the broker does not say, and nothing is sent to find out")
    if "WRITE" in names or "ALL" in names:
        return Result(check, True, "permitted")
    return Result(
        check, False, f"not permitted; permitted are {', '.join(sorted(names)).lower()}", "ask for WRITE on the topic"
    )
