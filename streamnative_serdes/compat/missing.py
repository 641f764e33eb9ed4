"""Names of ``confluent_kafka.schema_registry`` that are not here, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_AVRO_ALONE = "through this package, Pulsar's registry is for Avro alone, for now: see streamnative_serdes.compat.avro"
_BY_TOPIC = "in Pulsar, a schema belongs to its topic, so topic_subject_name_strategy is the only strategy"
_NO_RULES = "Pulsar's registry keeps no rules, so none would be applied"
_NO_METADATA = "Pulsar's registry keeps no metadata"
_POLICY = "compatibility is a policy of the namespace or topic, for pulsar-admin"

NOT_THERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("json_schema", "protobuf"), _AVRO_ALONE),
    **dict.fromkeys(("record_subject_name_strategy", "topic_record_subject_name_strategy"), _BY_TOPIC),
    "header_schema_id_serializer": "SNIP 42 has the version before the datum, not in a header of the message",
    **dict.fromkeys(("Rule", "RuleKind", "RuleMode", "RuleParams", "RuleSet", "rules", "rule_registry"), _NO_RULES),
    **dict.fromkeys(("Metadata", "MetadataProperties", "MetadataTags"), _NO_METADATA),
    **dict.fromkeys(("ConfigCompatibilityLevel", "ServerConfig"), _POLICY),
    **dict.fromkeys(
        (
            "Association",
            "AssociationCreateOrUpdateInfo",
            "AssociationCreateOrUpdateRequest",
            "AssociationInfo",
            "AssociationResponse",
        ),
        "in Pulsar, a schema belongs to its topic",
    ),
}


def missing(name: str) -> ImportError:
    """Why a name of NOT_THERE is not there.

    An ImportError, for ``from streamnative_serdes.compat import name`` would show no other error's words.
    """
    return ImportError(f"streamnative_serdes.compat.{name} is not there: {NOT_THERE[name]}", name=name)
