"""The tenant of the Kafka user: KoP puts topics with short names there, so their schemas must go there too.

Source: KoP's KafkaRequestHandler: the tenant is the user's name up to the first slash; the namespace is always the
broker's own ``kafkaNamespace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamnative_serdes.errors import ConfigError

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
