"""Topic names: maps a Kafka client's topic name to the Pulsar topic whose schema it uses.

Source: Pulsar's TopicName, KoP's KopTopic. A short name belongs to the tenant and namespace of the options; ``a/b/t``
and ``persistent://a/b/t`` include theirs. A partition shares the schema of its topic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote

from streamnative_serdes.errors import ConfigError, SerdesError

# Pulsar parses N as a Java int and compares the text: x-partition-01 is not a partition, but a topic with that name.
_PARTITION = re.compile(r"(.+)-partition-(0|[1-9][0-9]{0,9})", re.DOTALL)
_LAST_PARTITION = 2**31 - 1
_FORMS = "use topic, tenant/namespace/topic or persistent://tenant/namespace/topic"


@dataclass(frozen=True, slots=True)
class TopicName:
    """A persistent topic without its partition.

    Args:
        tenant: the topic's tenant.
        namespace: the topic's namespace.
        local: the name inside the namespace.
        given: the name as the user wrote it, for errors and logs; ignored by comparisons.

    ``path`` is ``tenant/namespace/topic`` for a URL: percent-encoded once, a blank as ``%20``. ``schema_path`` is
    the same for the API of schemas, which decodes it twice.
    """

    tenant: str
    namespace: str
    local: str
    given: str = field(default="", compare=False)
    path: str = field(init=False, compare=False, repr=False)
    schema_path: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.given:
            object.__setattr__(self, "given", str(self))
        parts = (quote(part, safe="") for part in (self.tenant, self.namespace, self.local))
        object.__setattr__(self, "path", "/".join(parts))
        object.__setattr__(self, "schema_path", self.path.replace("%25", "%2525").replace("%2B", "%252B"))

    @classmethod
    def parse(cls, topic: str | None, tenant: str = "public", namespace: str = "default") -> TopicName:
        """Parse a topic name.

        Args:
            topic: the name that the Kafka client uses.
            tenant: the tenant of short names.
            namespace: the namespace of short names.

        Raises:
            SerdesError: ``topic`` is not a valid name of a persistent topic.
            ConfigError: ``tenant`` or ``namespace`` is not a valid name.
        """
        _check_option("pulsar.tenant", tenant)
        _check_option("pulsar.namespace", namespace)
        if not isinstance(topic, str) or not topic:
            raise SerdesError(f"expected a topic name, got {topic!r:.80}", hint=_FORMS)
        scheme, mark, rest = topic.rpartition("://")
        if mark and scheme != "persistent":
            raise SerdesError("expected a persistent topic: Kafka clients see no others", topic=topic, hint=_FORMS)
        parts = rest.split("/")
        if len(parts) == 1 and not mark:
            parts = [tenant, namespace, rest]
        if len(parts) != 3 or not all(map(_is_name, parts)):
            raise SerdesError("invalid topic name", topic=topic, hint=_FORMS)
        return cls(parts[0], parts[1], _without_partition(parts[2]), topic)

    def __str__(self) -> str:
        return f"persistent://{self.tenant}/{self.namespace}/{self.local}"


def namespace_path(namespace: str) -> str:
    """``tenant/namespace`` for a URL. Raises SerdesError: the text is something else."""
    parts = namespace.split("/")
    if len(parts) != 2 or not all(map(_is_name, parts)):
        raise SerdesError(f"expected tenant/namespace, got {namespace!r:.80}")
    return "/".join(quote(part, safe="") for part in parts)


def topic_names(tree: object) -> list[TopicName]:
    """``["persistent://public/default/x", ...]``; a partition counts as its topic.

    Raises:
        ValueError: with what was expected.
    """
    if not isinstance(tree, list) or not all(isinstance(name, str) for name in tree):
        raise ValueError("a JSON list of topic names")
    return [_listed(name) for name in tree]


def _listed(name: str) -> TopicName:
    """As :meth:`TopicName.parse`, but a name that the broker has may contain slashes; ValueError has the expected."""
    parts = name.removeprefix("persistent://").split("/", 2)
    if not name.startswith("persistent://") or len(parts) != 3 or not all(map(_is_name, parts)):
        raise ValueError("names of persistent topics")
    return TopicName(parts[0], parts[1], _without_partition(parts[2]))


def _is_name(part: str) -> bool:
    # "." and ".." would change the URL's path; a lone surrogate cannot be encoded as UTF-8.
    return part not in ("", ".", "..") and part.encode("utf-8", "replace").decode("utf-8") == part


def _check_option(key: str, value: object) -> None:
    if not isinstance(value, str) or "/" in value or not _is_name(value):
        raise ConfigError(f"{key}: expected one name without a slash, got {value!r:.80}")


def _without_partition(local: str) -> str:
    found = _PARTITION.fullmatch(local)
    return found[1] if found and int(found[2]) <= _LAST_PARTITION else local
