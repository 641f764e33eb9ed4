"""The framings of Apicurio, AWS Glue and Azure beside SNIP 42: each is read in all ways there are, or is an error."""

from __future__ import annotations

import json
import logging
import pickle
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from each_way import Reader
from foreign_stand_ins import NO_PATH, ForeignStandIn, GlueStandIn, NoSuchVersionError
from scripted_registry import Answer
from vendor_framings import AZURE_ID, CONTENT_ID, GLOBAL_ID, GLUE_ID, SCHEMA, Written, golden

from streamnative_serdes import (
    Codec,
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
)
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._config import FRAMINGS
from streamnative_serdes._reading import framings
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes.arrow import in_parts
from streamnative_serdes.errors import (
    AuthenticationError,
    AuthorizationError,
    BatchTooLargeError,
    ConfigError,
    DecodeError,
    MissingEndpointError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

ORDER = {"id": 7, "note": "hello"}
BODY = Codec(json.dumps(SCHEMA)).encode(ORDER)
UUID_BYTES = UUID(GLUE_ID).bytes
TYPE = f"avro/binary+{AZURE_ID}".encode()
# One message of each framing, with its headers.
ONE_OF_EACH: dict[str, tuple[bytes, list[tuple[str, bytes]]]] = {
    "apicurio": (b"\0" + GLOBAL_ID.to_bytes(8) + BODY, []),
    "apicurio-v3": (b"\0" + CONTENT_ID.to_bytes(4) + BODY, []),
    "apicurio-header": (BODY, [("apicurio.value.globalId", GLOBAL_ID.to_bytes(8))]),
    "glue": (b"\3\0" + UUID_BYTES + BODY, []),
    "azure": (bytes(4) + AZURE_ID.encode() + BODY, []),
    "azure-content-type": (b"\x2c" + TYPE + BODY, []),
    "azure-header": (BODY, [("content-type", TYPE)]),
}
FOREIGN = [framing for framing in FRAMINGS if framing.registry != "confluent."]
ALL = [framing.name for framing in FOREIGN]
WITH_PREFIX = [framing.name for framing in FOREIGN if framing.size]
# As a fixed of 60 bytes, any message of 60 bytes can be read.
WIDE = {"type": "record", "name": "W", "fields": [{"name": "raw", "type": {"type": "fixed", "name": "F", "size": 60}}]}


@pytest.fixture(autouse=True)
def _no_known_schemas() -> Iterator[None]:
    ConfluentSchemas.forget()
    yield
    ConfluentSchemas.forget()


@pytest.fixture
def others() -> Iterator[ForeignStandIn]:
    with ForeignStandIn() as registry:
        registry.add("/ids/globalIds/1", SCHEMA)
        registry.add(f"/ids/globalIds/{GLOBAL_ID}", SCHEMA)
        registry.add(f"/ids/contentIds/{CONTENT_ID}", SCHEMA)
        registry.add(f"/$schemaGroups/$schemas/{AZURE_ID}", SCHEMA)
        yield registry


@pytest.fixture
def glue() -> GlueStandIn:
    found = GlueStandIn()
    found.schemas[GLUE_ID] = json.dumps(SCHEMA)
    return found


@pytest.fixture
def conf(registry: LocalRegistry, others: ForeignStandIn, glue: GlueStandIn) -> dict[str, Any]:
    return {
        "schema.registry.url": registry.url,
        "apicurio.registry.url": others.apicurio,
        "azure.schema.registry.url": others.url,
        "glue.registry": glue,
        "cache.missing.ttl.sec": 60,
    }


def declared(conf: dict[str, Any], *framings: str, **more: Any) -> dict[str, Any]:
    """The options that read these framings, without the registries that they do not need."""
    needed = {framing.option for framing in FRAMINGS if framing.name in framings}
    idle = {framing.option for framing in FRAMINGS} - needed
    kept = {key: value for key, value in conf.items() if key not in idle}
    return {**kept, "framings": ["snip42", *framings], **{key.replace("_", "."): value for key, value in more.items()}}


@pytest.fixture
def written(conf: dict[str, Any]) -> bytes:
    """Makes SCHEMA the topic's schema, and returns a message."""
    with KafkaAvroSerializer({"schema.registry.url": conf["schema.registry.url"]}, SCHEMA) as serializer:
        message = serializer.serialize("orders", ORDER)
    assert message is not None
    return message


# Golden messages


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("one", golden(), ids=lambda one: f"{one.framing}-{one.writer}")
def test_each_framing_is_read_as_its_own_writer_wrote_it(
    conf: dict[str, Any], written: bytes, one: Written, bare: bool
) -> None:
    options = declared(conf, one.framing, *(["headerless"] if bare else []))
    if one.use_id is not None:
        options["apicurio.registry.use-id"] = one.use_id
    reader = Reader(options)
    assert reader.read(one.message, one.headers) == one.datum
    assert reader.read(one.message, dict(one.headers)) == one.datum
    assert reader.read(written) == ORDER
    if bare:
        assert reader.read(BODY) == ORDER
    counts = reader.calls.stats()
    assert (counts["other_framings"], counts["errors"], counts["ambiguous"]) == (2, 0, 0)
    assert reader.batches.stats()["other_framings"] == 4


def test_golden_messages_are_there_for_each_framing() -> None:
    assert {one.framing for one in golden()} == set(ALL)
    packed = [one for one in golden() if one.framing == "glue" and one.message[1] == 5]
    assert {one.writer for one in packed} == {"aws-glue-schema-registry 1.1.3", "schema-registry-serde 1.1.25"}


@pytest.mark.parametrize("framing", ALL)
def test_a_framing_that_is_not_declared_is_not_read(conf: dict[str, Any], written: bytes, framing: str) -> None:
    message, headers = ONE_OF_EACH[framing]
    other = "glue" if framing != "glue" else "apicurio"
    reader = Reader(declared(conf, other))
    with pytest.raises(DecodeError, match=f"expected a message with one of the framings snip42, {other}") as caught:
        reader.read(message, headers)
    looks_confluent = framing == "apicurio-v3"
    if message != BODY:
        name = "confluent" if looks_confluent else framing
        assert f"framings=snip42,{name},headerless with " in str(caught.value.hint)
        assert ("apicurio-v3 reads those of Apicurio 3" in str(caught.value.hint)) == looks_confluent


def test_all_framings_are_read_by_one_deserializer(conf: dict[str, Any], written: bytes) -> None:
    names = [name for name in ALL if name != "apicurio-v3"]
    reader = Reader(declared(conf, *names, "headerless"))
    for name in names:
        assert reader.read(*ONE_OF_EACH[name]) == ORDER
    assert reader.read(written) == reader.read(BODY) == ORDER
    many = [(b"\3\5" + UUID_BYTES + zlib.compress(BODY), []), *(ONE_OF_EACH[name] for name in names)]
    batch = reader.batches.deserialize_batch("orders", [m for m, _ in many], headers=[h for _, h in many])
    assert batch.to_pylist() == [ORDER] * len(many)


def test_any_type_says_which_schema_has_read_a_message(conf: dict[str, Any], written: bytes) -> None:
    reader = KafkaAutoConsumeDeserializer(declared(conf, "glue", "headerless"))
    found = reader.deserialize("orders", ONE_OF_EACH["glue"][0])
    assert (found.native_object, found.schema_type, found.decoded_by.rule) == (ORDER, "AVRO", "id")
    assert found.reader_schema is not None
    assert json.loads(found.reader_schema.info.text) == SCHEMA
    assert found.reader_schema.topic == "orders"
    assert reader.deserialize("orders", BODY).decoded_by.rule == "latest"


def test_any_type_reads_framings_of_a_topic_without_a_schema(conf: dict[str, Any]) -> None:
    reader = KafkaAutoConsumeDeserializer(declared(conf, "azure", "headerless"))
    assert reader.deserialize("none", ONE_OF_EACH["azure"][0]).native_object == ORDER
    assert reader.deserialize("none", b"data").native_object == b"data"
    assert reader.deserialize("none", bytes(4) + b"0" * 32 + BODY).native_object == bytes(4) + b"0" * 32 + BODY


def test_keys_have_headers_and_prefixes_too(conf: dict[str, Any], written: bytes) -> None:
    keys = KafkaAvroDeserializer(declared(conf, "apicurio-header", "apicurio"), is_key=True)
    header = [("apicurio.value.globalId", (99).to_bytes(8)), ("apicurio.key.contentId", CONTENT_ID.to_bytes(8))]
    assert keys.deserialize("orders", BODY, headers=header) == ORDER
    assert keys.deserialize("orders", ONE_OF_EACH["apicurio"][0]) == ORDER
    both = KafkaAvroDeserializer(declared(conf, "apicurio-header", "apicurio"))
    assert both(BODY, SerializationContext("orders", MessageField.KEY, header)) == ORDER


# Signs that begin alike


@pytest.mark.parametrize(
    ("message", "framing", "reads"),
    [
        (bytes(4) + b"0123456789abcdefABCDEF0123456789" + BODY, "azure", True),
        (bytes(4) + b"0123456789abcdefABCDEF012345678g" + BODY, "azure", False),
        (bytes(4) + b"0123456789abcdef", "azure", False),
        (b"\0\0\0\1" + b"0" * 32, "azure", False),
        (b"\x2c" + b"avro/binary+" + b"0" * 32, "azure-content-type", True),
        (b"\x2d" + b"avro/binary+" + b"0" * 32, "azure-content-type", False),
        (b"\x2c" + b"avro/json+++" + b"0" * 32, "azure-content-type", False),
        (b"\x2c" + b"avro/binary+" + b"z" * 32, "azure-content-type", False),
        (b"\0" + (1).to_bytes(8), "apicurio", True),
        (b"\0" + (1 << 40).to_bytes(8), "apicurio", True),  # no ids of four bytes are declared
        (b"\0" + (1 << 63).to_bytes(8), "apicurio", False),
        (b"\0" + bytes(8), "apicurio", False),
        (b"\0" + bytes(7), "apicurio", False),
        (b"\0" + (1).to_bytes(4), "apicurio-v3", True),
        (b"\0" + bytes(4), "apicurio-v3", False),
        (b"\0" + (1 << 31).to_bytes(4), "apicurio-v3", False),
        (b"\3\0" + bytes(16), "glue", True),
        (b"\3\1" + bytes(16), "glue", False),
        (b"\3\0" + bytes(15), "glue", False),
    ],
)
def test_a_sign_is_as_long_and_as_exact_as_its_framing_says(
    conf: dict[str, Any], written: bytes, message: bytes, framing: str, reads: bool
) -> None:
    reader = Reader(declared(conf, framing))
    with pytest.raises(SerdesError) as caught:
        reader.read(message)
    assert ("expected a message with one of the framings" not in str(caught.value)) == reads


@pytest.mark.parametrize(
    ("others_declared", "message", "asked"),
    [
        (["apicurio", "apicurio-v3"], b"\0" + (5).to_bytes(8) + b"x", "/ids/globalIds/5"),
        (["apicurio-v3", "apicurio"], b"\0" + (5).to_bytes(8) + b"x", "/ids/globalIds/5"),
        (["apicurio", "apicurio-v3"], b"\0" + (5).to_bytes(4) + b"x" * 9, "/ids/contentIds/5"),
        (["apicurio", "apicurio-v3"], b"\0\0\0\0\x41" + b"x" * 40, "/ids/contentIds/65"),
        (["azure", "apicurio-v3"], bytes(4) + b"A" * 32, f"/$schemaGroups/$schemas/{'A' * 32}"),
        (["apicurio", "azure"], bytes(4) + b"A" * 32, f"/$schemaGroups/$schemas/{'A' * 32}"),
    ],
)
def test_signs_that_begin_alike_are_told_apart(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, others_declared: list[str], message: bytes, asked: str
) -> None:
    with pytest.raises(SchemaNotFoundError):
        KafkaAvroDeserializer(declared(conf, *others_declared)).deserialize("orders", message)
    (call,) = others.calls
    assert call.partition("?")[0].endswith(asked)


def test_confluents_prefix_stands_beside_apicurios_of_eight_bytes(
    conf: dict[str, Any], written: bytes, second: Any
) -> None:
    number = second.register("orders-value", SCHEMA)
    options = declared(conf, "confluent", "apicurio", "azure", confluent_schema_registry_url=second.url)
    reader = Reader(options)
    assert reader.read(b"\0" + number.to_bytes(4) + BODY) == ORDER
    assert reader.read(ONE_OF_EACH["apicurio"][0]) == reader.read(ONE_OF_EACH["azure"][0]) == ORDER
    counts = reader.calls.stats()
    assert (counts["confluent"], counts["other_framings"]) == (1, 2)


def test_what_only_an_option_can_tell_apart_is_refused(conf: dict[str, Any]) -> None:
    options = declared(conf, "confluent", "apicurio-v3", confluent_schema_registry_url="http://localhost:1")
    with pytest.raises(ConfigError, match="cannot enable both confluent and apicurio-v3") as caught:
        KafkaAvroDeserializer(options)
    assert "leave one of them out" in str(caught.value.hint)


def test_the_example_of_the_page_reads_what_it_says(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "which-registry.md").read_text()
    block = page.partition("```python\n")[2].partition("```")[0]
    here = block.replace("http://localhost:8080", conf["schema.registry.url"])
    names: dict[str, Any] = {"KafkaAvroDeserializer": KafkaAvroDeserializer}
    exec(here.replace("http://localhost:8081", others.url), names)
    for framing in ("apicurio-header", "apicurio"):
        message, headers = ONE_OF_EACH[framing]
        assert names["deserializer"].deserialize("orders", message, headers=headers) == ORDER
    assert names["deserializer"].deserialize("orders", written) == ORDER


# Headers


def test_a_header_wins_over_a_prefix(conf: dict[str, Any], written: bytes) -> None:
    reader = Reader(declared(conf, "glue", "apicurio-header"))
    message, _ = ONE_OF_EACH["glue"]
    assert reader.read(message, []) == ORDER
    with pytest.raises(DecodeError):
        reader.read(message, [("apicurio.value.globalId", GLOBAL_ID.to_bytes(8))])


@pytest.mark.parametrize(
    ("framings", "asked"),
    [
        (["apicurio-header", "azure-header"], "globalIds/99"),
        (["azure-header", "apicurio-header"], "schemas/" + "9" * 32),
    ],
)
def test_of_several_headers_the_framing_that_is_declared_first_counts(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, framings: list[str], asked: str
) -> None:
    headers = [("content-type", b"avro/binary+" + b"9" * 32), ("apicurio.value.globalId", (99).to_bytes(8))]
    for read in (
        lambda one: one.deserialize("orders", BODY, headers=headers),
        lambda one: one.deserialize_batch("orders", [BODY], headers=[headers]),
    ):
        before = len(others.asked)
        ConfluentSchemas.forget()
        with pytest.raises(SchemaNotFoundError):
            read(KafkaAvroDeserializer(declared(conf, *framings)))
        (call,) = others.calls[before:]
        assert asked in call


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("apicurio.value.globalId", b"\0\0\0\2"),
        ("apicurio.value.globalId", (1 << 63).to_bytes(8)),
        ("apicurio.value.globalId", None),
        ("apicurio.key.globalId", (2).to_bytes(8)),
        ("content-type", b"application/json"),
        ("content-type", TYPE + b"0"),
        ("content-type", b"avro/binary+" + b"g" * 32),
        ("Content-Type", TYPE),
    ],
)
def test_a_header_of_another_form_is_no_sign(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, name: str, value: Any
) -> None:
    reader = Reader(declared(conf, "apicurio-header", "azure-header", "headerless"))
    assert reader.read(BODY, [(name, value)]) == ORDER
    assert reader.calls.stats()["headerless"] == 1
    assert others.calls == []


def test_no_more_of_a_bomb_is_unpacked_than_the_limit(conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    signs = policy_of(KafkaAvroDeserializer(declared(conf, "glue", glue_max_unpacked_size=1_000))).signs
    limits: list[int] = []

    class Recording:
        eof, unused_data = True, b""

        def decompress(self, _data: bytes, most: int) -> bytes:
            limits.append(most)
            return b"x"

    monkeypatch.setattr(framings.zlib, "decompressobj", Recording)
    assert signs.unpacked(b"\3\5" + UUID_BYTES + bytes(50)) == b"\3\0" + UUID_BYTES + b"x"
    assert limits == [1_001]


def test_batches_need_the_headers_that_a_framing_is_in(conf: dict[str, Any], written: bytes) -> None:
    with pytest.raises(ConfigError, match="framings has azure-header, so the messages' headers are needed"):
        KafkaAvroDeserializer(declared(conf, "azure-header")).deserialize_batch("orders", [BODY])


def test_an_id_in_a_header_that_begins_like_a_compressed_message_is_an_id(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn
) -> None:
    number = 0x0305 << 48
    others.add(f"/ids/globalIds/{number}", SCHEMA)
    reader = Reader(declared(conf, "apicurio-header", "glue"))
    assert reader.read(BODY, [("apicurio.value.globalId", number.to_bytes(8))]) == ORDER


# Beside messages without a header


@pytest.mark.parametrize("framing", WITH_PREFIX)
@pytest.mark.parametrize("bare_first", [False, True])
def test_a_message_that_can_be_read_both_ways_is_read_as_the_order_says_and_counted(
    conf: dict[str, Any],
    registry: LocalRegistry,
    others: ForeignStandIn,
    glue: GlueStandIn,
    framing: str,
    bare_first: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with KafkaAvroSerializer({"schema.registry.url": registry.url}, WIDE) as serializer:
        serializer.serialize("orders", {"raw": bytes(60)})
    prefix = ONE_OF_EACH[framing][0].removesuffix(BODY)
    message = prefix + bytes(60 - len(prefix))
    narrow = {**WIDE, "fields": [{"name": "raw", "type": {"type": "fixed", "name": "F", "size": 60 - len(prefix)}}]}
    for path in list(others.schemas):
        others.add(path, narrow)
    glue.schemas[GLUE_ID] = json.dumps(narrow)
    order = ["headerless", framing] if bare_first else [framing, "headerless"]
    for read in (
        lambda one: one.deserialize("orders", message),
        lambda one: KafkaAvroDeserializer.deserialize(one, "orders", memoryview(message)),
    ):
        caplog.clear()
        reader = KafkaAvroDeserializer(declared(conf, *order))
        if bare_first:  # such messages are read without asking, so the id has to be known
            ConfluentSchemas.forget()
            first = KafkaAvroDeserializer(declared(conf, framing))
            assert first.deserialize("orders", message) == {"raw": message[len(prefix) :]}
            reader = KafkaAvroDeserializer(declared(conf, *order))
        with caplog.at_level(logging.WARNING):
            assert read(reader) == {"raw": message if bare_first else message[len(prefix) :]}
        if not bare_first:
            assert reader.stats()["ambiguous"] == 1
            assert "can be read both with" in caplog.text
            assert {"apicurio": "Apicurio", "glue": "Glue", "azure": "Azure"}[framing.partition("-")[0]] in caplog.text


@pytest.mark.parametrize("framing", WITH_PREFIX)
def test_an_unknown_id_is_read_without_a_header_where_that_is_declared(
    conf: dict[str, Any], registry: LocalRegistry, others: ForeignStandIn, glue: GlueStandIn, framing: str
) -> None:
    with KafkaAvroSerializer({"schema.registry.url": registry.url}, WIDE) as serializer:
        serializer.serialize("orders", {"raw": bytes(60)})
    others.schemas.clear()
    glue.schemas.clear()
    prefix = ONE_OF_EACH[framing][0].removesuffix(BODY)
    message = prefix + bytes(60 - len(prefix))
    assert Reader(declared(conf, framing, "headerless")).read(message) == {"raw": message}
    with pytest.raises(
        DecodeError, match=r"expected .* framing with .*, or Avro without a header; as the former: .* does "
    ):
        Reader(declared(conf, framing, "headerless")).read(prefix + b"x")


# Hostile bytes, and registries that do not help


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("one", [one for one in golden() if one.datum["id"] == 7], ids=lambda one: one.framing)
def test_a_message_cut_anywhere_is_an_error(conf: dict[str, Any], written: bytes, one: Written, bare: bool) -> None:
    options = declared(conf, one.framing, *(["headerless"] if bare else []))
    if one.use_id is not None:
        options["apicurio.registry.use-id"] = one.use_id
    reader = Reader(options)
    for size in range(len(one.message)):
        try:
            found = reader.read(one.message[:size], one.headers)
        except (DecodeError, SchemaNotFoundError):
            continue
        # Some beginning may be bare Avro by chance: two zero bytes are an order.
        assert bare, size
        assert Codec(json.dumps(SCHEMA)).encode(found) == one.message[:size]


@pytest.mark.parametrize("framing", ALL)
def test_an_id_that_the_registry_does_not_have_is_an_error_that_names_it(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, glue: GlueStandIn, framing: str
) -> None:
    others.schemas.clear()
    glue.schemas.clear()
    reader = Reader(declared(conf, framing))
    for _ in range(2):
        with pytest.raises(SchemaNotFoundError) as caught:
            reader.read(*ONE_OF_EACH[framing])
        names = {"apicurio": f"globalId {GLOBAL_ID}", "apicurio-v3": f"contentId {CONTENT_ID}", "glue": GLUE_ID}
        name = {**names, "apicurio-header": names["apicurio"]}.get(framing, AZURE_ID)
        assert name in str(caught.value)
        assert "registry does not have" in str(caught.value)
        assert caught.value.topic == "orders"
    assert len(others.asked) + len(glue.asked) == 1  # for cache.missing.ttl.sec


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("framing", [name for name in ALL if name != "glue"])
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(503, {"message": "later"}), RegistryUnavailableError),
        (Answer(401, {"message": "who?"}), AuthenticationError),
        (Answer(403, {"message": "no"}), AuthorizationError),
        (NO_PATH, MissingEndpointError),
        (Answer(404, b"<html>nothing here</html>"), MissingEndpointError),
        (Answer(418, {"message": "tea"}), SchemaRegistryError),
        (Answer(body=b" "), SchemaRegistryError),
        (Answer(body=b"<html>sign in</html>"), SchemaRegistryError),
        (Answer(200, b"sign in", {"Content-Type": "text/html"}), SchemaRegistryError),
        (Answer(body=b'{"type": "reco'), SchemaError),
        (Answer(body=b'syntax = "proto3";'), SchemaError),
        (Answer(body=b"\xff\xfe"), SchemaError),
    ],
)
def test_a_registry_that_does_not_help_is_a_typed_error(
    conf: dict[str, Any],
    written: bytes,
    others: ForeignStandIn,
    framing: str,
    answer: Answer,
    kind: type[Exception],
    bare: bool,
) -> None:
    others.faults = [answer] * 50
    if answer.status == 200 and framing.startswith("apicurio"):
        others.faults = [answer, Answer(body=[])] * 25
    message, headers = ONE_OF_EACH[framing]
    options = declared(conf, framing, *(["headerless"] if bare else []))
    if answer.status == 503:
        options["retries.total.ms"] = 500
    for read in (
        lambda one: one.deserialize("orders", message, headers=headers),
        lambda one: one.deserialize_batch("orders", [message], headers=[headers]),
    ):
        ConfluentSchemas.forget()
        if bare and kind is SchemaError:
            kind = DecodeError if message != BODY else type(None)
        if kind is type(None):  # the value alone can be read as bare Avro
            assert read(KafkaAvroDeserializer(options)) is not None
            continue
        with pytest.raises(kind):
            read(KafkaAvroDeserializer(options))


def test_a_registry_that_is_away_stops_the_reader_and_loses_no_message(conf: dict[str, Any], written: bytes) -> None:
    away = declared(conf, "apicurio", "headerless") | {"apicurio.registry.url": "http://127.0.0.1:1/apis/registry/v2"}
    reader = KafkaAvroDeserializer(away)
    with pytest.raises(RegistryUnavailableError, match=r"apicurio\.registry\.url"):
        list(reader.deserialize_many("orders", [ONE_OF_EACH["apicurio"][0]], on_error="skip"))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (NoSuchVersionError("AccessDeniedException"), AuthorizationError),
        (NoSuchVersionError("ExpiredTokenException"), AuthenticationError),
        (NoSuchVersionError("ThrottlingException"), RegistryUnavailableError),
        (OSError("no route"), RegistryUnavailableError),
        (NoSuchVersionError("InvalidInputException"), SchemaRegistryError),
    ],
)
def test_faults_of_glue_are_typed_errors(
    conf: dict[str, Any], written: bytes, glue: GlueStandIn, fault: Exception, kind: type[Exception]
) -> None:
    glue.fault = fault
    reader = KafkaAvroDeserializer(declared(conf, "glue", "headerless"))
    with pytest.raises(kind, match="cannot read schema version b7b4a7f0"):
        reader.deserialize("orders", ONE_OF_EACH["glue"][0])
    glue.fault = None
    assert reader.deserialize("orders", ONE_OF_EACH["glue"][0]) == ORDER


def test_a_schema_of_another_type_is_an_error(conf: dict[str, Any], written: bytes, glue: GlueStandIn) -> None:
    glue.kind = "PROTOBUF"
    with pytest.raises(SchemaError, match="expected a schema of type AVRO, got type PROTOBUF"):
        Reader(declared(conf, "glue")).read(ONE_OF_EACH["glue"][0])


@pytest.mark.parametrize("bare", [False, True])
def test_a_bomb_is_not_unpacked(conf: dict[str, Any], written: bytes, bare: bool) -> None:
    options = declared(conf, "glue", *(["headerless"] if bare else []), glue_max_unpacked_size=1_000)
    fits, too_large = (Codec(json.dumps(SCHEMA)).encode({"id": 0, "note": "x" * (1_000 - 3 + n)}) for n in (0, 1))
    assert len(fits) == 1_000
    reader = Reader(options)
    assert reader.read(b"\3\5" + UUID_BYTES + zlib.compress(fits)) == {"id": 0, "note": "x" * 997}
    for body in (zlib.compress(too_large), zlib.compress(bytes(10**7)), zlib.compress(fits)[:-1], b"", b"\0" * 30):
        with pytest.raises(DecodeError, match=r"compressed by zlib; it is damaged, or larger than 1000 bytes"):
            reader.read(b"\3\5" + UUID_BYTES + body)
    with pytest.raises(DecodeError, match="compressed by zlib"):
        reader.read(b"\3\5" + UUID_BYTES + zlib.compress(fits) + b"x")


@pytest.mark.parametrize(
    "form",
    [list, pa.array, lambda messages: pa.chunked_array([messages[:1], messages[1:3], [], messages[3:]], pa.binary())],
    ids=["list", "array", "chunks"],
)
def test_bombs_that_fit_by_themselves_are_not_unpacked_together(
    conf: dict[str, Any], written: bytes, monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    packed = b"\3\5" + UUID_BYTES + zlib.compress(Codec(json.dumps(SCHEMA)).encode({"id": 0, "note": "x" * 997}))
    monkeypatch.setattr("streamnative_serdes.arrow.pieces._MOST_CHANGED", 2_500)
    reader = KafkaAvroDeserializer(declared(conf, "glue"))
    messages = [packed, written, packed, written, packed, packed]
    with pytest.raises(BatchTooLargeError, match=r"topic orders, row 4: .* larger than 1 GB together when") as caught:
        reader.deserialize_batch("orders", form(messages))
    assert caught.value.row == 4
    parts = in_parts(form(messages), lambda part: reader.deserialize_batch("orders", part))
    assert [batch.column("id").to_pylist() for _, batch in parts] == [[0, 7, 0, 7], [0, 0]]
    monkeypatch.setattr("streamnative_serdes.arrow.pieces._MOST_CHANGED", 1)
    parts = in_parts(form(messages), lambda part: reader.deserialize_batch("orders", part))
    assert sum(batch.num_rows for _, batch in parts) == len(messages), "a message by itself is never too large"


@pytest.mark.parametrize("form", [list, pa.array, lambda messages: pa.chunked_array([messages[:2], messages[2:]])])
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_bytes_are_counted_as_they_were_passed_in(conf: dict[str, Any], written: bytes, form: Any, schema: Any) -> None:
    datum = {"id": 0, "note": "x" * 997}
    packed = b"\3\5" + UUID_BYTES + zlib.compress(Codec(json.dumps(SCHEMA)).encode(datum))
    rows, batches = (KafkaAvroDeserializer(declared(conf, "glue"), schema) for _ in range(2))
    messages = [packed, written, packed]
    for message in messages:
        rows.deserialize("orders", message)
    batches.deserialize_batch("orders", form(messages))
    assert rows.stats()["bytes"] == batches.stats()["bytes"] == sum(map(len, messages))


def test_compressed_messages_are_unpacked_in_later_batches_too(conf: dict[str, Any], written: bytes) -> None:
    reader = KafkaAvroDeserializer(declared(conf, "glue"))
    packed = b"\3\5" + UUID_BYTES + zlib.compress(BODY)
    for messages in ([written], [written] * 2, [written, packed, None], [packed], pa.array([None, packed]), [written]):
        batch = reader.deserialize_batch("orders", messages)
        expected = messages if isinstance(messages, list) else messages.to_pylist()
        assert batch.to_pylist() == [{"id": None, "note": None} if one is None else ORDER for one in expected]


# Configuration and pickles


@pytest.mark.parametrize("framing", FOREIGN, ids=lambda framing: framing.name)
def test_a_framing_needs_its_registry_and_a_registry_its_framing(conf: dict[str, Any], framing: Any) -> None:
    options = declared(conf, framing.name)
    with pytest.raises(ConfigError, match=rf"framings has {framing.name}, and {framing.option} is missing"):
        KafkaAvroDeserializer({key: value for key, value in options.items() if key != framing.option})
    with pytest.raises(ConfigError, match=rf"{framing.option} has no effect with framings=snip42,headerless"):
        KafkaAvroDeserializer({key: value for key, value in options.items() if key != "framings"})


@pytest.mark.parametrize("framings", [["apicurio-header"], ["glue"], ["azure", "headerless"]])
def test_which_ids_prefixes_hold_is_said_for_framings_with_prefixes_alone(
    conf: dict[str, Any], framings: list[str]
) -> None:
    options = declared(conf, *framings)
    said = rf"apicurio\.registry\.use-id has no effect with framings=snip42,{','.join(framings)}"
    with pytest.raises(ConfigError, match=said) as caught:
        KafkaAvroDeserializer({**options, "apicurio.registry.use-id": "contentId"})
    assert "headers say which ids they hold" in str(caught.value.hint)


def test_the_path_of_apicurios_address_names_the_version(conf: dict[str, Any]) -> None:
    for url in ("http://localhost:1", "http://localhost:1/apis/ccompat/v7", "http://localhost:1/apis/registry"):
        with pytest.raises(ConfigError, match="ends with the version of the API, v2 or v3"):
            KafkaAvroDeserializer(declared(conf, "apicurio") | {"apicurio.registry.url": url})


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_apicurios_references_are_followed(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, version: str
) -> None:
    item = {"type": "record", "name": "Item", "namespace": "o", "fields": [{"name": "n", "type": "int"}]}
    basket = {"type": "record", "name": "Basket", "fields": [{"name": "item", "type": "o.Item"}]}
    refers = {"groupId": "my group", "artifactId": "an/item", "version": "1.0", "name": "o.Item"}
    others.add("/ids/globalIds/7", basket, [refers])
    others.add("/groups/my group/artifacts/an/item/versions/1.0", item)
    others.add("/ids/globalIds/8", basket, [{**refers, "groupId": None, "artifactId": "gone"}])
    options = declared(conf, "apicurio") | {"apicurio.registry.url": f"{others.url}/apis/registry/{version}"}
    reader = KafkaAvroDeserializer(options)
    assert reader.deserialize("orders", b"\0" + (7).to_bytes(8) + b"\4") == {"item": {"n": 2}}
    assert any("/artifacts/an%2Fitem/" in asked.path for asked in others.asked)
    with pytest.raises(SchemaError, match="globalId 8"):
        reader.deserialize("orders", b"\0" + (8).to_bytes(8) + b"\4")


@pytest.mark.parametrize("part", ["groupId", "artifactId", "version"])
def test_a_reference_whose_dots_would_change_the_path_is_a_fault_of_the_schema(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, part: str
) -> None:
    refers = {"groupId": "g", "artifactId": "a", "version": "1", "name": "o.Item", part: ".."}
    others.add("/ids/globalIds/7", SCHEMA, [refers])
    reader = KafkaAvroDeserializer(declared(conf, "apicurio"))
    for _ in range(2):
        with pytest.raises(SchemaError, match="globalId 7: expected a reference to a version of an artifact, got one"):
            reader.deserialize("orders", b"\0" + (7).to_bytes(8) + BODY)
    assert len(others.asked) == 2


def test_references_that_are_missing_do_not_make_the_id_unknown(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn
) -> None:
    others.add("/ids/globalIds/7", SCHEMA)
    del others.references["/ids/globalIds/7"]
    with pytest.raises(SchemaRegistryError, match="cannot read the references of the schema with globalId 7") as caught:
        KafkaAvroDeserializer(declared(conf, "apicurio")).deserialize("orders", b"\0" + (7).to_bytes(8) + BODY)
    assert type(caught.value) is SchemaRegistryError


def test_a_schema_with_a_byte_order_mark_is_read(conf: dict[str, Any], written: bytes, others: ForeignStandIn) -> None:
    others.schemas["/ids/globalIds/7"], others.references["/ids/globalIds/7"] = "\ufeff" + json.dumps(SCHEMA), []
    message = b"\0" + (7).to_bytes(8) + BODY
    assert KafkaAvroDeserializer(declared(conf, "apicurio")).deserialize("orders", message) == ORDER


@pytest.mark.parametrize("limit", ["number", "size"])
def test_references_without_an_end_are_bounded(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    def node(number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        named = {"groupId": None, "artifactId": f"a{number + 1}", "version": "1", "name": f"o.N{number + 1}"}
        fields = [{"name": "next", "type": f"o.N{number + 1}"}]
        return {"type": "record", "name": f"N{number}", "namespace": "o", "fields": fields}, [named]

    others.add("/ids/globalIds/7", *node(0))
    for number in range(1, 50):
        others.add(f"/groups/default/artifacts/a{number}/versions/1", *node(number))
    options = declared(conf, "apicurio")
    if limit == "number":
        monkeypatch.setattr("streamnative_serdes._schema.references._MOST_FETCHED", 10)
    else:
        options["max.schema.size"] = 1_000
    with pytest.raises(SchemaError, match="globalId 7: with the schemas that it refers to, the schema is larger than"):
        KafkaAvroDeserializer(options).deserialize("orders", b"\0" + (7).to_bytes(8) + b"\4")
    assert len(others.asked) < 30


def test_references_of_another_form_are_a_typed_error(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn
) -> None:
    one = {"groupId": 5, "artifactId": "a", "version": "1", "name": "o.Item"}
    others.add("/ids/globalIds/7", SCHEMA, [one])
    with pytest.raises(SchemaRegistryError, match='expected references whose "groupId" is text or null'):
        KafkaAvroDeserializer(declared(conf, "apicurio")).deserialize("orders", b"\0" + (7).to_bytes(8) + BODY)


def test_credentials_of_each_registry_go_to_it_alone(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn
) -> None:
    options = declared(conf, "apicurio", "azure") | {
        "apicurio.basic.auth.user.info": "ada:secret",
        "azure.bearer.auth.token": lambda: "a-token",
    }
    reader = KafkaAvroDeserializer(options)
    for framing in ("apicurio", "azure"):
        reader.deserialize("orders", ONE_OF_EACH[framing][0])
    sent = {asked.headers["Authorization"].partition(" ")[0]: asked.path for asked in others.asked}
    assert "/ids/" in sent["Basic"]
    assert "$schemas" in sent["Bearer"]


def test_a_pickle_carries_the_schemas_that_are_known(
    conf: dict[str, Any], written: bytes, others: ForeignStandIn
) -> None:
    names = [name for name in ALL if name != "apicurio-v3"]
    reader = KafkaAvroDeserializer(declared(conf, *names))
    for name in names:
        assert reader.deserialize("orders", ONE_OF_EACH[name][0], headers=ONE_OF_EACH[name][1]) == ORDER
    data, before = pickle.dumps(reader), len(others.asked)
    ConfluentSchemas.forget()
    copy = pickle.loads(data)
    for name in names:
        assert copy.deserialize("orders", ONE_OF_EACH[name][0], headers=ONE_OF_EACH[name][1]) == ORDER
    assert len(others.asked) == before
    assert policy_of(copy).registries["glue."].client.calls.total() == 0


def test_more_prefixes_than_are_remembered_are_read(conf: dict[str, Any], written: bytes, glue: GlueStandIn) -> None:
    ids = [UUID(int=number) for number in range(1, 400)]
    glue.schemas.update({str(one): json.dumps(SCHEMA) for one in ids})
    reader = KafkaAvroDeserializer(declared(conf, "glue"))
    messages = [b"\3\0" + one.bytes + Codec(json.dumps(SCHEMA)).encode({"id": one.int, "note": ""}) for one in ids]
    expected = [{"id": one.int, "note": ""} for one in ids]
    for _ in range(2):
        assert [reader.deserialize("orders", message) for message in messages] == expected
        assert reader.deserialize_batch("orders", messages * 3).to_pylist() == expected * 3
    assert len(glue.asked) == len(ids)


def test_floods_of_unknown_ids_do_not_make_a_known_one_forgotten(
    conf: dict[str, Any], written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framings, "_MAX_HEADERS", 8)
    options = declared(conf, "apicurio-header", "glue", "headerless") | {"cache.capacity": 1}
    reader = KafkaAvroDeserializer(options)
    for first in range(0, 200, 50):
        assert reader.deserialize("orders", ONE_OF_EACH["glue"][0]) == ORDER
        for number in range(first, first + 50):
            header = [("apicurio.value.globalId", (1000 + number).to_bytes(8))]
            assert reader.deserialize("orders", BODY, headers=header) == ORDER
    signs = policy_of(reader).signs
    assert len(signs._keys) <= 8
    assert len(signs._signs) <= 8 + 8
    key = signs.prefix_key(b"\3\0" + UUID_BYTES)
    for number in range(100):
        signs.prefix_key(b"\3\0" + UUID(int=number).bytes)
    assert str(signs.schema_of(key)) == f"schema version {GLUE_ID}"
    lost = signs.prefix_key(b"\3\0" + bytes(16))
    for number in range(100, 200):
        signs.prefix_key(b"\3\0" + UUID(int=number).bytes)
    with pytest.raises(DecodeError, match="was forgotten"):
        signs.schema_of(lost)


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view(), None], ids=str
)
def test_compressed_messages_are_unpacked_in_arrays_of_each_type(
    conf: dict[str, Any], written: bytes, kind: pa.DataType | None
) -> None:
    order = {"id": 5, "note": "hello hello hello hello"}
    packed = b"\3\5" + UUID_BYTES + zlib.compress(Codec(json.dumps(SCHEMA)).encode(order))
    messages: list[bytes | None] = [packed, written, None]
    if kind is None:  # all of one size
        kind, messages = pa.binary(len(packed)), [packed, None]
    array = pa.array(messages, pa.binary())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):  # text that is not UTF-8
        array = array.view(pa.string()).cast(kind) if kind == pa.large_string() else array.view(kind)
    else:
        array = array.cast(kind)
    expected = [order if one == messages[0] else ORDER if one else {"id": None, "note": None} for one in messages]
    reader = KafkaAvroDeserializer(declared(conf, "glue"))
    for data in (array, pa.chunked_array([array[:1], array[1:]])):
        assert reader.deserialize_batch("orders", data).to_pylist() == expected


def test_damaged_arrays_of_messages_are_errors(conf: dict[str, Any], written: bytes) -> None:
    reader = KafkaAvroDeserializer(declared(conf, "glue"))
    offsets = pa.py_buffer((0).to_bytes(4, "little") + (1 << 30).to_bytes(4, "little") + (40).to_bytes(4, "little"))
    damaged = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(b"\3\5" * 20)])
    with pytest.raises(DecodeError, match="the Arrow data is damaged"):
        reader.deserialize_batch("orders", damaged)
    with pytest.raises((DecodeError, TypeError)):
        reader.deserialize_batch("orders", pa.array([1, 2]))


@pytest.mark.parametrize("headers", [5, [("a",)], [([], b"x")], "text", [b"a"]])
def test_headers_of_another_form_are_a_typed_error(conf: dict[str, Any], written: bytes, headers: Any) -> None:
    reader = KafkaAvroDeserializer(declared(conf, "apicurio-header"))
    with pytest.raises(DecodeError, match=r"expected headers as \(name, value\) pairs or a dict, got"):
        reader.deserialize("orders", written[10:], headers=headers)
