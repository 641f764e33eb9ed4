"""Options of the registry client, and of the caches of topics and schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamnative_serdes._schema import Limits

from . import checks
from .credentials import CREDENTIAL_OPTIONS, TLS_OPTIONS
from .option import Option

REGISTRY_OPTIONS = (
    Option(
        "schema.registry.url",
        None,
        checks.text,
        "Pulsar's HTTP address, such as `http://localhost:8080`. Required. Separate several addresses of one cluster "
        "by commas: the one that answered last is tried first, and the next one if it fails. `mock://SCOPE` is a "
        "registry in the memory of this process.",
        secret=True,  # a malformed address may contain a password
    ),
    Option(
        "pulsar.tenant",
        "public",
        checks.text,
        "Tenant of topics with a short name. It must be the tenant in which the broker stores their messages: with "
        "KoP, the tenant of the Kafka user ([auth.md](auth.md)). A Kafka user that names another tenant is an error.",
    ),
    Option(
        "pulsar.namespace",
        "default",
        checks.text,
        "Namespace of topics with a short name. It must be the namespace in which the broker stores their messages: "
        "with KoP, always its `kafkaNamespace`. For other namespaces use `persistent://TENANT/NAMESPACE/TOPIC`.",
    ),
    *CREDENTIAL_OPTIONS,
    *TLS_OPTIONS,
    Option(
        "proxy",
        None,
        checks.proxy,
        "HTTP proxy for the registry and the OAuth issuer, such as `http://localhost:8030`. Default: the proxies of "
        "the environment (`HTTP_PROXY`, ...).",
        secret=True,
    ),
    Option("http.connect.timeout.ms", 5_000.0, checks.milliseconds, "Connect timeout, in milliseconds."),
    Option(
        "http.read.timeout.ms",
        20_000.0,
        checks.milliseconds,
        "Read timeout, in milliseconds. Pulsar may take 15 s to answer that a namespace does not exist.",
    ),
    Option(
        "retries.total.ms",
        60_000.0,
        checks.milliseconds,
        "Total time for a request including all retries, in milliseconds. A broker failover takes about 31 s.",
    ),
    Option(
        "retries.first.ms",
        5_000.0,
        checks.milliseconds,
        "Total time used instead of `retries.total.ms`, in milliseconds, as long as no address has ever answered, and "
        "all refuse connections or have an unknown host: the address is probably wrong.",
    ),
    Option(
        "retries.wait.ms",
        200.0,
        checks.milliseconds,
        "Wait before the first retry, in milliseconds. It doubles with each retry, with jitter.",
    ),
    Option("retries.max.wait.ms", 5_000.0, checks.milliseconds, "Maximum wait before a retry, in milliseconds."),
    Option(
        "max.schema.size",
        4 * 1024 * 1024,
        checks.between(1, 1 << 30),
        "Maximum length of a schema from the registry, in characters.",
    ),
    Option(
        "max.schema.names",
        10_000,
        checks.between(1, 1_000_000),
        "Maximum number of named types in a schema from the registry.",
    ),
    Option(
        "max.schema.depth",
        200,
        checks.between(1, 1_000),
        "Maximum nesting depth of a schema from the registry. Values far above the default run into Python's own "
        "recursion limit.",
    ),
    Option(
        "cache.capacity",
        1_000,
        checks.count,
        "Maximum number of topics kept for each serializer and deserializer, and of versions kept per topic.",
    ),
    Option(
        "cache.missing.ttl.sec",
        5.0,
        checks.seconds,
        "How long to remember that a topic lacks a schema or version, or refuses a schema, in seconds. Until then, "
        "messages get the same error again without a request to the registry.",
    ),
    Option(
        "cache.latest.ttl.sec",
        60.0,
        checks.seconds,
        "How long to use a topic's latest schema before asking again, in seconds. Also how often (at most once a "
        "second) a background thread checks whether a topic in use was deleted and recreated; versions never change "
        "otherwise.",
    ),
)


def schema_limits(conf: Mapping[str, Any]) -> Limits:
    """How large a schema may be, by checked options."""
    return Limits(conf["max.schema.size"], conf["max.schema.names"], conf["max.schema.depth"])
