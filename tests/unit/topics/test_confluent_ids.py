"""ConfluentSchemas: ids, GUIDs and registrations are asked for once, kept bounded, and travel in a pickle."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_stand_in import ConfluentStandIn, conf_of, refusal
from schemas import record
from scripted_registry import Answer
from waiting import exit_code, join, together, until

from streamnative_serdes import errors
from streamnative_serdes._schema import parse
from streamnative_serdes._topics import cache, confluent_ids
from streamnative_serdes._topics.confluent_ids import NO_ID, ConfluentSchemas

USER = record("User", ("name", "string"))
MONEY = record("Money", ("cents", "long"), namespace="shop")
SALE = record("Sale", ("price", "shop.Money"), namespace="shop")
OF_MONEY = {"name": "shop.Money", "subject": "money", "version": 1}
UNKNOWN = bytes(16)


@pytest.fixture
def registry() -> Iterator[ConfluentStandIn]:
    ConfluentSchemas.forget()
    with ConfluentStandIn() as registry:
        yield registry
    ConfluentSchemas.forget()


@pytest.fixture
def schemas(registry: ConfluentStandIn) -> ConfluentSchemas:
    return ConfluentSchemas.shared(conf_of(registry.url))


def many(registry: ConfluentStandIn, count: int) -> list[int]:
    return [registry.register("s", record(f"R{number}")) for number in range(count)]


# Reading


def test_an_id_is_asked_for_once_and_is_the_version(schemas: ConfluentSchemas, registry: ConfluentStandIn) -> None:
    id = registry.register("s", USER)
    known = schemas.by_id(id)
    assert schemas.by_id(id) is known
    assert (known.version, json.loads(known.schema.text)) == (id, USER)
    assert known.compiled.codec({}).decode(b"\x06bob") == {"name": "bob"}
    assert registry.calls == {f"GET /schemas/ids/{id}": 1}
    assert schemas.client.calls == {"GET": 1}


def test_a_schema_that_is_the_path_of_a_file_opens_no_file(
    schemas: ConfluentSchemas, registry: ConfluentStandIn, tmp_path: Path
) -> None:
    file = tmp_path / "local.avsc"
    file.write_text(json.dumps(USER))
    registry.register("s", USER)
    registry.faults = [Answer(body={"schema": str(file)})]
    with pytest.raises(errors.SchemaError, match="schema id 1: the schema is not JSON"):
        schemas.by_id(1)


def test_a_guid_is_asked_for_once_and_shares_what_is_compiled(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    id = registry.register("s", USER)
    known = schemas.by_guid(registry.guid(id))
    assert schemas.by_guid(registry.guid(id)) is known
    assert known.version == NO_ID
    assert known.compiled is schemas.by_id(id).compiled
    assert len(registry.asked) == 2


def test_a_schema_with_references_is_read_as_one(schemas: ConfluentSchemas, registry: ConfluentStandIn) -> None:
    registry.register("money", MONEY)
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    for _ in range(2):
        assert schemas.by_id(id).compiled.codec({}).decode(b"\x04") == {"price": {"cents": 2}}
    assert registry.calls == {f"GET /schemas/ids/{id}": 1, "GET /subjects/money/versions/1?deleted=true": 1}


def test_a_schema_that_refers_to_a_deleted_version_is_read(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    registry.register("money", MONEY)
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    registry.deleted = {("money", 1)}
    assert schemas.by_id(id).compiled.codec({}).decode(b"\x04") == {"price": {"cents": 2}}
    with pytest.raises(errors.SchemaNotFoundError):
        schemas.client.version("money", 1)


@pytest.mark.parametrize("subject", ["..", "\ud800"])
def test_a_reference_to_no_subject_is_a_fault_of_the_schema(
    schemas: ConfluentSchemas, registry: ConfluentStandIn, subject: str
) -> None:
    id = registry.register("sale", SALE, references=({**OF_MONEY, "subject": subject},))
    for _ in range(2):
        with pytest.raises(errors.SchemaError, match=f"schema id {id}: expected a reference to a subject"):
            schemas.by_id(id)
    assert len(registry.asked) == 1


def test_threads_that_ask_for_the_same_id_wait_for_one_answer(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    id = registry.register("s", USER)
    found = together(8, lambda _: schemas.by_id(id))
    assert all(one is found[0] for one in found)
    assert len(registry.asked) == 1


# What the registry does not have, or refuses


def test_an_unknown_id_is_asked_for_again_only_after_its_time(
    registry: ConfluentStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas = ConfluentSchemas(conf_of(registry.url, **{"cache.missing.ttl.sec": 60}))
    now = time.monotonic()
    for ask in (lambda: schemas.by_id(1), lambda: schemas.by_guid(UNKNOWN)):
        for _ in range(3):
            with pytest.raises(errors.SchemaNotFoundError) as caught:
                ask()
            assert (caught.value.status, caught.value.error_code) == (404, 40403)
    assert len(registry.asked) == 2
    assert 59 < schemas.missing_seconds(1) <= 60
    assert schemas.missing_seconds(2) == 0

    registry.register("s", USER)
    monkeypatch.setattr(confluent_ids.time, "monotonic", lambda: now + 61)
    assert schemas.missing_seconds(1) == 0
    assert schemas.by_id(1).version == 1
    assert len(registry.asked) == 3


def test_unknown_ids_are_bounded_and_evict_no_known_one(
    registry: ConfluentStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a topic of messages without a header that begin with a zero byte."""
    monkeypatch.setattr(confluent_ids, "_MOST_MISSING", 3)
    schemas = ConfluentSchemas(conf_of(registry.url, **{"cache.capacity": 1}))
    registry.register("s", USER)
    schemas.by_id(1)
    for id in (*range(2, 12), 11, 10, 9, 1):
        try:
            schemas.by_id(id)
        except errors.SchemaNotFoundError:
            assert id != 1
    assert registry.calls == {f"GET /schemas/ids/{id}": 1 for id in range(1, 12)}
    with pytest.raises(errors.SchemaNotFoundError):
        schemas.by_id(2)
    assert registry.calls["GET /schemas/ids/2"] == 2


def test_the_schema_whose_use_is_longest_ago_is_dropped(registry: ConfluentStandIn) -> None:
    schemas = ConfluentSchemas(conf_of(registry.url, **{"cache.capacity": 2}))
    first, second, third = many(registry, 3)
    for id in (first, second, first, third, first):
        schemas.by_id(id)
    assert max(registry.calls.values()) == 1
    schemas.by_id(second)
    assert registry.calls[f"GET /schemas/ids/{second}"] == 2


@pytest.mark.parametrize(
    ("schema", "kind", "words"),
    [
        ("{}", "JSON", "schema id 1: expected a schema of type AVRO, got type JSON"),
        ('syntax = "proto3";', "PROTOBUF", "schema id 1: expected a schema of type AVRO, got type PROTOBUF"),
        ('{"type": "record"}', "AVRO", "schema id 1: "),
    ],
)
def test_a_schema_that_is_not_avro_is_refused_by_name_and_asked_for_once(
    schemas: ConfluentSchemas, registry: ConfluentStandIn, schema: str, kind: str, words: str
) -> None:
    registry.register("s", schema, kind)
    for _ in range(3):
        with pytest.raises(errors.SchemaError, match=words) as caught:
            schemas.by_id(1)
        assert not isinstance(caught.value, errors.SchemaRegistryError)
    assert len(registry.asked) == 1


def test_a_reference_that_leads_nowhere_does_not_make_the_id_an_unknown_one(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    """The policy takes a message of an unknown id for one without a header."""
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    for _ in range(2):
        with pytest.raises(errors.SchemaError, match="schema id 1: cannot read version 1 of subject 'money'"):
            schemas.by_id(id)
    assert schemas.missing_seconds(id) == 0
    assert len(registry.asked) == 2


def test_a_schema_beyond_the_limits_is_refused(registry: ConfluentStandIn) -> None:
    registry.register("s", USER)
    schemas = ConfluentSchemas(conf_of(registry.url, **{"max.schema.size": len(json.dumps(USER)) - 1}))
    with pytest.raises(errors.SchemaError, match=r"schema id 1: .*82 characters, the limit is 81"):
        schemas.by_id(1)


def test_a_registry_without_guids_is_asked_about_them_once() -> None:
    with ConfluentStandIn(guids=False) as registry:
        schemas = ConfluentSchemas(conf_of(registry.url))
        registry.register("s", USER)
        for guid in (UNKNOWN, bytes(15) + b"\1", UNKNOWN):
            with pytest.raises(errors.MissingEndpointError, match="does not support GUIDs"):
                schemas.by_guid(guid)
        assert schemas.by_id(1).version == 1  # its ids are not concerned
    assert len(registry.asked) == 2


def test_an_answer_of_a_proxy_about_one_id_says_nothing_about_others(registry: ConfluentStandIn) -> None:
    registry.register("s", USER)
    schemas = ConfluentSchemas(conf_of(registry.url))
    registry.faults = [Answer(404, b"<html>Not Found</html>")]
    for _ in range(2):
        with pytest.raises(errors.MissingEndpointError, match="id 7"):
            schemas.by_id(7)
    assert schemas.by_id(1).version == 1
    assert len(registry.asked) == 2


def test_a_registry_that_fails_is_asked_again_for_the_next_message(
    registry: ConfluentStandIn,
) -> None:
    registry.register("s", USER)
    schemas = ConfluentSchemas(conf_of(registry.url))
    for fault, kind in ((refusal(40301, "no"), errors.AuthorizationError), (Answer(501), errors.SchemaRegistryError)):
        registry.faults = [fault]
        with pytest.raises(kind):
            schemas.by_id(1)
    assert schemas.by_id(1).version == 1


@pytest.mark.parametrize("guid", [b"", bytes(15), bytes(17)])
def test_a_malformed_guid_causes_no_request(schemas: ConfluentSchemas, registry: ConfluentStandIn, guid: bytes) -> None:
    for _ in range(2):
        with pytest.raises(errors.SchemaNotFoundError, match="expected a GUID of 16 bytes"):
            schemas.by_guid(guid)
    assert registry.asked == []


def test_rules_that_are_not_applied_are_warned_about_once(
    schemas: ConfluentSchemas, registry: ConfluentStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    id = registry.register("s", USER, ruleSet={"domainRules": [{"name": "encrypt"}]})
    for _ in range(2):
        schemas.by_id(id)
    told = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert told == [f"schema id {id} has rules, such as for field encryption, which are not applied"]


# Writing


def test_a_schema_is_registered_once_for_each_subject(schemas: ConfluentSchemas, registry: ConfluentStandIn) -> None:
    schema = parse(USER)
    assert [schemas.writing(subject, schema, register=True) for subject in ("a", "b", "a", "b")] == [1] * 4
    assert registry.calls == {"POST /subjects/a/versions": 1, "POST /subjects/b/versions": 1}
    assert schemas.writing("a", schema, register=False) == 1  # known, so not looked up
    assert len(registry.asked) == 2


def test_without_registering_a_schema_is_looked_up_once(schemas: ConfluentSchemas, registry: ConfluentStandIn) -> None:
    schema = parse(USER)
    id = registry.register("a", schema.text)
    assert [schemas.writing("a", schema, register=False) for _ in range(2)] == [id] * 2
    assert registry.calls == {"POST /subjects/a": 1}


def test_threads_that_write_by_the_same_schema_register_it_once(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    schema = parse(USER)
    assert together(8, lambda _: schemas.writing("a", schema, register=True)) == [1] * 8
    assert len(registry.asked) == 1


def test_a_refusal_to_write_is_repeated_for_a_moment(schemas: ConfluentSchemas, registry: ConfluentStandIn) -> None:
    schema = parse(USER)
    registry.incompatible.add(schema.text)
    for ask, kind in (
        (lambda: schemas.writing("a", schema, register=True), errors.IncompatibleSchemaError),
        (lambda: schemas.writing("a", schema, register=False), errors.SchemaNotFoundError),
    ):
        for _ in range(3):
            with pytest.raises(kind):
                ask()
    assert registry.calls == {"POST /subjects/a/versions": 1, "POST /subjects/a": 1}


def test_an_id_that_was_unknown_is_known_once_it_is_registered(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    with pytest.raises(errors.SchemaNotFoundError):
        schemas.by_id(1)
    assert schemas.writing("a", parse(USER), register=True) == 1
    assert schemas.by_id(1).version == 1


# In this process, and in others


def test_one_process_shares_what_it_knows_by_the_registrys_options(registry: ConfluentStandIn) -> None:
    first = ConfluentSchemas.shared(conf_of(registry.url))
    assert ConfluentSchemas.shared(conf_of(registry.url, **{"bearer.auth.token": "of-pulsar"})) is first
    assert ConfluentSchemas.shared(conf_of(registry.url, **{"confluent.bearer.auth.token": "x"})) is not first
    assert ConfluentSchemas.shared(conf_of(registry.url, **{"cache.capacity": 7})) is not first
    ConfluentSchemas.forget()
    assert ConfluentSchemas.shared(conf_of(registry.url)) is not first


def test_a_process_keeps_so_many_registries(registry: ConfluentStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST", 2)
    confs = [conf_of(registry.url, **{"cache.capacity": number}) for number in (1, 2, 3)]
    first, second, third = map(ConfluentSchemas.shared, confs)
    assert ConfluentSchemas.shared(confs[1]) is second
    assert ConfluentSchemas.shared(confs[2]) is third
    assert ConfluentSchemas.shared(confs[0]) is not first


def test_what_was_learnt_needs_no_request_in_another_process(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    registry.register("money", MONEY)
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    guid, schema = registry.guid(1), parse(USER)
    for ask in (lambda: schemas.by_id(id), lambda: schemas.by_guid(guid)):
        ask()
    written = schemas.writing("users", schema, register=True)
    learnt = pickle.loads(pickle.dumps(schemas.learnt()))
    before = len(registry.asked)

    other = ConfluentSchemas(conf_of(registry.url))
    other.learn(learnt)
    assert (other.by_id(id).version, other.by_guid(guid).version) == (id, NO_ID)
    assert other.by_id(id).schema.text == schemas.by_id(id).schema.text
    assert other.writing("users", schema, register=True) == written
    assert len(registry.asked) == before
    other.learn(learnt)  # again: nothing changes
    assert {*other.learnt().schemas} == {*learnt.schemas}
    assert other.learnt().written == learnt.written


def test_what_is_beyond_the_limits_of_a_process_is_not_taken_over(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    id = registry.register("s", USER)
    schemas.by_id(id)
    other = ConfluentSchemas(conf_of(registry.url, **{"max.schema.size": 10}))
    other.learn(schemas.learnt())
    assert other.learnt().schemas == ()


def test_what_was_not_found_does_not_travel(schemas: ConfluentSchemas) -> None:
    with pytest.raises(errors.SchemaNotFoundError):
        schemas.by_id(1)
    assert schemas.learnt() == ((), ())


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_child_forked_while_an_id_is_asked_for_asks_for_itself(
    schemas: ConfluentSchemas, registry: ConfluentStandIn
) -> None:
    registry.register("s", USER)
    registry._lock.acquire()  # so that the answer takes until it is released
    asking = threading.Thread(target=lambda: schemas.by_id(1))
    asking.start()
    until(lambda: schemas.client.calls, "the question is asked")
    child = os.fork()
    if child == 0:
        os._exit(0 if schemas.by_id(1).version == 1 else 1)
    registry._lock.release()
    assert exit_code(child) == 0
    join(asking)
    assert schemas.by_id(1).version == 1


def test_an_error_of_one_thread_is_not_the_error_of_another(schemas: ConfluentSchemas) -> None:
    caught: list[BaseException] = []
    for _ in range(2):
        with pytest.raises(errors.SchemaNotFoundError) as error:
            schemas.by_id(1)
        caught.append(error.value)
    assert caught[0] is not caught[1]
    assert copy.copy(caught[0]).message == caught[0].message  # type: ignore[attr-defined]
