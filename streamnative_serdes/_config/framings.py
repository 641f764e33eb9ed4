"""The framings beside SNIP 42, as data: the values of ``framings``, and the registry that each needs."""

from __future__ import annotations

from typing import Final, NamedTuple

CONFLUENT, CONFLUENT_HEADER = "confluent", "confluent-header"
APICURIO, APICURIO_V3, APICURIO_HEADER = "apicurio", "apicurio-v3", "apicurio-header"
GLUE = "glue"
AZURE, AZURE_CONTENT_TYPE, AZURE_HEADER = "azure", "azure-content-type", "azure-header"


class Framing(NamedTuple):
    """A framing with a sign that names a schema of a registry beside Pulsar's.

    Args:
        name: its value of the option ``framings``.
        registry: what the options of its registry begin with.
        option: the one of these that has to be set.
        size: of the prefix in front of the datum, in bytes; 0: a header names the schema, and the value is bare Avro.
        bit: stands for the prefix where compiled code looks for it (``Framings`` in _header.pxd); 0: it does not.
    """

    name: str
    registry: str
    option: str
    size: int
    bit: int = 0


_CONFLUENTS, _APICURIOS = "confluent.schema.registry.url", "apicurio.registry.url"
_GLUES, _AZURES = "glue.registry", "azure.schema.registry.url"

FRAMINGS: Final = (
    Framing(CONFLUENT, "confluent.", _CONFLUENTS, 5),  # its bit is the field `prefix` of the signs
    Framing(CONFLUENT_HEADER, "confluent.", _CONFLUENTS, 0),
    Framing(APICURIO, "apicurio.", _APICURIOS, 9, 8),
    Framing(APICURIO_V3, "apicurio.", _APICURIOS, 5, 16),
    Framing(APICURIO_HEADER, "apicurio.", _APICURIOS, 0),
    Framing(GLUE, "glue.", _GLUES, 18, 1),
    Framing(AZURE, "azure.", _AZURES, 36, 2),
    Framing(AZURE_CONTENT_TYPE, "azure.", _AZURES, 45, 4),
    Framing(AZURE_HEADER, "azure.", _AZURES, 0),
)
BY_NAME: Final = {framing.name: framing for framing in FRAMINGS}
SHORT_IDS: Final = 32  # the bit that says that ids of four bytes are read too
ALIKE: Final = (CONFLUENT, APICURIO_V3)  # byte for byte the same: only this option can tell them apart
