"""KafkaAvroSerializer, with a registry over real HTTP."""

import copy
import dataclasses
import enum
import json
import pickle
import subprocess
import sys
import threading
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import pytest
import requests
from any_type import header
from conf import conf
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError, Serializer
from schemas import record
from travelled import unpickled
from waiting import join, until

from streamnative_serdes import (
    ConfigError,
    EncodeError,
    IncompatibleSchemaError,
    KafkaAvroSerializer,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes._call_path import bound_of
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.testing import Fault, LocalRegistry

USER = record("User", ("name", "string"), ("age", "int"))
WIDER = {**USER, "fields": [*USER["fields"], {"name": "city", "type": ["null", "string"], "default": None}]}
BOB = {"name": "bob", "age": 7}
BOB_BODY = b"\x06bob\x0e"


def registered(registry: LocalRegistry, topic: str) -> dict[str, Any]:
    answer = requests.get(f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema", timeout=5).json()
    return json.loads(answer["data"])  # type: ignore[no-any-return]


def value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_a_message_is_marker_version_and_datum(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    assert serializer(BOB, value("users")) == header(0) + BOB_BODY
    assert serializer.serialize("users", BOB) == header(0) + BOB_BODY


def test_it_is_an_instance_of_confluents_serializer_and_its_call_is_compiled(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    assert isinstance(serializer, Serializer)
    assert type(type(serializer).__call__).__name__ == "wrapper_descriptor"


def test_none_is_a_tombstone_and_does_not_use_the_registry(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer()
    assert serializer(None, None) is None
    assert serializer.serialize("users", None) is None
    assert not registry.calls


def test_a_schema_is_registered_once_for_all_messages_and_instances(registry: LocalRegistry) -> None:
    for _ in range(3):
        serializer = KafkaAvroSerializer(conf(registry), USER)
        for _ in range(5):
            serializer(BOB, value("users"))
    assert registry.calls == {"POST schema": 1}


def test_each_topic_is_written_with_its_own_version(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER)(BOB, value("b"))  # on "b", WIDER will be version 1
    serializer = KafkaAvroSerializer(conf(registry), WIDER)
    for _ in range(2):
        assert serializer(BOB, value("a")) == header(0) + BOB_BODY + b"\x00"
        assert serializer(BOB, value("b")) == header(1) + BOB_BODY + b"\x00"


def test_a_known_schema_is_still_written_after_the_topic_has_changed(registry: LocalRegistry) -> None:
    old, new = KafkaAvroSerializer(conf(registry), USER), KafkaAvroSerializer(conf(registry), WIDER)
    assert old(BOB, value("users"))[:10] == header(0)
    assert new(BOB, value("users"))[:10] == header(1)
    assert old(BOB, value("users"))[:10] == header(0)


def test_a_new_incompatible_schema_is_refused_with_the_brokers_reason(registry: LocalRegistry) -> None:
    KafkaAvroSerializer(conf(registry), USER)(BOB, value("users"))
    other = KafkaAvroSerializer(conf(registry), {**USER, "fields": [{"name": "name", "type": "int"}]})
    with pytest.raises(IncompatibleSchemaError, match="topic users") as caught:
        other({"name": 1}, value("users"))
    assert caught.value.status == 409
    assert "&quot;" not in str(caught.value)
    assert isinstance(caught.value, SerializationError)


def test_schemas_may_be_dict_text_or_file(registry: LocalRegistry, tmp_path: Path) -> None:
    file = tmp_path / "user.avsc"
    file.write_text(json.dumps(USER))
    for schema in (USER, json.dumps(USER), file, str(file)):
        assert KafkaAvroSerializer(conf(registry), schema)(BOB, value("users")) == header(0) + BOB_BODY


def test_without_a_schema_a_mapping_is_written_with_the_topics_latest(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry))
    with pytest.raises(SchemaNotFoundError, match="topic users"):
        serializer(BOB, value("users"))
    KafkaAvroSerializer(conf(registry), USER)(BOB, value("users"))
    assert serializer(BOB, value("users")) == header(0) + BOB_BODY
    assert serializer(OrderedDict(BOB), value("users")) == header(0) + BOB_BODY


def test_the_latest_schema_is_requested_again_after_its_ttl(registry: LocalRegistry) -> None:
    always = KafkaAvroSerializer(conf(registry, **{"cache.latest.ttl.sec": 0}))
    held = KafkaAvroSerializer(conf(registry, **{"cache.latest.ttl.sec": 3600}))
    KafkaAvroSerializer(conf(registry), USER)(BOB, value("users"))
    assert always(BOB, value("users"))[:10] == held(BOB, value("users"))[:10] == header(0)
    KafkaAvroSerializer(conf(registry), WIDER)(BOB, value("users"))
    assert always(BOB, value("users"))[:10] == header(1)
    assert held(BOB, value("users"))[:10] == header(0)


@dataclasses.dataclass
class Point:
    x: int
    label: str | None = None


@dataclasses.dataclass
class Line:
    start: Point
    end: Point


def test_the_schema_is_derived_from_a_dataclass_with_nullable_fields_by_default(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry))
    assert serializer(Point(1), value("points")) == header(0) + b"\x00\x02\x02"
    assert [field["type"] for field in registered(registry, "points")["fields"]] == [
        ["null", "string"],
        ["null", "long"],
    ]


def test_without_allow_null_only_optional_fields_are_nullable(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry, **{"allow.null": "false"}))
    assert serializer(Line(Point(1), Point(2, "b")), value("lines")) == header(0) + b"\x02\x00\x04\x02\x02b"


def test_one_serializer_writes_each_class_with_its_own_schema(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry))
    registry.set_strategy("ALWAYS_COMPATIBLE", "public/default")
    assert serializer(Point(1), value("shapes"))[:10] == header(0)
    assert serializer(Line(Point(1), Point(2)), value("shapes"))[:10] == header(1)
    assert serializer(Point(1), value("shapes"))[:10] == header(0)


def test_a_class_may_be_given_as_the_schema(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), Point)
    assert serializer({"x": 1}, value("points")) == header(0) + b"\x00\x02\x02"


def test_named_tuples_and_dataclasses_are_records_by_field_name(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    reordered = namedtuple("Reordered", ["age", "name"])
    assert serializer(reordered(7, "bob"), value("users")) == header(0) + BOB_BODY
    person = dataclasses.make_dataclass("Person", ["age", "extra", "name"])
    assert serializer(person(7, 0, "bob"), value("users")) == header(0) + BOB_BODY


def test_to_dict_gets_object_and_context(registry: LocalRegistry) -> None:
    seen: list[tuple[object, str, str]] = []

    def to_dict(obj: object, ctx: SerializationContext) -> dict[str, object]:
        seen.append((obj, ctx.topic, ctx.field))
        return BOB

    serializer = KafkaAvroSerializer(conf(registry), USER, to_dict)
    assert serializer("any", value("users")) == serializer.serialize("users", "any") == header(0) + BOB_BODY
    assert seen == [("any", "users", "value")] * 2


@pytest.mark.parametrize(
    ("ctx", "words"), [(None, "SerializationContext"), (SerializationContext(5, "value"), "topic as str, got int")]
)
def test_a_context_that_names_the_topic_is_required(registry: LocalRegistry, ctx: Any, words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        KafkaAvroSerializer(conf(registry), USER)(BOB, ctx)


def test_a_topic_may_be_a_member_of_a_str_enum(registry: LocalRegistry) -> None:
    class Topic(str, enum.Enum):
        USERS = "users"

    serializer = KafkaAvroSerializer(conf(registry), USER)
    assert serializer(BOB, value(Topic.USERS)) == header(0) + BOB_BODY
    assert registered(registry, "users")["name"] == "User"


def test_the_constructor_refuses_unknown_options_and_configure_does_not(registry: LocalRegistry) -> None:
    whole = {**conf(registry), "bootstrap.servers": "localhost:9092"}
    with pytest.raises(ConfigError, match=r"unknown option bootstrap\.servers"):
        KafkaAvroSerializer(whole, USER)
    serializer = KafkaAvroSerializer(schema=USER)
    assert serializer.configure(whole) is serializer
    assert serializer(BOB, value("users")) == header(0) + BOB_BODY


def test_configuring_again_replaces_all_options(registry: LocalRegistry) -> None:
    with LocalRegistry() as second:
        serializer = KafkaAvroSerializer(conf(registry), USER)
        serializer(BOB, value("users"))
        serializer.configure(conf(second))
        serializer(BOB, value("users"))
        assert second.calls == {"POST schema": 1}


def test_unconfigured_use_names_the_missing_option() -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.url is missing"):
        KafkaAvroSerializer(schema=USER)(BOB, value("users"))


@pytest.mark.parametrize("schema", ["{", 5, {"type": "record", "name": "R"}, "no-such-file.avsc"])
def test_a_bad_schema_is_an_error_at_once(registry: LocalRegistry, schema: object) -> None:
    with pytest.raises(SchemaError):
        KafkaAvroSerializer(conf(registry), schema)
    assert not registry.calls


def test_a_keys_schema_alone_is_not_registered(registry: LocalRegistry) -> None:
    with pytest.raises(ConfigError, match="keys"):
        KafkaAvroSerializer(conf(registry), USER, is_key=True)
    with pytest.raises(ConfigError, match="keys"):
        KafkaAvroSerializer(schema=USER).configure(conf(registry), is_key=True)
    with pytest.raises(ConfigError, match="keys"):
        KafkaAvroSerializer(conf(registry), USER)(BOB, SerializationContext("users", MessageField.KEY))
    assert not registry.calls


def test_topics_in_full_and_by_partition_share_one_schema(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    for topic in ("users", "public/default/users", "persistent://public/default/users", "users-partition-3"):
        assert serializer(BOB, value(topic)) == header(0) + BOB_BODY
    assert registry.calls == {"POST schema": 1}


@pytest.mark.parametrize("clone", [copy.deepcopy, unpickled])
def test_copies_have_the_cached_schemas_of_the_original(registry: LocalRegistry, clone: Any) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    latest = KafkaAvroSerializer(conf(registry))
    expected = serializer(BOB, value("users")), latest(BOB, value("users"))
    registry.reset_calls()
    for original, message in zip((serializer, latest), expected, strict=True):
        assert clone(original)(BOB, value("users")) == message
    assert not registry.calls


def test_a_warm_pickle_needs_no_registry_in_another_process(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry, **{"retries.total.ms": 5000}), USER)
    message = serializer(BOB, value("users"))
    registry.close()
    script = (
        "import pickle, sys\n"
        "serializer = pickle.load(sys.stdin.buffer)\n"
        "sys.stdout.buffer.write(serializer.serialize('users', {'name': 'bob', 'age': 7}))"
    )
    child = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps(serializer), capture_output=True, timeout=60
    )
    assert (child.stdout, child.stderr) == (message, b"")


class Subclass(KafkaAvroSerializer):
    def __init__(self, url: str, tag: str) -> None:
        super().__init__({"schema.registry.url": url}, USER)
        self.tag = tag


@pytest.mark.parametrize("clone", [copy.deepcopy, unpickled])
def test_subclasses_with_another_constructor_can_be_copied_and_pickled(registry: LocalRegistry, clone: Any) -> None:
    copied = clone(Subclass(registry.url, "mine"))
    assert (type(copied), copied.tag) == (Subclass, "mine")
    assert copied(BOB, value("users")) == header(0) + BOB_BODY


def test_a_local_to_dict_can_be_pickled_by_cloudpickle(registry: LocalRegistry) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    serializer = KafkaAvroSerializer(conf(registry), USER, lambda obj, ctx: {"name": obj, "age": 7})
    message = serializer("bob", value("users"))
    data = cloudpickle.dumps(serializer)
    Binding.forget()
    registry.reset_calls()
    assert pickle.loads(data)("bob", value("users")) == message
    assert not registry.calls


def test_a_topic_is_compared_as_plain_text(registry: LocalRegistry) -> None:
    class AnyCase(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return hash(self.lower())

        def __eq__(self, other: object) -> bool:
            return isinstance(other, str) and self.lower() == other.lower()

    KafkaAvroSerializer(conf(registry), USER)(BOB, value("Users"))  # so that WIDER is version 1 there
    serializer = KafkaAvroSerializer(conf(registry), WIDER)
    assert serializer(BOB, value("users"))[:10] == header(0)
    assert serializer(BOB, value(AnyCase("Users")))[:10] == header(1)


def test_a_response_of_the_previous_registry_is_not_cached(registry: LocalRegistry) -> None:
    with LocalRegistry() as second:
        KafkaAvroSerializer(conf(second), USER)(BOB, value("users"))  # WIDER will be version 1 there
        serializer = KafkaAvroSerializer(conf(registry), WIDER)
        registry.fail(Fault.delay(0.5))
        asking = threading.Thread(target=serializer, args=(BOB, value("users")))
        asking.start()
        until(lambda: registry.calls, "the thread asks")
        serializer.configure(conf(second))
        join(asking)
        assert serializer(BOB, value("users"))[:10] == header(1)


@pytest.mark.parametrize("wrong", ["http://localhost:8080", object()])
def test_the_error_for_options_that_are_not_a_dict_names_their_type(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="expected the options as a dict, got"):
        KafkaAvroSerializer(wrong, USER)


@pytest.mark.parametrize("strict", [True, False])
def test_an_option_that_is_not_supported_yet_is_refused_and_not_ignored(registry: LocalRegistry, strict: bool) -> None:
    asking = conf(registry, **{"normalize.schemas": True})
    with pytest.raises(ConfigError, match=r"normalize\.schemas=True is not supported yet"):
        KafkaAvroSerializer(asking, USER) if strict else KafkaAvroSerializer(schema=USER).configure(asking)
    harmless = conf(registry, **{"normalize.schemas": False})
    assert KafkaAvroSerializer(harmless, USER)(BOB, value("users")) == header(0) + BOB_BODY


def test_an_unconfigured_serializer_can_be_pickled(registry: LocalRegistry) -> None:
    copied = pickle.loads(pickle.dumps(KafkaAvroSerializer(schema=USER)))
    assert copied.configure(conf(registry))(BOB, value("users")) == header(0) + BOB_BODY


def test_caches_are_bounded(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry, **{"cache.capacity": 3}), USER)
    for i in range(10):
        serializer(BOB, value(f"t{i}"))
    assert len(bound_of(serializer)) == 3


def test_a_closed_serializer_still_works(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), USER)
    serializer.close()
    serializer.close()
    assert serializer(BOB, value("users")) == header(0) + BOB_BODY


def test_a_serializer_that_is_its_own_to_dict_ends_in_a_recursion_error(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer.__new__(KafkaAvroSerializer)
    KafkaAvroSerializer.__init__(serializer, conf(registry), '"int"', serializer)

    with pytest.raises(RecursionError):
        serializer(1, SerializationContext("t", MessageField.VALUE))


def test_the_limits_of_schemas_apply_to_a_given_schema(registry: LocalRegistry) -> None:
    schema = {"type": "array", "items": {"type": "array", "items": "int"}}
    with pytest.raises(SchemaError, match="nested deeper than 1 levels"):
        KafkaAvroSerializer(conf(registry, **{"max.schema.depth": 1}), schema)
