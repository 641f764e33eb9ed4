"""Missing names of ``confluent_kafka.schema_registry``, and why each one is not supported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_AVRO_ALONE = "this package supports only Avro for now: see streamnative_serdes.compat.avro"
_BY_TOPIC = "in Pulsar, a schema belongs to its topic, so topic_subject_name_strategy is the only strategy"
_NO_RULES = "Pulsar's registry stores no rules, so none could be applied"
_NO_METADATA = "Pulsar's registry stores no metadata"
_POLICY = "in Pulsar, compatibility is a policy of the namespace or topic: use pulsar-admin"

NOT_THERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("json_schema", "protobuf"), _AVRO_ALONE),
    **dict.fromkeys(("record_subject_name_strategy", "topic_record_subject_name_strategy"), _BY_TOPIC),
    "header_schema_id_serializer": "SNIP 42 puts the version before the datum, not into a message header",
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
    """The error for a name in NOT_THERE.

    It is an ImportError, since ``from streamnative_serdes.compat import name`` hides the message of any other error.
    """
    return ImportError(f"streamnative_serdes.compat.{name} is not supported: {NOT_THERE[name]}", name=name)
