"""AdminEntryReader: the stored entries of a topic through Pulsar's admin REST API, one request for each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from streamnative_serdes import _config
from streamnative_serdes._closing import Closing
from streamnative_serdes._http.api_request import ApiRequest
from streamnative_serdes._http.reply import Reply
from streamnative_serdes.errors import ConfigError, DecodeError, RegistryUnavailableError, SchemaRegistryError
from streamnative_serdes.schema_registry import TopicName
from streamnative_serdes.schema_registry.pulsar_api import hint_for, pulsar_api, refusal
from streamnative_serdes.schema_registry.rest import Rest, RestClient

from .admin_headers import entry_of
from .stored import StoredEntry

_API: Final = "/admin/v2/persistent/"
_RIGHT: Final = "the right to consume from the topic"
_POSITION: Final = re.compile(r"([0-9]{1,18}):(-1|[0-9]{1,18})", re.ASCII)
_TOO_LONG: Final = "the metadata of the entry may be longer than the 8 KiB that Pulsar sends in headers"
_NO_ANSWER: Final = (
    "Pulsar 4.0 never answers for a payload that it cannot decompress, such as a compressed chunk or an encrypted one; "
    "retries.total.ms limits the wait"
)
_NO_PARTITION: Final = "has the topic this partition?"
_GONE: Final = "entries go when the topic's retention ends; start at a later ledger"


class _Part(NamedTuple):
    """A partition, or a topic without partitions (number -1)."""

    path: str
    number: int


class AdminEntryReader(Closing, RestClient):
    """Reads entries as the broker has stored them, of Kafka's and Pulsar's format.

    Pulsar's client for Python returns messages without data for entries of Kafka's format, and none of its clients but
    Java's gives the entries themselves. The admin API does, but one request for each entry: use a Kafka consumer on KoP
    for volume.

    Args:
        conf: the options of docs/config.md for the registry, since Pulsar's schemas have the same address.
        blanks: take blanks in keys and properties for blanks. Without it, a message with one is an error, because the
            admin API shows a blank for each character outside ISO 8859-1. It concerns single messages of
            Pulsar's producers; batches, and entries of Kafka's format, have keys and properties in their payload.
        clock: monotonic time in seconds.
        sleep: waits that many seconds.

    The entries come with their payloads decompressed. It caches nothing; threads may share it. Each method retries as
    :class:`~streamnative_serdes.schema_registry.SchemaRegistryClient` does, and raises:

    - AuthenticationError, AuthorizationError: the credentials are invalid, or the role may not consume from the topic;
    - RegistryUnavailableError: no usable response in time;
    - SchemaRegistryError: no such topic or entry (``status`` 404), an entry of more than 16 MiB, or an answer that
      Pulsar would not send;
    - DecodeError: the answer does not have all of the entry;
    - ConfigError: the topic does not have the partition; :meth:`entry` raises SchemaRegistryError (``status`` 409);
    - SerdesError: ``topic`` is not a valid topic name.

    Raises:
        ConfigError: an option is unknown, missing or invalid.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        blanks: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        checked = _config.parse(_config.REGISTRY_OPTIONS, conf, strict=True)
        self.rest = Rest(checked, replace(pulsar_api(checked), refusal=_refusal), clock=clock, sleep=sleep)
        self._tenant, self._namespace = checked["pulsar.tenant"], checked["pulsar.namespace"]
        self._blanks = blanks

    def entries(
        self, topic: str, *, partition: int | None = None, start: tuple[int, int] = (0, 0)
    ) -> Iterator[StoredEntry]:
        """Yield the topic's entries, partition after partition, each up to its end when its reading begins.

        Args:
            topic: the name in the forms of :meth:`TopicName.parse`; the name of a partition reads only this partition.
            partition: read only this partition.
            start: ledger and entry to start at. To continue, pass the ledger of the last entry read, and the entry's
                number + 1. Has no meaning for several partitions.
        """
        name = TopicName.parse(topic, self._tenant, self._namespace)
        parts = self._parts(name, _partition_in(name) if partition is None else partition)
        if start > (0, 0) and len(parts) > 1:
            raise ConfigError(
                f"start: expected one partition for entry {start[0]}:{start[1]}, got {len(parts)}", topic=topic
            )
        for part in parts:
            for ledger, count in self._ledgers(name, part):
                for number in range(start[1] if ledger == start[0] else 0, count if ledger >= start[0] else 0):
                    yield self._entry(name, part, ledger, number)

    def entry(self, topic: str, ledger: int, entry: int, *, partition: int | None = None) -> StoredEntry:
        """One entry, by the number of its ledger and its number in the ledger.

        Args:
            topic: as in :meth:`entries`.
            ledger: number of the ledger.
            entry: number in the ledger.
            partition: of the topic; None if the topic has no partitions.
        """
        name = TopicName.parse(topic, self._tenant, self._namespace)
        number = _partition_in(name) if partition is None else partition
        return self._entry(name, _part(name, -1 if number is None else number), ledger, entry)

    def _parts(self, name: TopicName, partition: int | None) -> list[_Part]:
        request = self._request(name, f"{_API}{name.path}/partitions", "list the partitions of the topic")
        count = self.rest.ask(request, _partitions)
        if partition is not None:
            if 0 < count <= partition:
                raise ConfigError(f"the topic has no partition {partition}: it has {count}", topic=name.given)
            return [_part(name, partition)]
        return [_part(name, number) for number in range(count)] if count else [_part(name, -1)]

    def _ledgers(self, name: TopicName, part: _Part) -> list[tuple[int, int]]:
        """The ledgers of a partition, and the present number of entries in each."""
        request = self._request(name, f"{part.path}/internalStats", "list the ledgers of the topic")
        return self.rest.ask(request, _ledgers)

    def _entry(self, name: TopicName, part: _Part, ledger: int, number: int) -> StoredEntry:
        request = self._request(name, f"{part.path}/ledger/{ledger}/entry/{number}", f"read entry {ledger}:{number}")
        try:
            reply = self.rest.send(request)
        except RegistryUnavailableError as error:
            error.hint = error.hint or _NO_ANSWER
            raise
        if reply.status != 200:
            self.rest.understood(request, reply, lambda _: None)  # raises
        if reply.headers.get("X-Pulsar-Message-ID") != f"{ledger}:{number}":
            raise _no_entry(request, reply)
        try:
            data = entry_of(reply.headers, reply.body, blanks=self._blanks)
        except DecodeError as error:
            raise DecodeError(
                f"entry {ledger}:{number}: {reply.hide(error.message)}", topic=name.given, hint=error.hint
            ) from None
        return StoredEntry(data, part.number, ledger, number)

    def _request(self, name: TopicName, path: str, operation: str) -> ApiRequest:
        return self.rest.request("GET", path, operation, _RIGHT, name.given)


def _part(name: TopicName, number: int) -> _Part:
    return _Part(f"{_API}{name.path}" + (f"-partition-{number}" if number >= 0 else ""), number)


def _partition_in(name: TopicName) -> int | None:
    """The number of the partition in the given name; None for a topic's name."""
    local = name.given.rpartition("/")[2]
    return None if local == name.local else int(local.rpartition("-")[2])


def _partitions(tree: Any) -> int:
    """The number of partitions; 0 for a topic that is not partitioned. Raises ValueError with the expected form."""
    count = tree.get("partitions") if isinstance(tree, dict) else None
    if type(count) is not int or not 0 <= count < 2**31:
        raise ValueError('{"partitions": NUMBER}')
    return count


def _ledgers(tree: Any) -> list[tuple[int, int]]:
    """Ledgers and their numbers of entries; raises ValueError with the expected form.

    The ledger that is being written has 0 entries here, so its number comes from the position of the last entry.
    """
    ledgers = tree.get("ledgers") if isinstance(tree, dict) else None
    last = _POSITION.fullmatch(str(tree.get("lastConfirmedEntry"))) if isinstance(tree, dict) else None
    if not isinstance(ledgers, list) or last is None:
        raise ValueError('{"ledgers": [...], "lastConfirmedEntry": "LEDGER:ENTRY"}')
    counts = dict(map(_ledger, ledgers))
    number, end = int(last[1]), int(last[2]) + 1
    if number in counts:
        counts[number] = max(counts[number], end)
    return sorted(counts.items())


def _ledger(tree: Any) -> tuple[int, int]:
    number, count = (tree.get(name) if isinstance(tree, dict) else None for name in ("ledgerId", "entries"))
    if type(number) is not int or type(count) is not int or not (0 <= number < 2**63 and 0 <= count < 2**63):
        raise ValueError('ledgers with "ledgerId" and "entries"')
    return number, count


def _no_entry(request: ApiRequest, reply: Reply) -> SchemaRegistryError:
    return SchemaRegistryError(
        f"cannot {request.operation}: expected an answer whose header X-Pulsar-Message-ID names the entry, got another",
        status=reply.status,
        url=reply.url,
        topic=request.topic,
        hint=hint_for(request, reply) or "is schema.registry.url Pulsar's HTTP address?",
    )


def _refusal(request: ApiRequest, reply: Reply, sign_in_hint: str) -> SchemaRegistryError:
    """The typed error for an error response, as for schemas; but 404 and 409 are about topics and entries."""
    error = refusal(request, reply, sign_in_hint)
    if reply.status in (404, 409) and reply.reason:
        hint = _GONE if "/entry/" in request.path else "check the name, pulsar.tenant and pulsar.namespace"
        hint = _NO_PARTITION if reply.status == 409 else hint
        error = SchemaRegistryError(
            error.message, status=reply.status, reason=error.reason, url=error.url, topic=error.topic, hint=hint
        )
    if reply.status == 500 and not reply.body and "/entry/" in request.path:
        error.hint = _TOO_LONG
    return error
