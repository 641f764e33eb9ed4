"""The copy of one message: its framing, and the rules for keys, headers and times."""

from __future__ import annotations

import pickle
from typing import Any
from uuid import UUID

import pytest
from confluent_stand_in import ConfluentStandIn
from consumed import Message

from streamnative_serdes import header
from streamnative_serdes._rewriting import (
    KEY_HEADER,
    VALUE_HEADER,
    BadMessageError,
    Rewriter,
    UnmappedSchemaError,
    bare_key,
    name_in_header,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, SchemaNotFoundError
from streamnative_serdes.migration.copying.messages import (
    PLACE,
    HeaderLossError,
    MessageCopier,
    Rules,
    mark_of,
    with_place,
)
from streamnative_serdes.migration.route import Route, Side
from streamnative_serdes.migration.schemas.canonical import SideSchemas, schemas_of
from streamnative_serdes.migration.verifying.contents import SourceContents

GUID = UUID("89791762-2336-186f-9674-180ca802d4d1")
LARGEST = 2**31 - 1
FORWARD = Rewriter("forward", {0: 3, 7: 0, LARGEST: 2**63 - 1, str(GUID): 9})
BACK = Rewriter("back", {3: 0, 0: 7, 2**63 - 1: LARGEST})
IDS = [(0, 3), (7, 0), (LARGEST, 2**63 - 1)]
RAW = ("h", b"\xff")


def fetch(name: Any) -> tuple[str, str]:
    """A registry that has schemas 7 and 8, both an int."""
    if name not in (7, 8):
        raise SchemaNotFoundError(f"no schema {name}")
    return "AVRO", '"int"'


def copied(message: Message, **rules: Any) -> Any:
    copier = MessageCopier(FORWARD, SideSchemas(fetch), Rules(**rules))
    return copier.copy(message)


@pytest.mark.parametrize(("name", "version"), IDS)
@pytest.mark.parametrize("datum", [b"", b"\0", b"datum"])
def test_only_the_prefix_changes_and_the_way_back_gives_the_same_bytes(name: int, version: int, datum: bytes) -> None:
    value, headers = header.pack_id(name) + datum, [("a", None), ("a", b"2")]
    forward = FORWARD.rewrite(value, headers)
    assert forward == (header.pack(version) + datum, headers)
    assert BACK.rewrite(*forward) == (value, headers)


@pytest.mark.parametrize("datum", [b"", b"\0", b"\x04hi", bytes(64), b"x" * 300])
def test_bytes_at_the_root_get_their_length_and_lose_it_on_the_way_back(datum: bytes) -> None:
    """Confluent's serializers leave it out; Avro, and so Pulsar's clients, need it."""
    forward = Rewriter("forward", {7: 3, 8: 4, str(GUID): 3}, {7, str(GUID)})
    back = Rewriter("back", {3: 7, 4: 8}, {3})
    value, sized = header.pack_id(7) + datum, header.pack(3) + Codec("bytes").encode(datum)
    assert forward.rewrite(value, None) == (sized, None)
    assert back.rewrite(sized, None) == (value, None)
    assert forward.rewrite(datum, [(VALUE_HEADER, b"\1" + GUID.bytes)]) == (sized, None)
    assert forward.rewrite(datum, [(VALUE_HEADER, header.pack_id(7))]) == (sized, None)
    other = header.pack_id(8) + datum
    assert forward.rewrite(other, None) == (header.pack(4) + datum, None)
    for rewriter in (pickle.loads(pickle.dumps(forward)), forward):
        copier = MessageCopier(rewriter, SideSchemas(fetch), Rules())
        assert copier.copy(Message(value))[0] == sized
        assert copier.copy(Message(other))[0] == header.pack(4) + datum
    copier = MessageCopier(back, SideSchemas(fetch), Rules())
    assert copier.copy(Message(sized))[0] == value


@pytest.mark.parametrize("datum", [b"", b"\x04h", b"\x04hi!", b"\x03", b"\xff"])
def test_back_bytes_of_another_length_than_they_say_are_bad(datum: bytes) -> None:
    with pytest.raises(BadMessageError, match="the value cannot be decoded by schema 3: "):
        Rewriter("back", {3: 7}, {3}).rewrite(header.pack(3) + datum, None)


@pytest.mark.parametrize(
    ("rewriter", "value"),
    [
        *((FORWARD, value) for value in (b"", b"\0", b"\0\0\0\0", b"\1\0\0\0\7x", b"{}")),
        *((BACK, value) for value in (b"", header.pack(3)[:9], b"\0\0\0\0\7x", header.pack_id(7))),
    ],
)
def test_a_value_without_the_five_or_ten_bytes_of_its_framing_is_bad(rewriter: Rewriter, value: bytes) -> None:
    with pytest.raises(BadMessageError, match=f"got {len(value)} bytes"):
        rewriter.name_of(value, None)


def test_what_a_message_calls_its_schema_and_where_the_datum_begins() -> None:
    assert FORWARD.name_of(b"\0\0\0\0\7", None) == (7, 5)
    assert FORWARD.name_of(b"\0\xff\xff\xff\xff", None) == (-1, 5)
    assert FORWARD.name_of(b"", [(VALUE_HEADER, b"\0\0\0\0\7")]) == (7, 0)
    assert FORWARD.name_of(b"\0\0\0\0\7", [(VALUE_HEADER, None)]) == (7, 5)
    assert BACK.name_of(header.pack(3), [(VALUE_HEADER, b"\0\0\0\0\7")]) == (3, 10)


def test_a_header_takes_precedence_over_the_prefix_and_the_first_header_over_the_second() -> None:
    headers = [("a", b"1"), (VALUE_HEADER, b"\1" + GUID.bytes), (VALUE_HEADER, b"\0\0\0\0\7"), ("b", None)]
    framed = header.pack_id(7) + b"x"
    assert FORWARD.rewrite(framed, headers) == (header.pack(9) + framed, [("a", b"1"), ("b", None)])


@pytest.mark.parametrize("name", [0, LARGEST])
def test_an_id_in_a_header_is_like_one_in_the_prefix(name: int) -> None:
    rewritten = FORWARD.rewrite(b"datum", [(VALUE_HEADER, header.pack_id(name))])
    assert rewritten == (header.pack(dict(IDS)[name]) + b"datum", None)


def test_a_schema_that_was_copied_meanwhile_is_known_from_the_first_message_with_it_on() -> None:
    newer = Rewriter("forward", {7: 0, 8: 5})
    asked: list[Any] = []

    def renewed(name: Any) -> Rewriter | None:
        asked.append(name)
        return newer if len(asked) > 1 else None

    copier = MessageCopier(FORWARD, SideSchemas(fetch), Rules(), renewed)
    framed = Message(header.pack_id(8) + b"\2", None, timestamp=(1, 5))
    with pytest.raises(UnmappedSchemaError):
        copier.copy(framed)
    for _ in range(2):
        assert copier.copy(framed)[0] == header.pack(5) + b"\2"
    assert asked == [8, 8]


@pytest.mark.parametrize("name", [1, -1, -(2**31)])
def test_an_id_that_is_not_in_the_mapping_is_unmapped(name: int) -> None:
    framed = b"\0" + name.to_bytes(4, signed=True)
    for value, headers in ((framed, None), (b"x", [(VALUE_HEADER, framed)])):
        with pytest.raises(UnmappedSchemaError) as caught:
            FORWARD.rewrite(value, headers)
        assert caught.value.name == name


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\7",
        b"\0\0\0\0\0\7",
        b"\1" + GUID.bytes[1:],
        b"\1" + GUID.bytes + b"x",
        b"\0" + GUID.bytes,
        b"\1\0\0\0\7",
        b"\2" + GUID.bytes,
    ],
)
def test_a_header_of_another_length_or_kind_is_bad(data: bytes) -> None:
    with pytest.raises(BadMessageError, match="expected a schema id or GUID"):
        name_in_header(data)


def test_a_header_names_an_id_or_a_guid() -> None:
    assert name_in_header(b"\0\xff\xff\xff\xff") == -1
    assert name_in_header(b"\1" + GUID.bytes) == str(GUID)


def test_a_bare_key_has_no_prefix_and_no_header() -> None:
    asked: list[Any] = []

    def bare(key: bytes | None, headers: Any, *, is_bytes: bool = False) -> Any:
        return bare_key(key, headers, lambda name: [asked.append(name), is_bytes][1])  # type: ignore[func-returns-value]

    assert bare(None, [(KEY_HEADER, b"?")]) == (None, [(KEY_HEADER, b"?")])
    assert bare(b"\0\0\0\0\7", None) == (b"", None)
    assert bare(b"\0\0\0\0\7x", [("a", b"")]) == (b"x", [("a", b"")])
    assert bare(b"\0\0\0\0\7x", [(KEY_HEADER, b"\0\0\0\0\1")]) == (b"\0\0\0\0\7x", None)
    assert bare(b"x", [(KEY_HEADER, b"\1" + GUID.bytes)], is_bytes=True) == (b"\2x", None)
    assert bare(b"\0\0\0\0\7", None, is_bytes=True) == (b"\0", None)
    assert asked == [7, 7, 1, str(GUID), 7]
    for key in (b"", b"\0\0\0\0", b"\1\0\0\0\7x"):
        with pytest.raises(BadMessageError):
            bare(key, None)
    with pytest.raises(BadMessageError, match=KEY_HEADER):
        bare(b"\0\0\0\0\7x", [(KEY_HEADER, b"?")])


def test_what_keys_name_is_asked_for_once() -> None:
    with ConfluentStandIn() as registry:
        assert registry.register("keys", '"long"') == 1
        assert registry.register("keys", '"bytes"') == 2
        assert registry.register("keys", '{"type": "object"}', "JSON") == 3
        side = Side({}, {"schema.registry.url": registry.url})
        with schemas_of(Route("forward", "a", "b", side, side), reading=True) as schemas:
            for _ in range(2):
                assert [schemas.is_bytes(number) for number in (1, 2, 3)] == [False, True, False]
                with pytest.raises(BadMessageError, match="the registry has no schema 4, which the key names"):
                    schemas.is_bytes(4)
        assert max(registry.calls.values()) == 1


def test_a_message_whose_guid_is_unknown_to_a_registry_without_guids_is_bad() -> None:
    """``guids`` is a problem that can be accepted: such messages become dead letters."""
    guid = UUID(int=1)
    message = Message(b"\x02", None, [(VALUE_HEADER, b"\1" + guid.bytes)])
    with ConfluentStandIn(guids=False) as registry:
        side = Side({}, {"schema.registry.url": registry.url})
        with schemas_of(Route("forward", "a", "b", side, side), reading=True) as schemas:
            with pytest.raises(BadMessageError, match=f"the source's registry has no schema {guid}"):
                MessageCopier(FORWARD, schemas, Rules()).copy(message)
            with pytest.raises(BadMessageError, match=f"the registry does not have schema {guid}"):
                SourceContents("forward", frozenset(), schemas, Rules()).of(message)


def test_keys_are_not_stripped_on_the_way_back() -> None:
    with pytest.raises(ConfigError, match="--keys strip is for the way from Confluent's framing"):
        MessageCopier(BACK, SideSchemas(fetch), Rules(keys="strip"))
    with pytest.raises(ConfigError, match="--keys strip is for the way from Confluent's framing"):
        SourceContents("back", frozenset(), SideSchemas(fetch), Rules(keys="strip"))


def test_a_copy_has_the_key_headers_and_time_of_its_message() -> None:
    message = Message(header.pack_id(7) + b"\2", b"\0\0\0\0\7k", [("a", None), RAW])
    assert copied(message) == (header.pack(0) + b"\2", b"\0\0\0\0\7k", [("a", None), RAW], 1_000)


def test_a_tombstone_stays_one_and_its_headers_too() -> None:
    assert copied(Message(None, None, [("a", b"")])) == (None, None, [("a", b"")], 1_000)


def test_stripping_and_checking_and_dropping_of_places_at_once() -> None:
    headers = [(PLACE, b"0:1"), (KEY_HEADER, b"\0\0\0\0\7"), (VALUE_HEADER, b"\0\0\0\0\7"), (PLACE, b"0:2")]
    message = Message(b"\2", b"k", headers)
    assert copied(message, keys="strip", check=True) == (header.pack(0) + b"\2", b"k", None, 1_000)
    with pytest.raises(BadMessageError, match="expected Confluent's framing in the key"):
        copied(Message(b"\0\0\0\0\7\2", b"k"), keys="strip", check=True)


@pytest.mark.parametrize("datum", [b"", b"\2\2", b"\xff\xff\xff\xff\xff\xff"])
def test_only_a_check_finds_a_value_that_cannot_be_decoded(datum: bytes) -> None:
    message = Message(header.pack_id(7) + datum)
    assert copied(message)[0] == header.pack(0) + datum
    with pytest.raises(BadMessageError, match="cannot be decoded by schema 7"):
        copied(message, check=True)


def test_an_unknown_id_is_bad_and_a_known_one_that_was_not_copied_stops() -> None:
    with pytest.raises(BadMessageError, match="registry has no schema 5"):
        copied(Message(header.pack_id(5)))
    with pytest.raises(UnmappedSchemaError) as caught:
        copied(Message(header.pack_id(8)))
    assert caught.value.name == 8


@pytest.mark.parametrize(
    ("rule", "said", "kept"),
    [
        ("null_headers", "'a' is null", [("a", b""), ("b", b"text"), RAW, ("b", b"")]),
        ("raw_headers", "'h' is not UTF-8", [("a", None), ("b", b"text"), RAW, ("b", None)]),
    ],
)
def test_headers_are_lost_only_with_leave(rule: str, said: str, kept: Any) -> None:
    message = Message(header.pack_id(7), headers=[("a", None), ("b", b"text"), RAW, ("b", None)])
    with pytest.raises(HeaderLossError, match=said):
        copied(message, **{rule: False})
    assert copied(message, allow_header_loss=True, **{rule: False})[2] == kept


def test_a_header_that_the_copy_does_not_have_is_not_lost() -> None:
    named = (VALUE_HEADER, b"\1" + GUID.bytes)  # not UTF-8
    assert copied(Message(b"x", headers=[named, ("a", b"1")]), raw_headers=False)[2] == [("a", b"1")]
    with pytest.raises(HeaderLossError):
        copied(Message(None, headers=[named]), raw_headers=False)


@pytest.mark.parametrize("null_headers", [False, True])
@pytest.mark.parametrize("raw_headers", [False, True])
def test_rules_say_whether_the_broker_keeps_headers(null_headers: bool, raw_headers: bool) -> None:
    rules = Rules(null_headers=null_headers, raw_headers=raw_headers)
    assert rules.keeps(None)
    assert rules.keeps([("a", b""), ("b", b"text")])
    assert rules.keeps([("a", b""), ("b", None)]) == null_headers
    assert rules.keeps([("a", b""), RAW]) == raw_headers


@pytest.mark.parametrize("moment", [0, -1])
def test_a_message_without_a_time_is_copied_only_with_leave(moment: int) -> None:
    message = Message(header.pack_id(7), timestamp=(1, moment))
    with pytest.raises(BadMessageError, match=f"got {moment} ms"):
        copied(message)
    assert copied(message, allow_time_loss=True)[3] == 0
    assert copied(Message(None, timestamp=(1, 1)))[3] == 1


def test_a_place_stands_behind_the_other_headers() -> None:
    assert with_place((b"v", None, None, 5), 0, 0, "mark") == (b"v", None, [(PLACE, b"0:0:mark")], 5)
    placed = with_place((b"v", b"k", [("a", None)], 5), 2, 17, "mark")
    assert placed == (b"v", b"k", [("a", None), (PLACE, b"2:17:mark")], 5)
    assert (len(mark_of("orders@A")), mark_of("orders@A") == mark_of("orders@B")) == (4, False)
