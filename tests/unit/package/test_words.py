"""Errors, options and the cache, which all other parts use."""

import pickle
import re
from copy import copy
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.schema_registry.common.serde import SubjectNameStrategyType
from confluent_kafka.serialization import SerializationError

from streamnative_serdes import _config as config
from streamnative_serdes import errors
from streamnative_serdes._schema import Limits
from streamnative_serdes._topics.cache import TopicCache
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError

URL = {"schema.registry.url": "http://localhost:8080"}
TABLES = {"serializer": config.SERIALIZER_OPTIONS, "deserializer": config.DESERIALIZER_OPTIONS}
ALL_ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.SerdesError)]


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_every_error_is_a_confluent_error_and_a_value_error(error: type[Exception]) -> None:
    assert {SerializationError, KafkaException, ValueError} <= set(error.__mro__)


def test_an_error_says_where_it_occurred_what_is_wrong_and_what_to_do() -> None:
    error = errors.DecodeError("expected a, got b", path="x.y", offset=3, hint="do c").at(topic="t", version=4)
    assert str(error) == "topic t, schema version 4, field x.y, byte 3: expected a, got b (hint: do c)"


def test_an_error_distinguishes_a_byte_of_the_message_from_its_kafka_offset() -> None:
    error = errors.DecodeError("m", path="x", offset=14).at(topic="t", version=0)
    error.raw = errors.RawMessage(b"", "t", partition=3, offset=42)
    assert str(error) == "topic t, partition 3, offset 42, schema version 0, field x, byte 14: m"


def test_at_keeps_attributes_that_are_already_set() -> None:
    assert errors.EncodeError("m", topic="a").at(topic="b", version=1).topic == "a"


def test_a_note_on_a_copy_is_not_on_the_error() -> None:
    """Errors that are kept are raised as copies, to which each user may add a note."""
    kept = errors.SchemaError("m")
    for word in ("one", "two"):
        raised = copy(kept)
        raised.add_note(word)
        assert raised.__notes__ == [*kept.__notes__, word]


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_errors_can_be_pickled(error: Any) -> None:
    raised = error("message", topic="t", path="p", hint="h")
    copied = pickle.loads(pickle.dumps(raised))
    assert (type(copied), str(copied), vars(copied)) == (error, str(raised), vars(raised))


def test_a_registry_error_keeps_status_and_reason() -> None:
    for status, version, code in (
        (404, None, 40401),
        (404, 0, 40402),
        (422, None, 42201),
        (409, None, 409),
        (None, 0, -1),
    ):
        found = errors.SchemaRegistryError("m", status=status, version=version)
        assert (found.error_code, found.http_status_code) == (code, -1 if status is None else status)
    assert not errors.SchemaRegistryError("m").retriable  # not retriable unless stated
    copied = pickle.loads(pickle.dumps(errors.IncompatibleSchemaError("m", status=409, reason="r", retriable=False)))
    assert (copied.status, copied.reason) == (409, "r")


def test_options_accept_text_like_javas_properties() -> None:
    given = {**URL, "allow.null": " FALSE ", "cache.capacity": " 7 ", "cache.latest.ttl.sec": "0.5"}
    values = config.parse(config.SERIALIZER_OPTIONS, given, strict=True)
    assert (values["allow.null"], values["cache.capacity"], values["cache.latest.ttl.sec"]) == (False, 7, 0.5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("use.schema.id", -1),
        ("use.schema.id", " -1"),
        ("normalize.schemas", False),
        ("subject.name.strategy.type", SubjectNameStrategyType.TOPIC),
        ("normalize.schemas", "False "),
        ("subject.name.strategy.type", "Topic"),
    ],
)
def test_the_harmless_value_of_an_option_that_is_not_there_yet_is_taken_in_any_form(key: str, value: object) -> None:
    assert key not in config.parse(config.SERIALIZER_OPTIONS, {**URL, key: value}, strict=True)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("normalize.schemas", "true", "normalize.schemas='true' is not supported yet"),
        ("use.schema.id", "1", "use.schema.id='1' is not supported yet"),
        ("allow.null", "yes", "allow.null: expected true or false, got 'yes' of type str"),
        ("allow.null", 1, "expected true or false, got 1 of type int"),
        ("cache.capacity", 0, "expected a whole number from 1 to 10**12, got 0"),
        ("cache.capacity", 1.5, "expected a whole number from 1 to 10**12, got 1.5"),
        ("cache.capacity", True, "expected a whole number from 1 to 10**12, got True"),
        ("cache.latest.ttl.sec", -1, "expected a number of seconds from 0 to 10**12, got -1"),
        ("http.read.timeout.ms", "soon", "expected a number of milliseconds from 1 to 10**12, got 'soon'"),
        ("retries.total.ms", float("nan"), "expected a number of milliseconds from 1 to 10**12, got nan"),
        ("pulsar.tenant", "", "expected a non-empty string, got ''"),
    ],
)
def test_the_error_for_a_bad_value_names_the_option_and_the_expected_value(key: str, value: object, words: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        config.parse(config.SERIALIZER_OPTIONS, {**URL, key: value}, strict=True)
    assert words in str(caught.value)


class Chosen(str, Enum):
    VALUE = "value"
    FALSE = "false"


def test_members_of_an_enum_with_texts_are_their_texts() -> None:
    given = {"key.value.framing": Chosen.VALUE, "auto.register.schemas": Chosen.FALSE}
    values = config.parse(config.SERIALIZER_OPTIONS, {**URL, **given}, strict=True)
    assert (values["key.value.framing"], values["auto.register.schemas"]) == ("value", False)
    assert type(values["key.value.framing"]) is str


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("schema.registry.basic.auth.user.info", "basic.auth.user.info"),
        ("ssl.ca.location", "schema.registry.ssl.ca.location"),
    ],
)
def test_an_option_with_another_clients_name_gets_ours_as_a_hint(key: str, meant: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        config.parse(config.SERIALIZER_OPTIONS, {**URL, key: "x"}, strict=True)
    assert caught.value.hint == f"did you mean {meant}?"


def test_a_bad_secret_is_not_shown() -> None:
    with pytest.raises(errors.ConfigError) as caught:
        config.parse(config.SERIALIZER_OPTIONS, {**URL, "bearer.auth.token": ["hush"]}, strict=True)
    assert "hush" not in str(caught.value)


def test_the_error_for_an_unknown_option_suggests_the_nearest_one() -> None:
    with pytest.raises(errors.ConfigError, match=r"did you mean fallback\.to\.latest\?"):
        config.parse(config.DESERIALIZER_OPTIONS, {**URL, "fall.back.to.latest": True}, strict=True)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("fields", "docs/config.md lists the options"),
        ("x", "docs/config.md lists the options"),
        ("", "docs/config.md lists the options"),
        ("bootstrap.servers", "it is an option of the Kafka client, which does not belong here: give it to the client"),
        ("group.id", "it is an option of the Kafka client, which does not belong here: give it to the client"),
    ],
)
def test_the_error_for_an_option_unlike_all_others_names_none_of_them(key: str, hint: str) -> None:
    for table in TABLES.values():
        with pytest.raises(errors.ConfigError) as caught:
            config.parse(table, {**URL, key: 1}, strict=True)
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("table", "key", "owner"),
    [
        (config.AUTO_CONSUME_OPTIONS, "reader.schema.policy", "KafkaAvroDeserializer"),
        (config.AUTO_CONSUME_OPTIONS, "schema.resolution", "KafkaAvroDeserializer"),
        (config.AUTO_CONSUME_OPTIONS, "value.type", "KafkaAvroDeserializer"),
        (config.PULSAR_SERIALIZER_OPTIONS, "confluent.schema.registry.url", "KafkaAvroDeserializer"),
        (config.AUTO_CONSUME_OPTIONS, "key.value.framing", "KafkaAvroSerializer"),
        (config.PULSAR_SERIALIZER_OPTIONS, "framing", "KafkaAvroSerializer"),
        (config.SERIALIZER_OPTIONS, "reader.schema.policy", "KafkaAvroDeserializer"),
        (config.DESERIALIZER_OPTIONS, "use.schema.version", "KafkaAvroSerializer"),
    ],
)
def test_the_error_for_an_option_of_another_class_names_that_class(
    table: tuple[config.Option, ...], key: str, owner: str
) -> None:
    with pytest.raises(errors.ConfigError, match=f"unknown option {key}") as caught:
        config.parse(table, {**URL, key: "x"}, strict=True)
    assert caught.value.hint == f"it is an option of {owner}, and has no effect here"


def test_an_option_of_another_class_that_is_almost_one_of_this_class_counts_as_misspelt() -> None:
    for table, key, meant in (
        (config.SERIALIZER_OPTIONS, "framings", "framing"),
        (config.DESERIALIZER_OPTIONS, "framing", "framings"),
    ):
        with pytest.raises(errors.ConfigError) as caught:
            config.parse(table, {**URL, key: "x"}, strict=True)
        assert caught.value.hint == f"did you mean {meant}?"


def test_the_documented_options_equal_those_of_the_code() -> None:
    text = (Path(__file__).parents[3] / "docs" / "config.md").read_text()
    shared = (*config.REGISTRY_OPTIONS, *config.CODEC_OPTIONS)
    for table in TABLES.values():
        others = (*config.CONFLUENT_OPTIONS, *config.FOREIGN_OPTIONS)
        own = tuple(option for option in table if option not in (*shared, *others))
        assert config.markdown(own) in text
    assert config.markdown(shared) in text
    assert config.markdown(config.CONFLUENT_OPTIONS) in text
    as_pulsars = re.compile(r"As `[^`]+`, for \w+'s registry\.")
    special = tuple(option for option in config.FOREIGN_OPTIONS if not as_pulsars.fullmatch(option.doc))
    assert config.markdown(special) in text


def test_the_default_limits_of_schemas_are_those_of_the_options() -> None:
    defaults = {option.key: option.default for option in config.REGISTRY_OPTIONS}
    limits = Limits()
    assert (limits.size, limits.names, limits.depth) == tuple(
        defaults[f"max.schema.{name}"] for name in ("size", "names", "depth")
    )


def test_a_codec_accepts_the_options_with_underscores_for_dots() -> None:
    conf = config.parse(config.DESERIALIZER_OPTIONS, {**URL, "max.depth": "3"}, strict=True)
    arguments = config.codec_arguments(conf)
    assert arguments["max_depth"] == 3
    assert set(arguments) == {option.key.replace(".", "_") for option in config.READ_OPTIONS}
    assert config.codec_options(arguments)["max.depth"] == 3
    with pytest.raises(TypeError, match="did you mean 'max_depth'"):
        Codec("int", max_dept=3)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"schema\.resolution: expected java or spec, got 'scala'"):
        Codec("int", schema_resolution="scala")  # type: ignore[arg-type]


def test_the_cache_drops_the_oldest_topic_and_the_oldest_key() -> None:
    cache = TopicCache(2)
    for topic in "abc":
        for key in range(3):
            cache.set(topic, key, f"{topic}{key}")
    assert [(topic, key) for topic, key, _ in cache.items()] == [("b", 1), ("b", 2), ("c", 1), ("c", 2)]
    assert cache.get("a", 2) is None
    assert cache.get("c", 2) == "c2"
    cache.drop("c")
    assert len(cache) == 2
    cache.clear()
    assert len(cache) == 0


def test_a_cache_of_capacity_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        TopicCache(0)
