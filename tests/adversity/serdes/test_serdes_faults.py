"""SerDes under registry faults: each one ends in recovery or in the exact error, in bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from streamnative_serdes import (
    AuthenticationError,
    AuthorizationError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    RegistryUnavailableError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import Fault, LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}
FRAMED = b"\x03\x04" + bytes(8) + b"\x06bob"
WAITS = {"retries.wait.ms": 20, "retries.max.wait.ms": 100}
# Small, so that endless retries end soon.
HASTE = {**WAITS, "http.connect.timeout.ms": 300, "http.read.timeout.ms": 300, "retries.total.ms": 1_500}
SLACK_SECONDS = 10.0  # additional time for a busy machine
PERMANENT = None


@dataclass(frozen=True)
class Trial:
    """``times`` as for LocalRegistry.fail; ``error`` is None if the message succeeds in the end."""

    name: str
    fault: Fault
    times: int | None
    error: type[SchemaRegistryError] | None
    words: str = ""
    retriable: bool = False

    @property
    def patience(self) -> dict[str, int]:
        """Limits are short only in trials about limits, so that a busy machine is not mistaken for a fault."""
        timeout = 300 if self.name in SILENT else 10_000
        total = HASTE["retries.total.ms"] if self.times is PERMANENT else 30_000
        return {**WAITS, "http.read.timeout.ms": timeout, "retries.total.ms": total}


SILENT = {"one answer too late", "black hole"}
NOWHERE = "http://127.0.0.1:9"
TRIALS = [
    Trial("slow", Fault.delay(0.1), 1, None),
    Trial("one answer too late", Fault.delay(600), 1, None),
    Trial("black hole", Fault.delay(600), PERMANENT, RegistryUnavailableError, "timed out", True),
    Trial("bad token", Fault.status(401), PERMANENT, AuthenticationError, "Authentication required"),
    Trial(
        "missing right", Fault.status(401, "Unauthorized to do this"), 1, AuthorizationError, "Unauthorized to do this"
    ),
    Trial("forbidden", Fault.status(403), 1, AuthorizationError, "Need to authenticate"),
    Trial("not found", Fault.status(404), 1, SchemaNotFoundError, "Schema not found"),
    Trial(
        "incompatible", Fault.status(409, "Unable to read schema"), 1, IncompatibleSchemaError, "Unable to read schema"
    ),
    Trial("invalid", Fault.status(422), 1, InvalidSchemaError, "422"),
    Trial("too many requests", Fault.status(429, retry_after=1), 1, None),
    Trial(
        "too many for longer than there is time",
        Fault.status(429, retry_after=60),
        1,
        RegistryUnavailableError,
        "429",
        True,
    ),
    Trial("metadata store away for a moment", Fault.status(500), 2, None),
    Trial(
        "broker's fault that lasts",
        Fault.status(500, "NullPointerException"),
        1,
        SchemaRegistryError,
        "NullPointerException",
    ),
    Trial("starting", Fault.status(503), 3, None),
    Trial("down", Fault.status(503), PERMANENT, RegistryUnavailableError, "503", True),
    Trial("topic moves", Fault.status(412), 1, None),
    Trial("cut before the answer", Fault.cut("answer"), 1, None),
    Trial("cut in the body", Fault.cut("body"), 1, None),
    Trial("cut permanently", Fault.cut("body"), PERMANENT, RegistryUnavailableError, "", True),
    Trial("no JSON", Fault.garbage(), 1, SchemaRegistryError, "expected JSON"),
    Trial("other JSON", Fault.garbage(b'{"a": 1}'), 1, SchemaRegistryError, "expected"),
    Trial("redirected once", Fault.redirect(), 1, None),
    Trial(
        "redirected permanently", Fault.redirect(), PERMANENT, RegistryUnavailableError, "redirected more than", True
    ),
    Trial(
        "redirected to a dead address",
        Fault.redirect(NOWHERE),
        PERMANENT,
        RegistryUnavailableError,
        "redirected to",
        True,
    ),
    Trial("redirected to a dead address for a moment", Fault.redirect(NOWHERE), 2, None),
    Trial("a redirect to an invalid address", Fault.redirect("ftp://x/y"), 1, SchemaRegistryError, "expected an http"),
]
each_trial = pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)


def run(registry: LocalRegistry, trial: Trial, call: Callable[[], object], expected: object) -> None:
    registry.fail(trial.fault, trial.times)
    began = time.monotonic()
    if trial.error is None:
        assert call() == expected
    else:
        with pytest.raises(trial.error) as caught:
            call()
        assert type(caught.value) is trial.error
        assert caught.value.retriable is trial.retriable
        assert trial.words in str(caught.value)
        assert str(caught.value).startswith("topic users")
    assert time.monotonic() - began < trial.patience["retries.total.ms"] / 1000 + SLACK_SECONDS
    # After any fault, everything works again.
    registry.heal()
    Binding.forget()
    assert KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("users", BOB) == FRAMED


@each_trial
def test_a_serializer_recovers_or_raises_the_exact_error(registry: LocalRegistry, trial: Trial) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url, **trial.patience}, USER)
    run(registry, trial, lambda: serializer.serialize("users", BOB), FRAMED)


@each_trial
def test_a_deserializer_recovers_or_raises_the_exact_error(registry: LocalRegistry, trial: Trial) -> None:
    KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("users", BOB)
    strict = {"fallback.to.latest": False}  # otherwise the latest version replaces a missing one
    deserializer = KafkaAvroDeserializer({"schema.registry.url": registry.url, **trial.patience, **strict})
    run(registry, trial, lambda: deserializer.deserialize("users", FRAMED), BOB)


def test_an_expired_token_is_renewed(registry: LocalRegistry) -> None:
    tokens = iter(["old", "new"])
    conf = {"schema.registry.url": registry.url, "bearer.auth.token": lambda: next(tokens), **WAITS}
    registry.fail(Fault.status(401))
    assert KafkaAvroSerializer(conf, USER).serialize("users", BOB) == FRAMED
    assert list(tokens) == []


def test_known_topics_and_versions_outlive_every_fault(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url, **HASTE}
    serializer, deserializer = KafkaAvroSerializer(conf, USER), KafkaAvroDeserializer(conf)
    assert deserializer.deserialize("users", serializer.serialize("users", BOB)) == BOB
    registry.reset_calls()
    for trial in TRIALS:
        registry.fail(trial.fault, PERMANENT)
        assert deserializer.deserialize("users", serializer.serialize("users", BOB)) == BOB
        registry.heal()
    assert registry.calls == {}
