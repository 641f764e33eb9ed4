"""Whose tenant the Kafka client signs in to: KoP puts topics given by a short name there, and so must we.

Source: KoP's KafkaRequestHandler: the tenant is the user's name up to the first slash; the namespace is always the
broker's own ``kafkaNamespace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamnative_serdes.errors import ConfigError

_DEFAULT_TENANT = "public"


def refuse_other_tenant(client: Mapping[str, Any], conf: Mapping[str, Any]) -> None:
    """Refuse a Kafka user of another tenant than that of our topics: schemas would be in one, messages in the other.

    Args:
        client: with the Kafka client's ``sasl.username`` and ``sasl.password``, if it has them.
        conf: our options, of which ``pulsar.tenant`` counts.

    Raises:
        ConfigError: the tenants differ.
    """
    tenant, ours = _tenant_of(client), conf.get("pulsar.tenant") or _DEFAULT_TENANT
    if tenant not in ("", ours):
        raise ConfigError(
            f"the Kafka user {client['sasl.username']} is of tenant {tenant}, and pulsar.tenant is {ours}: KoP would "
            f"put the messages of a topic with a short name into {tenant}, and its schema would be in {ours}",
            hint=f"set pulsar.tenant={tenant}, or sign in as a user {ours}/NAMESPACE",
        )


def _tenant_of(client: Mapping[str, Any]) -> str:
    """The tenant that the user's name tells; empty where it tells none.

    Only ``TENANT/NAMESPACE`` with a token as the password is surely KoP's form. A name alone may be a tenant to KoP,
    but is any user to a Kafka broker, and to a KoP without ``kafkaEnableMultiTenantMetadata``.
    """
    name, password = client.get("sasl.username"), client.get("sasl.password")
    if not (isinstance(name, str) and isinstance(password, str) and password.startswith("token:")):
        return ""
    tenant, slash, _ = name.partition("/")
    return tenant if slash else ""
