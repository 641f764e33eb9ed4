"""A migration's source in the framings of Apicurio, AWS Glue or Azure: how values are rewritten, what is refused."""

from __future__ import annotations

import json
import pickle
import zlib
from typing import Any
from uuid import UUID

import pytest
from foreign_stand_ins import ForeignStandIn, GlueStandIn
from vendor_framings import AZURE_ID, GLUE_ID, SCHEMA, golden

from streamnative_serdes import Codec, header
from streamnative_serdes._rewriting import BadMessageError, Rewriter, UnmappedSchemaError
from streamnative_serdes.errors import ConfigError, SchemaNotFoundError
from streamnative_serdes.migration import Route, Rules, Side
from streamnative_serdes.migration.foreign import ForeignFramings
from streamnative_serdes.migration.schemas.canonical import schemas_of

MAPPING: dict[int | str, int] = {
    "globalId 2": 3,
    "contentId 1": 4,
    f"schema id {AZURE_ID}": 5,
    f"schema version {GLUE_ID}": 6,
}


def framings_of(framings: str, **more: Any) -> ForeignFramings:
    url = {"schema.registry.url": "http://localhost:1/apis/registry/v2"}
    return ForeignFramings({**url, "framings": f"snip42,{framings}", **more})


@pytest.mark.parametrize("one", golden(), ids=lambda one: f"{one.framing}-{one.writer}")
def test_each_framing_becomes_snip_42s(one: Any) -> None:
    more = {"apicurio.registry.use-id": one.use_id} if one.use_id else {}
    rewriter = Rewriter("forward", MAPPING, framings=framings_of(one.framing, **more))
    for each in (rewriter, pickle.loads(pickle.dumps(rewriter))):
        value, headers = each.rewrite(one.message, [("a", b"b"), *one.headers])
        assert header.read(value) in MAPPING.values()
        assert Codec(json.dumps(SCHEMA)).decode(value[header.SIZE :]) == one.datum
        assert ("a", b"b") in headers
        assert not {name for name, _ in headers} & {
            "content-type",
            "apicurio.value.globalId",
            "apicurio.value.contentId",
        }


def test_what_has_no_sign_or_cannot_be_unpacked_is_a_bad_message() -> None:
    rewriter = Rewriter("forward", MAPPING, framings=framings_of("glue", **{"glue.max.unpacked.size": 100}))
    packed = b"\3\5" + UUID(GLUE_ID).bytes + zlib.compress(bytes(100))
    assert rewriter.rewrite(packed, None) == (header.pack(6) + bytes(100), None)
    for damaged in (packed[:-1], b"\3\5" + UUID(GLUE_ID).bytes + zlib.compress(bytes(101))):
        with pytest.raises(BadMessageError, match=r"glue\.max\.unpacked\.size"):
            rewriter.rewrite(damaged, None)
    for other in (b"", b"\0\0\0\0\1\2", b"\3\4" + bytes(20)):
        with pytest.raises(BadMessageError, match="expected one of the framings snip42, glue"):
            rewriter.rewrite(other, None)
    with pytest.raises(UnmappedSchemaError, match="schema version 00000000-"):
        rewriter.rewrite(b"\3\0" + bytes(16), None)


@pytest.mark.parametrize(
    ("framings", "said"),
    [
        ("snip42,apicurio,glue", "expected framings of one registry"),
        ("snip42,confluent", "expected framings of one registry"),
        ("snip42,headerless", "expected framings of one registry"),
    ],
)
def test_a_source_has_the_framings_of_one_registry(framings: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ForeignFramings({"schema.registry.url": "http://localhost:1", "framings": framings})


@pytest.mark.parametrize("framings", ["snip42, glue", ["snip42", "glue"]])
def test_framings_are_given_as_to_a_deserializer(framings: Any) -> None:
    made = ForeignFramings({"schema.registry.url": "eu-west-1", "framings": framings})
    assert made.name_of(b"\3\0" + bytes(16), ()) == ("schema version 00000000-0000-0000-0000-000000000000", 18)


@pytest.mark.parametrize("framings", [5, ["snip42", 3], "snip42,glu", None])
def test_framings_of_another_form_are_a_typed_error(framings: Any) -> None:
    with pytest.raises(ConfigError, match="framings"):
        ForeignFramings({"schema.registry.url": "eu-west-1", "framings": framings})


def test_credentials_that_boto3_would_not_see_are_refused() -> None:
    options = {"schema.registry.url": "eu-west-1", "framings": "snip42,glue", "basic.auth.user.info": "a:b"}
    with pytest.raises(ConfigError, match=r"basic\.auth\.user\.info has no effect: AWS Glue is asked through boto3"):
        ForeignFramings(options)


def test_only_the_way_forward_has_them_and_keys_are_kept() -> None:
    other = Side({}, {"schema.registry.url": "http://localhost:1/apis/registry/v2", "framings": "snip42,apicurio"})
    pulsar = Side({}, {"schema.registry.url": "http://localhost:1"})
    with pytest.raises(ConfigError, match="the way back leads to Confluent's framing alone"):
        Route("back", "a", "b", other, pulsar).rewriter({})
    assert Route("forward", "a", "b", other, pulsar).rewriter({}).framings is not None
    assert Route("forward", "a", "b", pulsar, pulsar).rewriter({}).framings is None
    with pytest.raises(ConfigError, match="--keys strip is for Confluent's framing"):
        Rules(keys="strip").strips("forward", foreign=True)


def test_schemas_are_found_by_the_names_of_messages() -> None:
    glue = GlueStandIn()
    glue.schemas[GLUE_ID] = json.dumps("bytes")
    side = Side({}, {"schema.registry.url": "eu-west-1", "framings": "snip42,glue", "glue.registry": glue})
    with schemas_of(Route("forward", "a", "b", side, side), reading=True) as schemas:
        schemas.of(f"schema version {GLUE_ID}").check(b"\4hi")  # with their length
        with pytest.raises(SchemaNotFoundError):
            schemas.of(f"schema version {UUID(int=1)}")


def test_options_for_signing_in_need_no_prefix() -> None:
    with ForeignStandIn() as others:
        others.add("/ids/globalIds/2", SCHEMA)
        url = {"schema.registry.url": others.apicurio, "basic.auth.user.info": "ada:secret"}
        registry = ForeignFramings({**url, "framings": "snip42,apicurio"}).registry()
        assert json.loads(registry.self_contained(registry.by_guid("globalId 2"))) == SCHEMA
        assert others.asked[0].headers["Authorization"].startswith("Basic ")
        for ask in (registry.versions, registry.compatibility):
            with pytest.raises(SchemaNotFoundError) as caught:
                ask("a-value")
            assert "`migrate plan`" in str(caught.value.hint)
        registry.close()
