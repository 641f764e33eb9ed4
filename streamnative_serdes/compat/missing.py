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
    **dict.fromkeys(("json_schema", "protobuf", "reference_subject_name_strategy"), _AVRO_ALONE),
    **{
        f"{name}Builder": f"pass an {name} to the client"
        for name in ("AvroSerializer", "AvroDeserializer", "AsyncAvroSerializer", "AsyncAvroDeserializer")
    },
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


def missing(module: str, name: str) -> ImportError | AttributeError:
    """The error for a name that ``module`` does not have.

    For a name in NOT_THERE it is an ImportError: ``from module import name`` hides the message of any other error.
    """
    if name in NOT_THERE:
        return ImportError(f"{module}.{name} is not supported: {NOT_THERE[name]}", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}")
