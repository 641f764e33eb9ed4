"""Deliberate differences between LocalRegistry and Pulsar, each shown on both."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from contract import Ask, Case, Player, get, put, register, said_differently
from contract.avro import array, field, fixed, record
from contract.descriptor_tables import ACCEPTED_BY_JAVA
from contract.script import schema_path

LENIENT = {"key.schema.type": "STRING", "value.schema.type": "STRING"}
REFERRING = record(field("f", fixed(2)), field("a", array("F"), default=[1]))
STRATEGY = "/admin/v2/persistent/public/default/{case}/schemaCompatibilityStrategy"


class Difference(NamedTuple):
    """The same requests for both: ``first`` has equal responses, ``pulsar`` and ``local`` have different ones."""

    name: str
    first: list[Ask]
    pulsar: Ask
    local: Ask


def _bad_default(words: str) -> Ask:
    return register(REFERRING).refused(500, f"Invalid default for field a: [1] not a {words}")


DIFFERENCES = [
    Difference(
        "HEAD is not served",
        [],
        Ask("HEAD", schema_path()).done(404),
        Ask("HEAD", schema_path()).done(501),
    ),
    Difference(
        "OPTIONS is not served",
        [],
        Ask("OPTIONS", schema_path()).refused(200),
        Ask("OPTIONS", schema_path()).refused(501),
    ),
    Difference(
        "a KEY_VALUE text is parsed strictly",
        [],
        register("{key:'', value:''}", "KEY_VALUE", properties=LENIENT).registers(0),
        register("{key:'', value:''}", "KEY_VALUE", properties=LENIENT).refused(500, "what Gson says"),
    ),
    *[
        Difference(
            f"a PROTOBUF_NATIVE schema cannot have {what}",
            [],
            register(schema, "PROTOBUF_NATIVE").registers(0),
            register(schema, "PROTOBUF_NATIVE").refused(422, "deserialize ProtobufNative Schema failed"),
        )
        for what, schema in ACCEPTED_BY_JAVA.items()
    ],
    Difference(
        "a bad default is told without the definition of the type that its own refers to",
        [register(REFERRING).registers(0)],
        _bad_default('{"type":"array","items":{"type":"fixed","name":"F","size":2}}'),
        _bad_default('{"type":"array","items":"F"}'),
    ),
    Difference(
        "topic-level strategies are on",
        [put("/admin/v2/persistent/public/default/{case}").done()],
        get(STRATEGY).gives(
            {"reason": "Topic level policies is disabled, to enable the topic level policy and retry."}, 405
        ),
        get(STRATEGY).done(200),
    ),
]


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.name)
def test_known_differences_are_as_documented(local: Player, real: Player, difference: Difference) -> None:
    theirs, ours = (Case(difference.name, *difference.first, ask) for ask in (difference.pulsar, difference.local))
    assert not (found := theirs.complaints(real.transcript(theirs))), "\n".join(found)
    assert not (found := ours.complaints(local.transcript(ours))), "\n".join(found)
    assert len(said_differently(ours, local.transcript(ours), real.transcript(ours))) == 1
