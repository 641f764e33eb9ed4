"""Ids of schemas outside of Pulsar (EXTERNAL, PIP-420): in the entries of two Java clients, and in composed ones."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

from external_schemas import GUID, ID_1, ID_2, NEW, OLD, golden
from kop_entries import _number, _text, sealed

from streamnative_serdes import header
from streamnative_serdes._external_ids import SchemaIds, id_bytes, ids_in
from streamnative_serdes.converters import (
    KafkaEntryReader,
    KafkaToPulsarConverter,
    Message,
    PulsarEntryReader,
    PulsarToKafkaConverter,
    framed,
    schema_id_headers,
    write_record_batch,
)
from streamnative_serdes.converters.entry import read_entry
from streamnative_serdes.errors import ConfigError, DecodeError

CLIENTS = pytest.mark.parametrize("client", [OLD, NEW])
METADATA = _text(1, b"p") + _number(2, 0) + _number(3, 7)


def read(*entries: bytes) -> list[Message]:
    reader = PulsarEntryReader()
    return [message for entry in entries for message in reader.entry(entry)]


def of(client: str, topic: str) -> list[Message]:
    return read(*golden()[client, topic])


def named(value: bytes = b"", key: bytes = b"") -> tuple[tuple[str, bytes], ...]:
    return tuple(pair for pair in (("__key_schema_id", key), ("__value_schema_id", value)) if pair[1])


def parts(messages: list[Message]) -> list[tuple[Any, ...]]:
    return [(message.key, message.value, message.headers) for message in messages]


# What Java has written


@CLIENTS
def test_the_id_in_the_metadata_becomes_confluents_header(client: str) -> None:
    assert parts(of(client, "ids")) == [
        (None, b"\x02", named(ID_1)),
        (None, b"\x04\x06two", named(ID_2)),
        (None, b"\x06", named(GUID)),
        (None, b"\x08", ()),
    ]


@CLIENTS
def test_with_an_id_the_version_of_pulsars_registry_is_not_the_messages(client: str) -> None:
    """It is the version of an entry without a schema, 0 and not the -1 of PIP-420, and so no header goes in front."""
    for entry, message in zip(golden()[client, "ids"], of(client, "ids"), strict=True):
        assert read_entry(memoryview(entry)).metadata.schema_version == bytes(8)
        assert message.schema_version == (None if message.headers else 0)
    assert framed(of(client, "ids")[0]) == b"\x02"


@pytest.mark.parametrize("topic", ["inline", "separated"])
@CLIENTS
def test_each_half_of_a_pair_has_its_id(client: str, topic: str) -> None:
    assert parts(of(client, topic)) == [
        (b"\x02", b"\x04\x06two", named(ID_2, ID_1)),
        (b"\x06", None, named(key=GUID)),
        (None, b"\x02", named(ID_1)),
        (b"\x04\x06two", b"\x08", named(key=ID_2)),
    ]
    assert [message.schema_version for message in of(client, topic)] == [None] * 4


def test_a_null_in_a_batch_with_ids_has_only_that_of_its_key() -> None:
    single = _number(3, 0) + _number(9, 1)
    pair = b"\xfe\0\0\0\x05" + ID_1 + b"\0\0\0\x05" + ID_2
    for field, expected in ((b"\xff" + ID_1, ()), (pair, named(key=ID_1))):
        entry = sealed(METADATA + _number(11, 1) + _text(32, field), len(single).to_bytes(4) + single)
        assert parts(read(entry)) == [(None, None, expected)]


@CLIENTS
def test_a_key_of_another_type_has_no_id(client: str) -> None:
    assert parts(of(client, "string key")) == [(b"k", b"\x02", named(ID_1))]


@pytest.mark.parametrize(("topic", "values"), [("batch", 3), ("compressed", 2)])
@CLIENTS
def test_the_messages_of_a_batch_share_its_id(client: str, topic: str, values: int) -> None:
    assert [message.headers for message in of(client, topic)] == [named(ID_1)] * values


@CLIENTS
def test_a_null_has_no_id(client: str) -> None:
    assert parts(of(client, "null")) == [(None, None, ())]


@CLIENTS
def test_what_java_loses_in_a_batch_is_lost(client: str) -> None:
    """Both clients write the id of a batch's first message, whatever ids the others have; nothing tells that."""
    assert [message.headers for message in of(client, "two ids")] == [named(ID_1)] * 3
    assert parts(of(client, "null first")) == [(None, None, ()), (None, b"\x02", ())]


def test_a_message_in_chunks_has_the_id_of_the_first() -> None:
    entries = golden()[NEW, "chunks"]
    ids = [read_entry(memoryview(entry)).metadata.schema_id for entry in entries]
    assert ids[0] == b"\xff" + ID_2
    for other in ids[1:]:  # 4.2.4 writes bytes of a buffer there that it has given back
        assert len(other) == 6
        assert other != ids[0]
    assert parts(read(*entries)) == [(None, b"\x02\x2e" + b"x" * 23, named(ID_2))]


@CLIENTS
def test_an_id_of_another_registry_is_an_error(client: str) -> None:
    with pytest.raises(DecodeError, match=r"schema id in Pulsar's metadata: .*75 72 6e 3a 37'") as caught:
        of(client, "other")
    assert "only its own library reads them" in str(caught.value.hint)


# Forms of the field, whole and damaged

FORMS = {
    ("4.2", "value"): (b"\xff" + ID_1, SchemaIds(None, ID_1)),
    ("4.2", "guid"): (b"\xff" + GUID, SchemaIds(None, GUID)),
    ("4.2", "pair"): (b"\xfe\0\0\0\x05" + ID_1 + b"\0\0\0\x11" + GUID, SchemaIds(ID_1, GUID)),
    ("4.2", "key"): (b"\xfe\0\0\0\x11" + GUID + bytes(4), SchemaIds(GUID, b"")),
    ("4.2", "value of a pair"): (b"\xfe" + bytes(4) + b"\0\0\0\x05" + ID_1, SchemaIds(b"", ID_1)),
    ("4.1", "value"): (ID_1, SchemaIds(None, ID_1)),
    ("4.1", "guid"): (GUID, SchemaIds(None, GUID)),
    ("4.1", "pair"): (b"\0\0\0\x05" + ID_1 + b"\0\0\0\x05" + ID_2, SchemaIds(ID_1, ID_2)),
    ("4.1", "value of a pair"): (bytes(4) + b"\0\0\0\x05" + ID_1, SchemaIds(b"", ID_1)),
}


@pytest.mark.parametrize(("form", "case"), FORMS.items(), ids=map(" ".join, FORMS))
def test_both_forms_are_read_and_written(form: tuple[str, str], case: tuple[bytes, SchemaIds]) -> None:
    field, ids = case
    assert ids_in(field) == ids
    assert id_bytes(ids, form[0]) == field  # type: ignore[arg-type]
    assert schema_id_headers(field) == list(named(ids.value, ids.key or b""))


@pytest.mark.parametrize("field", [field for field, _ in FORMS.values()])
def test_a_field_that_is_cut_off_or_too_long_is_an_error(field: bytes) -> None:
    for size in range(1, len(field)):
        if size == 5 and field[0] == 0:  # the first five bytes of a pair without a magic byte are an id
            continue
        with pytest.raises(DecodeError, match=f"expected Kafka's form.* got {size} bytes"):
            ids_in(field[:size])
    with pytest.raises(DecodeError, match="expected Kafka's form"):
        ids_in(field + b"\0")


@pytest.mark.parametrize(
    "field",
    [
        b"\xff" + ID_1[:1] + b"\x02" * 3,
        b"\xff\xff" + ID_1,
        b"\xfd" + ID_1,
        b"\xff\x02" + bytes(4),
        b"\xfe" + ID_1,
        b"\xfe" + bytes(8),  # a pair without ids
        b"\xfe\x7f\xff\xff\xff" + ID_1,
        b"\xfe\0\0\0\x01x\0\0\0\x05" + ID_1,
        bytes(6),
    ],
)
def test_another_magic_or_form_is_an_error(field: bytes) -> None:
    with pytest.raises(DecodeError, match="expected Kafka's form"):
        ids_in(field)


def test_a_message_without_the_field_has_no_headers() -> None:
    assert schema_id_headers(b"") == []


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_metadata_may_be_any_bytes(kind: Any) -> None:
    assert schema_id_headers(kind(b"\0\0\0\0\1")) == [("__value_schema_id", b"\0\0\0\0\1")]
    assert schema_id_headers(kind(b"")) == schema_id_headers(None) == []


@pytest.mark.parametrize("other", ["text", 5, [1], True])
def test_metadata_of_another_type_is_a_typed_error(other: Any) -> None:
    with pytest.raises(DecodeError, match=f"expected bytes, got {type(other).__name__}"):
        schema_id_headers(other)


@pytest.mark.parametrize(("client", "topic"), [(OLD, "ids"), (NEW, "inline"), (NEW, "separated"), (NEW, "batch")])
def test_an_entry_that_is_cut_off_anywhere_is_an_error(client: str, topic: str) -> None:
    entry = golden()[client, topic][0]
    for size in range(len(entry)):
        with pytest.raises(DecodeError):
            read(entry[:size])


def test_metadata_that_are_cut_off_behind_a_right_checksum_are_an_error() -> None:
    metadata = METADATA + _text(32, b"\xfe\0\0\0\x05" + ID_1 + b"\0\0\0\x05" + ID_2)
    for size in range(len(METADATA) + 1, len(metadata)):
        with pytest.raises(DecodeError):
            read(sealed(metadata[:size], b"\x02"))


@pytest.mark.parametrize("payload", [b"", b"\0\0\0\x01", b"\0\0\0\x01k\xff\xff\xff\xfe", b"\0\0\0\x01k\0\0\0\0v"])
def test_a_damaged_pair_is_an_error(payload: bytes) -> None:
    with pytest.raises(DecodeError, match="KeyValue: expected "):
        read(sealed(METADATA + _text(32, b"\xfe" + bytes(4) + b"\0\0\0\x05" + ID_1), payload))


def test_a_version_of_minus_one_beside_an_id_is_ignored() -> None:
    (message,) = read(sealed(METADATA + _text(16, b"\xff" * 8) + _text(32, ID_1), b"\x02"))
    assert (message.schema_version, message.headers) == (None, named(ID_1))


def test_the_id_in_the_metadata_comes_before_a_property_of_its_name() -> None:
    own = _text(4, _text(1, b"__value_schema_id") + _text(2, b"\0\0\0\0\x09"))
    (message,) = read(sealed(METADATA + own + _text(32, ID_1), b"\x02"))
    assert message.headers == (*named(ID_1), ("__value_schema_id", b"\0\0\0\0\x09"))


# To Kafka's format and back


def to_kafka(entry: bytes) -> list[Message]:
    return list(KafkaEntryReader().batches(PulsarToKafkaConverter().convert(memoryview(entry))))


def kafka_entry(*messages: Message) -> bytes:
    metadata = METADATA + _text(4, _text(1, b"entry.format") + _text(2, b"kafka")) + _number(11, len(messages))
    return len(metadata).to_bytes(4) + metadata + write_record_batch(messages)


def back(*messages: Message, **options: Any) -> list[bytes]:
    return list(KafkaToPulsarConverter(**options).entries(kafka_entry(*messages)))


@CLIENTS
def test_kafkas_clients_get_the_id_as_their_own_header(client: str) -> None:
    (message,) = to_kafka(golden()[client, "inline"][0])
    assert parts([message]) == [(b"\x02", b"\x04\x06two", named(ID_2, ID_1))]


@pytest.mark.parametrize(("form", "client"), [("4.1", OLD), ("4.2", NEW)])
@pytest.mark.parametrize("topic", ["batch", "separated"])
def test_a_composed_entry_has_the_id_as_the_client_writes_it(form: str, client: str, topic: str) -> None:
    first = golden()[client, topic][0]
    (composed,) = back(*to_kafka(first), external_ids=form)
    theirs, ours = (read_entry(memoryview(entry)).metadata for entry in (first, composed))
    assert ours.schema_id == theirs.schema_id
    assert parts(read(composed)) == parts(read(first))


def test_the_default_leaves_the_header_a_property() -> None:
    (composed,) = back(Message(b"\x02", headers=named(ID_1)))
    assert read_entry(memoryview(composed)).metadata.schema_id == b""
    assert read(composed)[0].headers == named(ID_1)


def test_each_id_begins_a_new_batch() -> None:
    """Java's clients write them in one batch, with the first id."""
    one, two = Message(b"\x02", headers=named(ID_1)), Message(b"\x04\x06two", headers=named(ID_2))
    bare, null = Message(b"\x08"), Message(None)
    entries = back(null, one, one, two, bare, one, external_ids="4.2")
    fields = [read_entry(memoryview(entry)).metadata.schema_id for entry in entries]
    assert fields == [b"", b"\xff" + ID_1, b"\xff" + ID_2, b"", b"\xff" + ID_1]
    assert parts(read(*entries)) == parts([null, one, one, two, bare, one])


def test_a_null_keeps_the_header_of_a_value_and_has_the_id_of_its_key() -> None:
    null = Message(None, key=b"\x02", headers=named(ID_2, ID_1))
    (composed,) = back(null, external_ids="4.2")
    assert read_entry(memoryview(composed)).metadata.schema_id == b"\xfe\0\0\0\x05" + ID_1 + bytes(4)
    assert parts(read(composed)) == parts([null])


def test_a_null_key_of_a_pair_stays_null() -> None:
    message = Message(b"\x02", headers=named(ID_2, ID_1))
    (composed,) = back(message, external_ids="4.2")
    assert parts(read(composed)) == parts([message])


def test_other_headers_stay_properties_and_a_header_of_another_form_too() -> None:
    headers = (("a", b"1"), ("__value_schema_id", b"?"), *named(ID_1), *named(ID_2))
    (composed,) = back(Message(b"\x02", headers=headers), external_ids="4.2")
    assert read(composed)[0].headers == (*named(ID_1), ("a", b"1"), ("__value_schema_id", b"?"), *named(ID_2))


@pytest.mark.parametrize("headers", [named(ID_1), named(ID_2, ID_1), named(key=ID_1)])
def test_beside_an_id_the_value_keeps_what_looks_like_a_version(headers: Any) -> None:
    """Readers ignore the version of such a message, so it would be lost from the metadata."""
    messages = [Message(header.pack(version) + b"\x02", key=b"k", headers=headers) for version in (3, 4)]
    (composed,) = back(*messages, external_ids="4.2")
    assert read_entry(memoryview(composed)).metadata.schema_version == b""
    assert parts(read(composed)) == parts(messages)


def test_another_form_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"external_ids: expected '4.2', '4.1' or None, got '4.0'"):
        KafkaToPulsarConverter(external_ids="4.0")  # type: ignore[arg-type]
