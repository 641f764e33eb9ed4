"""Options of the data source as Spark passes them: lower-case names, and values as text; refuses unknown options.

A name belongs to Spark's Kafka source or to us (:mod:`.names`), to the Kafka client (``kafka.*``), or to the SerDes
(docs/config.md).
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, overload

from streamnative_serdes import _config as config
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.session.workers import Carried

from . import names
from .names import Use, refuse_unknown, suggestion
from .secrets import is_reference, resolved

_KAFKA: Final = "kafka."
_SERDES: Final[Mapping[Use, frozenset[str]]] = {
    "read": frozenset(option.key for option in config.DESERIALIZER_OPTIONS if not option.shared),
    "write": frozenset(option.key for option in config.SERIALIZER_OPTIONS if not option.shared),
}
_OWN: Final[Mapping[Use, Mapping[str, str]]] = {
    "read": {name.lower(): name for name in names.READING},
    "write": {name.lower(): name for name in names.WRITING},
}
_SPARKS: Final = frozenset(name.lower() for name in names.SPARKS)
# SASL_INHERIT: the SerDes sign in as the Kafka client does.
_SHARED: Final = tuple(option.key for option in config.DESERIALIZER_OPTIONS if option.shared)
_INSTEAD: Final[Mapping[str, str]] = {
    "topic": "subscribe, subscribePattern or assign names the topics to read",
    "subscribe": "topic names the topic to write",
    "includeHeaders": "the column headers is written wherever there is one",
    "decode": "encode makes messages of columns",
    "columns": "df.select(...) chooses the columns that are written",
    "encode": "decode=true makes columns of messages",
    "schema": "reader.schema says as which schema messages are read",
    "reader.schema": "schema says by which schema values are encoded",
}
_MOST: Final = 2**63 - 1
_TIME: Final = re.compile(r"\s*(\d+)\s*(ms|s|m|min|h|d)?\s*", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one read or write, unresolved: secrets are still references, unless the user gave literal secrets."""

    use: Use
    own: Mapping[str, str]  # options of :mod:`.names`, by lower-case name
    kafka: Mapping[str, str] = field(repr=False)  # options of the Kafka client, without ``kafka.``
    serdes: Mapping[str, str] = field(repr=False)

    @classmethod
    def parse(cls, given: Mapping[str, str], use: Use) -> Options:
        """Sort the options in ``given`` by their owners."""
        lower = {name.lower(): value for name, value in dict(given).items()}
        own = {name: value for name, value in lower.items() if name in _OWN[use]}
        kafka = {name.removeprefix(_KAFKA): value for name, value in lower.items() if _is_clients(name)}
        serdes = {name: value for name, value in lower.items() if name in _SERDES[use]}
        for name in lower:
            if name not in own and name not in serdes and name not in _SPARKS and not _is_clients(name):
                raise _unknown(name, use)
        _refuse_clients(kafka)
        if "path" in lower:
            instead = _INSTEAD["topic" if use == "read" else "subscribe"]
            raise ConfigError(f"a path has no meaning here, got {lower['path']!r:.200}", hint=instead)
        return cls(use, own, kafka, serdes)

    def text(self, name: str) -> str | None:
        """The value of an option, or None; ``name`` as the user writes it."""
        return self.own.get(name.lower())

    def given(self, names: Iterable[str]) -> list[str]:
        """Those of these options that the user has given."""
        return [name for name in names if self.text(name) is not None]

    def refuse_idle(self, names: Iterable[str], without: str, hint: str) -> None:
        """Raises ConfigError if one of these options is given, or one of the SerDes: they need another one."""
        idle = self.given(names) + sorted(self.serdes)
        if idle:
            raise ConfigError(f"the option {idle[0]} has no effect without {without}", hint=hint)

    def flag(self, name: str, default: bool) -> bool:
        """The value of an option that is true or false. Raises ConfigError: the value is neither."""
        return self.one_of(name, "true", "false", default=str(default).lower()) == "true"

    @overload
    def whole(self, name: str, least: int = 1, *, default: int) -> int: ...
    @overload
    def whole(self, name: str, least: int = 1) -> int | None: ...
    def whole(self, name: str, least: int = 1, *, default: int | None = None) -> int | None:
        """The value of a whole number of 64 bits from ``least`` on, or ``default``. Others are a ConfigError."""
        value = self.text(name)
        if value is None:
            return default
        if not re.fullmatch(r"\s*-?\d{1,19}\s*", value, re.ASCII) or not least <= int(value) <= _MOST:
            raise ConfigError(f"{name}: expected a whole number from {least} to {_MOST}, got {value!r:.80}")
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        """The value of an option that is a time as Spark writes it: ``15m``, ``30s``, ``500ms``; or bare ms."""
        value = self.text(name)
        if value is None:
            return default
        found = _TIME.fullmatch(value)
        if found is None:
            raise ConfigError(f"{name}: expected a time such as 15m, 30s or 500ms, got {value!r:.80}")
        return int(found[1]) * _UNITS[(found[2] or "ms").lower()]

    def words(self, name: str) -> tuple[str, ...]:
        """The value of an option that is a list of names with commas between them; empty if not given."""
        value = self.text(name)
        if value is None:
            return ()
        words = tuple(word.strip() for word in value.split(",") if word.strip())
        if not words:
            raise ConfigError(f"{name}: expected names with commas between them, got {value!r:.80}")
        if len(set(words)) < len(words):
            twice = next(word for word in words if words.count(word) > 1)
            raise ConfigError(f"{name}: {twice!r:.80} is there twice")
        return words

    def one_of(self, name: str, *choices: str, default: str) -> str:
        """The value of an option that is one of ``choices``, in any case. Others are a ConfigError."""
        value = self.text(name)
        if value is None:
            return default
        for choice in choices:
            if choice.lower() == value.strip().lower():
                return choice
        raise ConfigError(f"{name}: expected {' or '.join(choices)}, got {value!r:.80}")

    def conf(self) -> dict[str, Any]:
        """The options of the SerDes, with references resolved in this process."""
        conf: dict[str, Any] = {name: resolved(name, value) for name, value in self.serdes.items()}
        if config.inherits(conf):
            from .client_config import client_config

            clients = client_config(self)
            conf |= {name: clients[name] for name in _SHARED if name in clients}
        return conf

    def referred(self) -> list[str]:
        """The names in :meth:`conf` whose values come from references."""
        own = [name for name, value in self.serdes.items() if is_reference(value)]
        return [*own, *(_SHARED if any(map(is_reference, self.kafka.values())) else ())]


def _is_clients(name: str) -> bool:
    return name.startswith(_KAFKA)


def _refuse_clients(kafka: Mapping[str, str]) -> None:
    for name in kafka:
        if name in names.REFUSED:
            raise ConfigError(f"the option kafka.{name} is not supported: {names.REFUSED[name]}")
    refuse_unknown(kafka, {name: shown for use in _OWN for name, shown in _all_of(use).items()})
    if not kafka.get("bootstrap.servers", "").strip():
        raise ConfigError(
            "the option kafka.bootstrap.servers is missing", hint='.option("kafka.bootstrap.servers", "localhost:9092")'
        )


def _all_of(use: Use) -> dict[str, str]:
    """The names of all options except the Kafka client's, as users write them, by lower-case name."""
    return {**_OWN[use], **{name: name for name in _SERDES[use]}}


def _unknown(name: str, use: Use) -> ConfigError:
    other: Use = "write" if use == "read" else "read"
    shown = _OWN[other].get(name, name)
    if name in _OWN[other] or name in _SERDES[other]:
        doing = "writes" if use == "write" else "reads"
        return ConfigError(f"the option {shown} has no meaning when Spark {doing} a topic", hint=_INSTEAD.get(shown))
    if name == "topics" and use == "read":
        return ConfigError("unknown option 'topics'", hint=_INSTEAD["topic"])
    # Those of the other use, too: without a known option of reading, a read cannot be told from a write.
    by_lower = {**_all_of(other), **_all_of(use), "kafka.bootstrap.servers": "kafka.bootstrap.servers"}
    if name in _SHARED or name in ("bootstrap.servers", "group.id", "security.protocol"):
        return ConfigError(
            f"unknown option {name}", hint=f"options of the Kafka client begin with kafka.: kafka.{name}"
        )
    hint = suggestion(name, by_lower, "docs/spark-read.md and spark-write.md list them")
    return ConfigError(f"unknown option {name[:100]!r}", hint=hint)


_T = TypeVar("_T")


class CarriedWithSecrets(Carried[_T]):
    """As :class:`Carried`; each process resolves the references to secrets itself.

    ``value`` was made from ``options.conf()``, and must pickle without cloudpickle.
    """

    def __init__(self, value: _T, options: Options) -> None:
        self._options = options
        super().__init__(value)

    def pack(self, value: _T) -> bytes:
        packed = io.BytesIO()
        _Pickler(packed, self._options).dump(value)
        return packed.getvalue()

    def unpack(self) -> _T:
        value: _T = _Unpickler(io.BytesIO(self.packed), self._options).load()
        return value


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, options: Options) -> None:
        super().__init__(file)
        conf = options.conf()
        self._names = {conf[name]: name for name in options.referred() if isinstance(conf.get(name), str)}

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(value) if type(value) is str else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, options: Options) -> None:
        super().__init__(file)
        self._conf = options.conf()

    def persistent_load(self, name: Any) -> Any:
        return self._conf[name]
