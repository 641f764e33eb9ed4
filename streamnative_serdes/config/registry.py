"""Options of the registry's client, and of what is known of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamnative_serdes.schema import Limits

from . import checks
from .credentials import CREDENTIAL_OPTIONS, TLS_OPTIONS
from .option import Option

REGISTRY_OPTIONS = (
    Option(
        "schema.registry.url",
        None,
        checks.text,
        "Pulsar's HTTP address, such as `http://localhost:8080`. Required. Several addresses of one cluster, separated "
        "by commas: the one that answered last is asked first, and the next where it fails. "
        "`mock://SCOPE` is a registry in the memory of this process.",
        secret=True,  # what is no address may hold a password
    ),
    Option(
        "pulsar.tenant",
        "public",
        checks.text,
        "Tenant of topics given by a short name. It has to be the one where the broker puts their messages: with KoP, "
        "that of the Kafka user ([auth.md](auth.md)). A Kafka user that tells another tenant is an error.",
    ),
    Option(
        "pulsar.namespace",
        "default",
        checks.text,
        "Namespace of topics given by a short name. It has to be the one where the broker puts their messages: with "
        "KoP, its `kafkaNamespace`, whatever clients say. Topics elsewhere go by `persistent://TENANT/NAMESPACE/TOPIC`.",
    ),
    *CREDENTIAL_OPTIONS,
    *TLS_OPTIONS,
    Option(
        "proxy",
        None,
        checks.proxy,
        "HTTP proxy to registry and OAuth issuer, such as `http://localhost:8030`. Without it, those of the "
        "environment count (`HTTP_PROXY`, ...).",
        secret=True,
    ),
    Option("http.connect.timeout.ms", 5_000.0, checks.milliseconds, "Time to connect, in milliseconds."),
    Option(
        "http.read.timeout.ms",
        20_000.0,
        checks.milliseconds,
        "Time to wait for an answer, in milliseconds. Pulsar may take 15 s to say that a namespace is missing.",
    ),
    Option(
        "retries.total.ms",
        60_000.0,
        checks.milliseconds,
        "Total time for one request with all its retries, in milliseconds. A broker failover takes about 31 s.",
    ),
    Option(
        "retries.first.ms",
        5_000.0,
        checks.milliseconds,
        "Total time instead of `retries.total.ms`, in milliseconds, while no address has ever answered, where "
        "connections are refused or the host is unknown: then the address is probably wrong.",
    ),
    Option(
        "retries.wait.ms",
        200.0,
        checks.milliseconds,
        "First wait before a retry, in milliseconds; doubles, with jitter.",
    ),
    Option("retries.max.wait.ms", 5_000.0, checks.milliseconds, "Longest wait before a retry, in milliseconds."),
    Option("max.schema.size", 4 * 1024 * 1024, checks.between(1, 1 << 30), "Characters of a schema from the registry."),
    Option("max.schema.names", 10_000, checks.between(1, 1_000_000), "Named types in a schema from the registry."),
    Option(
        "max.schema.depth",
        200,
        checks.between(1, 1_000),
        "Levels of nesting in a schema from the registry. Much above the default, Python's own recursion limit is met.",
    ),
    Option(
        "cache.capacity",
        1_000,
        checks.count,
        "Topics kept for each serializer and deserializer, and versions kept per topic.",
    ),
    Option(
        "cache.missing.ttl.sec",
        5.0,
        checks.seconds,
        "How long it is believed that a topic has no such schema or version, or does not take one, in seconds. Until "
        "then, messages get the same error again, and the registry is not asked.",
    ),
    Option(
        "cache.latest.ttl.sec",
        60.0,
        checks.seconds,
        "How long a topic's latest schema is believed, in seconds, and how often (at most once a second) a topic in "
        "use is checked, in a background thread, for having been deleted and recreated. Versions never change "
        "otherwise.",
    ),
)


def schema_limits(conf: Mapping[str, Any]) -> Limits:
    """How large a schema may be, by checked options."""
    return Limits(conf["max.schema.size"], conf["max.schema.names"], conf["max.schema.depth"])
