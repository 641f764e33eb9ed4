"""Options of the registry clients, of the caches of topics and schemas, and the tenant that they imply.

KoP puts topics with short names into the tenant of the Kafka user, so their schemas must go there too. Source: KoP's
KafkaRequestHandler: the tenant is the user's name up to the first slash; the namespace is always the broker's own
``kafkaNamespace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamnative_serdes._schema import Limits, Schema, parse
from streamnative_serdes.errors import ConfigError, SchemaError

from . import checks
from .credentials import CREDENTIAL_OPTIONS, TLS_OPTIONS
from .option import Option

REGISTRY_OPTIONS = (
    Option(
        "schema.registry.url",
        None,
        checks.text,
        "Required. Pulsar's HTTP address, such as `http://localhost:8080`. Separate several addresses of one cluster "
        "by commas: requests go to the address that answered last, and to the next one if that fails or does not "
        "answer as a registry does. For tests, `mock://SCOPE` is a registry in the memory of this process.",
        secret=True,  # a malformed address may contain a password
    ),
    Option(
        "pulsar.tenant",
        "public",
        checks.text,
        "Tenant of topics with a short name. Set it to the tenant in which the broker stores their messages: with KoP, "
        "the tenant of the Kafka user ([auth.md](auth.md)). A Kafka user of another tenant is an error.",
    ),
    Option(
        "pulsar.namespace",
        "default",
        checks.text,
        "Namespace of topics with a short name. Set it to the namespace in which the broker stores their messages: "
        "with KoP, always its `kafkaNamespace`. For topics in other namespaces, use "
        "`persistent://TENANT/NAMESPACE/TOPIC`.",
    ),
    *CREDENTIAL_OPTIONS,
    *TLS_OPTIONS,
    Option(
        "proxy",
        None,
        checks.proxy,
        "HTTP proxy for requests to the registry and the OAuth issuer, such as `http://localhost:8030`. By default, "
        "the proxies of the environment are used (`HTTP_PROXY`, ...).",
        secret=True,
    ),
    Option(
        "http.connect.timeout.ms", 5_000.0, checks.milliseconds, "Time limit for opening a connection, in milliseconds."
    ),
    Option(
        "http.read.timeout.ms",
        20_000.0,
        checks.milliseconds,
        "Time limit for waiting for a response, in milliseconds. Keep it above 15 s, because Pulsar may take so long "
        "to answer that a namespace does not exist.",
    ),
    Option(
        "retries.total.ms",
        60_000.0,
        checks.milliseconds,
        "Time limit for a request with all its retries, in milliseconds. The default outlasts a broker failover, which "
        "takes about 31 s. Reduce it if callers must not wait so long.",
    ),
    Option(
        "retries.first.ms",
        5_000.0,
        checks.milliseconds,
        "Time limit in place of `retries.total.ms`, in milliseconds, while no address has ever answered, and all "
        "refuse connections or have an unknown host: the address is then probably wrong. Increase it if the registry "
        "may start later than its clients.",
    ),
    Option(
        "retries.wait.ms",
        200.0,
        checks.milliseconds,
        "Wait before the first retry, in milliseconds. It doubles with each retry, up to `retries.max.wait.ms`, with "
        "jitter.",
    ),
    Option("retries.max.wait.ms", 5_000.0, checks.milliseconds, "Maximum wait before a retry, in milliseconds."),
    Option(
        "max.schema.size",
        4 * 1024 * 1024,
        checks.between(1, 1 << 30),
        "Maximum length of a schema, in characters. A longer schema is an error.",
    ),
    Option(
        "max.schema.names",
        10_000,
        checks.between(1, 1_000_000),
        "Maximum number of named types (records, enums and fixed) in a schema.",
    ),
    Option(
        "max.schema.depth",
        200,
        checks.between(1, 1_000),
        "Maximum nesting depth of a schema. Values far above the default may exceed Python's recursion limit.",
    ),
    Option(
        "cache.capacity",
        1_000,
        checks.count,
        "Maximum number of topics that are cached for each serializer and deserializer, and of versions per topic. "
        "Increase it if one of them uses more topics at the same time.",
    ),
    Option(
        "cache.missing.ttl.sec",
        5.0,
        checks.seconds,
        "How long a refusal is cached, in seconds: that a topic lacks a schema or version, or refuses a schema. Until "
        "then, messages raise the same error without a request to the registry. Reduce it to see new schemas sooner.",
    ),
    Option(
        "cache.latest.ttl.sec",
        60.0,
        checks.seconds,
        "How long a topic's latest schema is cached, in seconds. A background thread also checks at this interval (at "
        "most once a second) whether topics in use were deleted and recreated; versions never change otherwise. While "
        "the registry cannot be asked, or refuses the credentials, the last answer stays valid. Reduce it to "
        "notice new and recreated schemas sooner, with more requests to the registry.",
    ),
)


def schema_limits(conf: Mapping[str, Any]) -> Limits:
    """How large a schema may be, by checked options."""
    return Limits(conf["max.schema.size"], conf["max.schema.names"], conf["max.schema.depth"])


def key_schema(conf: Mapping[str, Any]) -> Schema | None:
    """The schema of the option ``key.schema``, if it is set.

    Raises:
        SchemaError: the schema is not valid.
    """
    if conf.get("key.schema") is None:
        return None
    try:
        return parse(conf["key.schema"], limits=schema_limits(conf))
    except SchemaError as error:
        raise SchemaError(f"key.schema: {error.message}", path=error.path, hint=error.hint) from None


_DEFAULT_TENANT = "public"


def refuse_other_tenant(client: Mapping[str, Any], conf: Mapping[str, Any]) -> None:
    """Refuse a Kafka user of a tenant other than ``pulsar.tenant``: messages and schemas would go to different tenants.

    Args:
        client: with the Kafka client's ``sasl.username`` and ``sasl.password``, if it has them.
        conf: our options, of which ``pulsar.tenant`` counts.

    Raises:
        ConfigError: the tenants differ, or ``conf`` is not a dict of options.
    """
    if not isinstance(conf, Mapping):
        raise ConfigError(
            f"expected the options as a dict, got {type(conf).__name__}", hint='{"schema.registry.url": "http://..."}'
        )
    tenant, ours = _tenant_of(client), conf.get("pulsar.tenant") or _DEFAULT_TENANT
    if tenant not in ("", ours):
        raise ConfigError(
            f"the Kafka user {client['sasl.username']} belongs to tenant {tenant}, but pulsar.tenant is {ours}: for a "
            f"topic with a short name, messages would be in {tenant}, and the schema in {ours}",
            hint=f"set pulsar.tenant={tenant}, or sign in as a user {ours}/NAMESPACE",
        )


def _tenant_of(client: Mapping[str, Any]) -> str:
    """Return the tenant in the user's name; empty if it has none.

    Only ``TENANT/NAMESPACE`` with a token as the password is certainly KoP's form. A plain name may be a tenant for
    KoP, but is just a user name for a Kafka broker, and for KoP without ``kafkaEnableMultiTenantMetadata``.
    """
    name, password = client.get("sasl.username"), client.get("sasl.password")
    if not (isinstance(name, str) and isinstance(password, str) and password.startswith("token:")):
        return ""
    tenant, slash, _ = name.partition("/")
    return tenant if slash else ""
