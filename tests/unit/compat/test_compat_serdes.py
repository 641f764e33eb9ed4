"""AvroSerializer and AvroDeserializer: Confluent's constructors and leniency, our call path and framing."""

from __future__ import annotations

import datetime
import importlib
import json
import pickle
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext, Serializer
from schemas import logical, record

import streamnative_serdes.compat as compat
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.compat import (
    AsyncSchemaRegistryClient,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    topic_subject_name_strategy,
)
from streamnative_serdes.compat.avro import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AvroDeserializer,
    AvroSerializer,
)
from streamnative_serdes.compat.missing import NOT_THERE
from streamnative_serdes.errors import ConfigError, EncodeError, RegistryUnavailableError, SchemaNotFoundError
from streamnative_serdes.testing import Fault, LocalRegistry

USER = json.dumps(record("User", ("name", "string"), ("age", "int")))
ADA = {"name": "Ada", "age": 36}
CTX = SerializationContext("users", MessageField.VALUE)
OFF = {"auto.register.schemas": False}
OTHER_BINDING = {"cache.missing.ttl.sec": 7}


class Strategy(str, Enum):
    TOPIC = "TOPIC"
    RECORD = "RECORD"


@pytest.fixture
def client(registry: LocalRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


def test_an_object_round_trips(client: SchemaRegistryClient) -> None:
    serializer, deserializer = AvroSerializer(client, USER), AvroDeserializer(client)
    assert isinstance(serializer, Serializer)
    assert isinstance(deserializer, Deserializer)
    message = serializer(ADA, CTX)
    assert message == b"\x03\x04" + bytes(8) + b"\x06Ada\x48"
    assert deserializer(message, CTX) == ADA
    assert serializer(None, CTX) is None
    assert deserializer(None, CTX) is None


def test_calls_are_those_of_the_compiled_classes() -> None:
    assert AvroSerializer.__call__ is KafkaAvroSerializer.__call__
    assert AvroDeserializer.__call__ is KafkaAvroDeserializer.__call__


@pytest.mark.promise("same-arguments")
def test_arguments_are_in_confluents_order(client: SchemaRegistryClient) -> None:
    serializer = AvroSerializer(client, USER, lambda user, ctx: {"name": user, "age": len(ctx.topic)}, {}, None, None)
    deserializer = AvroDeserializer(client, USER, lambda user, ctx: (user["name"], ctx.topic), False, {}, None, None)
    assert deserializer(serializer("Ada", CTX), CTX) == ("Ada", "users")


def test_records_of_unions_are_returned_with_their_names_on_request(client: SchemaRegistryClient) -> None:
    union = [record("Cat", ("lives", "int"), namespace="zoo"), record("Dog", ("lives", "int"), namespace="zoo")]
    serializer = AvroSerializer(client, json.dumps(record("Pet", ("is", union))))
    message = serializer({"is": ("zoo.Dog", {"lives": 1})}, CTX)
    assert serializer({"is": {"-type": "zoo.Dog", "lives": 1}}, CTX) == message
    assert AvroDeserializer(client, None, None, True)(message, CTX) == {"is": ("zoo.Dog", {"lives": 1})}
    assert AvroDeserializer(client)(message, CTX) == {"is": {"lives": 1}}


@pytest.mark.promise("references")
def test_references_are_fetched_and_merged_into_the_schema(client: SchemaRegistryClient) -> None:
    client.register_schema("users-value", Schema(USER))
    top = Schema(json.dumps(record("Top", ("user", "User"))), "AVRO", [SchemaReference("User", "users-value", 1)])
    ctx = SerializationContext("tops", MessageField.VALUE)
    message = AvroSerializer(client, top)({"user": ADA}, ctx)
    assert AvroDeserializer(client, top)(message, ctx) == AvroDeserializer(client)(message, ctx) == {"user": ADA}


def test_use_latest_version_is_preferred_to_the_given_schema(client: SchemaRegistryClient) -> None:
    client.register_schema("users", Schema(json.dumps(record("User", ("name", "string")))))
    message = AvroSerializer(client, USER, None, {**OFF, "use.latest.version": True})(ADA, CTX)
    assert AvroDeserializer(client)(message, CTX) == {"name": "Ada"}
    client.register_schema("users", Schema(json.dumps(record("User", ("name", "string"), ("n", "int", 0)))))
    client.clear_latest_caches()
    for latest in (True, "TRUE"):
        deserializer = AvroDeserializer(client, USER, conf={"use.latest.version": latest})
        assert deserializer(message, CTX) == {"name": "Ada", "n": 0}


def test_serdes_ask_for_the_latest_version_again_when_told_to(client: SchemaRegistryClient) -> None:
    conf = {**OFF, "use.latest.version": True}
    serializer, deserializer = AvroSerializer(client, conf=conf), AvroDeserializer(client)
    with pytest.raises(SchemaNotFoundError):
        serializer({"name": "Ada"}, CTX)
    client.register_schema("users", Schema(json.dumps(record("User", ("name", "string")))))
    client.clear_latest_caches()  # also of what was not there
    assert deserializer(serializer(ADA, CTX), CTX) == {"name": "Ada"}
    client.register_schema("users", Schema(json.dumps(record("User", ("name", "string"), ("age", "int", 0)))))
    assert deserializer(serializer(ADA, CTX), CTX) == {"name": "Ada"}
    client.clear_latest_caches()
    assert deserializer(serializer(ADA, CTX), CTX) == ADA


def test_the_last_answer_serves_while_the_registry_is_away(registry: LocalRegistry) -> None:
    client = SchemaRegistryClient({"url": registry.url, "retries.total.ms": 1_500, "retries.wait.ms": 50})
    client.register_schema("users", Schema(USER))
    serializer = AvroSerializer(client, conf={**OFF, "use.latest.version": True})
    message = serializer(ADA, CTX)
    registry.fail(Fault.status(503), times=None)
    client.clear_latest_caches()
    assert serializer(ADA, CTX) == message
    client.clear_caches()
    with pytest.raises(RegistryUnavailableError):
        serializer(ADA, CTX)


def written(client: SchemaRegistryClient, conf: dict[str, Any] | None) -> tuple[Any, AvroSerializer, AvroDeserializer]:
    """A message, and who has written and read it."""
    serializer, deserializer = AvroSerializer(client, USER, conf=conf), AvroDeserializer(client, conf=conf)
    message = serializer(ADA, CTX)
    assert deserializer(message, CTX) == ADA
    return message, serializer, deserializer


@pytest.mark.parametrize("conf", [None, OTHER_BINDING])
def test_serdes_ask_for_everything_again_when_told_to(
    client: SchemaRegistryClient, registry: LocalRegistry, conf: dict[str, Any] | None
) -> None:
    message, serializer, deserializer = written(client, conf)
    for clear, calls in ((client.clear_latest_caches, {}), (client.clear_caches, {"POST schema": 1, "GET version": 1})):
        registry.reset_calls()
        clear()
        assert serializer(ADA, CTX) == message
        assert deserializer(message, CTX) == ADA
        assert registry.calls == calls


def test_serdes_with_one_address_of_the_client_are_told_too(
    client: SchemaRegistryClient, registry: LocalRegistry
) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": f"{registry.url},http://127.0.0.1:9"}, USER)
    before = serializer.serialize("users", ADA)
    client.delete_subject("users-value")
    assert serializer.serialize("users", ADA) != before


@pytest.mark.parametrize("conf", [None, OTHER_BINDING])
def test_serdes_forget_a_subject_that_is_deleted_for_good(
    client: SchemaRegistryClient, conf: dict[str, Any] | None
) -> None:
    """Else they would go on with version 0 of before, and read the new version 0 as that."""
    before, _, deserializer = written(client, conf)
    client.delete_subject("users-value", permanent=True)
    client.register_schema("users", Schema(json.dumps(record("User", ("nick", "string"), ("age", "int")))))
    assert deserializer(before, CTX) == {"nick": "Ada", "age": 36}


@pytest.mark.parametrize("conf", [None, OTHER_BINDING])
def test_the_next_message_of_a_deleted_subject_registers_its_schema_again(
    client: SchemaRegistryClient, conf: dict[str, Any] | None
) -> None:
    """Else nobody else could read it; and later, it would be read with another schema."""
    before, serializer, deserializer = written(client, conf)
    client.delete_subject("users-value")
    after = serializer(ADA, CTX)
    assert after != before
    assert client.get_versions("users") == [3]
    assert AvroDeserializer(client)(after, CTX) == ADA
    assert deserializer(before, CTX) == ADA  # a known version still reads


def test_a_registry_of_another_address_is_not_asked_again(client: SchemaRegistryClient) -> None:
    with LocalRegistry() as registry:
        other = AvroSerializer(SchemaRegistryClient({"url": registry.url}), USER)
        other(ADA, CTX)
        registry.reset_calls()
        client.register_schema("users", Schema(USER))
        client.delete_subject("users", permanent=True)
        client.clear_caches()
        other(ADA, CTX)
        assert registry.calls == {}


@pytest.mark.parametrize("conf", [OFF, {**OFF, **OTHER_BINDING}])
def test_without_registration_an_unknown_schema_is_an_error_until_the_client_registers_it(
    client: SchemaRegistryClient, conf: dict[str, Any]
) -> None:
    serializer = AvroSerializer(client, USER, conf=conf)
    with pytest.raises(SchemaNotFoundError):
        serializer(ADA, CTX)
    client.register_schema("users-value", Schema(USER))
    assert serializer(ADA, CTX) == b"\x03\x04" + bytes(8) + b"\x06Ada\x48"


@pytest.mark.promise("trailing-bytes")
def test_trailing_bytes_are_ignored_as_by_confluent(client: SchemaRegistryClient) -> None:
    message = AvroSerializer(client, USER)(ADA, CTX)
    assert message is not None
    assert AvroDeserializer(client)(message + b"more", CTX) == ADA
    with pytest.raises(ValueError, match="expected the end of the message"):
        AvroDeserializer(client, conf={"ignore.trailing.bytes": False})(message + b"more", CTX)


def test_additional_fields_are_ignored_unless_strict(client: SchemaRegistryClient) -> None:
    more = {**ADA, "more": 1}
    assert AvroDeserializer(client)(AvroSerializer(client, USER)(more, CTX), CTX) == ADA
    with pytest.raises(EncodeError):
        AvroSerializer(client, USER, conf={"validate.strict": True})(more, CTX)


@pytest.mark.promise("leniency")
@pytest.mark.parametrize(
    ("kind", "value"), [("int", True), (logical("long", "timestamp-millis"), datetime.datetime(2020, 1, 1))]
)
def test_a_bool_as_a_number_and_a_naive_datetime_are_accepted_unless_strict(
    client: SchemaRegistryClient, kind: Any, value: Any
) -> None:
    schema = json.dumps(record("R", ("x", kind)))
    read = AvroDeserializer(client)(AvroSerializer(client, schema)({"x": value}, CTX), CTX)["x"]
    assert read == (1 if value is True else value.astimezone(datetime.UTC))
    for option in ("validate.strict", "validate.strict.allow.default"):
        strict = AvroSerializer(client, schema, None, {option: True})
        with pytest.raises(EncodeError, match="field x: expected"):
            strict({"x": value}, CTX)


def test_nanoseconds_are_dropped_as_by_confluent_unless_strict(client: SchemaRegistryClient) -> None:
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp(1_709_209_815_123_456_789, unit="ns", tz="UTC")
    schema = json.dumps(record("R", ("x", logical("long", "timestamp-micros"))))
    read = AvroDeserializer(client)(AvroSerializer(client, schema)({"x": stamp}, CTX), CTX)["x"]
    assert read == stamp.floor("us").to_pydatetime()
    for conf in ({"validate.strict": True}, {"truncate.times": False}):
        with pytest.raises(EncodeError, match="cannot hold the nanoseconds"):
            AvroSerializer(client, schema, None, conf)({"x": stamp}, CTX)


def test_keys_are_refused(client: SchemaRegistryClient) -> None:
    with pytest.raises(ConfigError, match="keys have a schema in topics of type KEY_VALUE only"):
        AvroSerializer(client, USER)(ADA, SerializationContext("users", MessageField.KEY))


@pytest.mark.promise("never-ignored")
@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ({"auto.register.schema": False}, "did you mean auto.register.schemas"),
        ({"use.latest.version": True}, "^cannot enable both use.latest.version and auto.register.schemas"),
        ({"use.latest.version": 1}, "use.latest.version: expected true or false"),
        ({"auto.register.schemas": 1}, "auto.register.schemas: expected true or false"),
        ({"use.schema.id": 5}, "^use.schema.id is not supported: .* there are no global schema ids"),
        ({"use.schema.id": 0}, "^use.schema.id is not supported"),
        ({"use.latest.with.metadata": {}}, "^use.latest.with.metadata is not supported"),
        ({"use.latest.with.metadata": {"a": "b"}}, "^use.latest.with.metadata is not supported"),
        ({"subject.name.strategy": lambda ctx, name: name}, "^subject.name.strategy='<lambda>' is not supported"),
        ({"subject.name.strategy.type": Strategy.RECORD}, "^subject.name.strategy.type='RECORD' is not supported"),
        ({"schema.id.serializer": len}, "^schema.id.serializer='len' is not supported"),
        ({"validation.rules.execution": "BEFORE_DOMAIN_RULES"}, "^validation.rules.execution=.* stores no rules"),
        ({"subject.name.strategy": 0}, "^subject.name.strategy='0' is not supported"),
        ({"subject.name.strategy.conf": {"a": 1}}, "^subject.name.strategy.conf=.* is not supported: .* its topic"),
        ({"normalize.schemas": "maybe"}, "normalize.schemas='maybe' is not supported: expected true or false"),
        ({"normalize.schemas": True, "framing": "confluent"}, "both normalize.schemas and framing=confluent"),
    ],
)
def test_unsupported_keys_are_refused_by_name(conf: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        AvroSerializer(SchemaRegistryClient({"url": "http://p:8080"}), USER, conf=conf)


def test_rules_are_refused() -> None:
    client = SchemaRegistryClient({"url": "http://p:8080"})
    with pytest.raises(ConfigError, match=r"^rule_conf is not supported: Pulsar's registry stores no rules"):
        AvroSerializer(client, USER, rule_conf={"secret.access.key": "x"})
    with pytest.raises(ConfigError, match=r"^rule_registry is not supported"):
        AvroDeserializer(client, rule_registry=object())


def test_values_that_ask_for_the_default_behaviour_are_accepted() -> None:
    client = SchemaRegistryClient({"url": "http://p:8080"})
    harmless: dict[str, Any] = {
        "use.latest.version": False,
        "use.latest.with.metadata": None,
        "subject.name.strategy": topic_subject_name_strategy,
        "subject.name.strategy.conf": {},
        "subject.name.strategy.type": Strategy.TOPIC,
        "normalize.schemas": "TRUE",
        "validation.rules.fail.fast": False,
    }
    AvroSerializer(client, USER, conf={**harmless, "schema.id.serializer": compat.prefix_schema_id_serializer})
    AvroDeserializer(client, conf={**harmless, "schema.id.deserializer": compat.dual_schema_id_deserializer})


def test_functions_that_are_only_accepted_as_options_say_so_when_called() -> None:
    assert topic_subject_name_strategy(CTX, None) == "users-value"
    with pytest.raises(compat.SchemaRegistryError, match="the deserializer reads the version itself"):
        compat.prefix_schema_id_deserializer(b"", CTX, None)


@pytest.mark.parametrize("client", [{"url": "http://p:8080"}, None, "http://p:8080"])
def test_another_client_is_refused_with_a_hint(client: Any) -> None:
    with pytest.raises(ConfigError, match=r"expected a SchemaRegistryClient, got .*streamnative_serdes\.compat"):
        AvroSerializer(client, USER)


def test_swapped_arguments_get_a_hint_about_their_order(client: Any, registry: LocalRegistry) -> None:
    asynchronous = AsyncSchemaRegistryClient({"url": registry.url})
    for face, own in (
        (AvroSerializer, client),
        (AvroDeserializer, client),
        (AsyncAvroSerializer, asynchronous),
        (AsyncAvroDeserializer, asynchronous),
    ):
        make: Any = face
        kind = "an Async" if own is asynchronous else "a "
        with pytest.raises(
            ConfigError, match=f"expected {kind}SchemaRegistryClient, got builtins.str .*pass the client first"
        ):
            make(USER, own)
        with pytest.raises(
            ConfigError, match=f"expected {kind}SchemaRegistryClient, got .*.Schema .*pass the client first"
        ):
            make(Schema(USER), own)
        with pytest.raises(
            ConfigError, match=r"expected a function .*, got dict \(hint: options are the argument conf\)"
        ):
            make(own, USER, {"max.depth": 5})


def test_asyncio_and_blocking_clients_are_not_interchangeable(client: Any, registry: LocalRegistry) -> None:
    other: Any = AsyncSchemaRegistryClient({"url": registry.url})
    with pytest.raises(ConfigError, match=r"expected a SchemaRegistryClient, got .*AsyncSchemaRegistryClient"):
        AvroSerializer(other, USER)
    with pytest.raises(ConfigError, match=r"expected an AsyncSchemaRegistryClient, got .*\.SchemaRegistryClient"):
        AsyncAvroSerializer(client, USER)


@pytest.mark.promise("missing-names")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("json_schema", "supports only Avro for now: see streamnative_serdes.compat.avro"),
        ("protobuf", "supports only Avro for now: see streamnative_serdes.compat.avro"),
        ("record_subject_name_strategy", "a schema belongs to its topic"),
        ("topic_record_subject_name_strategy", "a schema belongs to its topic"),
        ("header_schema_id_serializer", "the version before the datum"),
        ("RuleSet", "stores no rules"),
        ("reference_subject_name_strategy", "supports only Avro"),
        ("avro.AvroSerializerBuilder", "pass an AvroSerializer"),
        ("avro.AsyncAvroSerializerBuilder", "pass an AsyncAvroSerializer"),
        ("avro.AvroDeserializerBuilder", "pass an AvroDeserializer"),
        ("avro.AsyncAvroDeserializerBuilder", "pass an AsyncAvroDeserializer"),
    ],
)
def test_missing_names_of_confluent_say_why(name: str, words: str) -> None:
    module, _, local = f"streamnative_serdes.compat.{name}".rpartition(".")
    expected = rf"^streamnative_serdes\.compat\.{name} is not supported: .*{words}"
    with pytest.raises(ImportError, match=expected):
        exec(f"from {module} import {local}")
    with pytest.raises(ImportError, match=expected):
        getattr(importlib.import_module(module), local)
    with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute 'other'$"):
        _ = importlib.import_module(module).other


@pytest.mark.promise("missing-names")
@pytest.mark.parametrize("name", ["json_schema", "protobuf"])
def test_missing_modules_of_confluent_say_why_however_they_are_imported(name: str) -> None:
    for statement in (
        "import streamnative_serdes.compat.{}",
        "from streamnative_serdes.compat.{} import JSONSerializer",
    ):
        for _ in range(2):
            with pytest.raises(ImportError, match=rf"^streamnative_serdes\.compat\.{name} is not supported: "):
                exec(statement.format(name))


def test_each_of_confluents_names_exists_or_says_why_not() -> None:
    names = pytest.importorskip("confluent_kafka.schema_registry").__all__  # its dependencies may not be installed
    assert [name for name in names if name not in {*compat.__all__, *NOT_THERE}] == []
    assert NOT_THERE.keys().isdisjoint(compat.__all__)
    assert not hasattr(compat, "nothing_like_it")
    with pytest.raises(ImportError, match="cannot import name 'nothing_like_it'"):
        exec("from streamnative_serdes.compat import nothing_like_it")


@pytest.mark.promise("pickles")
def test_both_can_be_pickled_with_their_cached_schemas(client: SchemaRegistryClient, registry: LocalRegistry) -> None:
    serializer, deserializer = AvroSerializer(client, USER), AvroDeserializer(client)
    assert deserializer(serializer(ADA, CTX), CTX) == ADA
    registry.reset_calls()
    serializer, deserializer = pickle.loads(pickle.dumps((serializer, deserializer)))
    assert deserializer(serializer(ADA, CTX) + b"more", CTX) == ADA
    assert registry.calls.total() == 0
