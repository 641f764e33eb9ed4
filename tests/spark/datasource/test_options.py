"""Options of the data source: each is known, refused with a reason, or answered with the nearest name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import types as T

from streamnative_serdes import ConfigError
from streamnative_serdes._kafka import EARLIEST, LATEST
from streamnative_serdes.spark.datasource.offsets.bounds import Topics, end_of, refuse_ends, start_of
from streamnative_serdes.spark.datasource.reading.columns import plan
from streamnative_serdes.spark.datasource.source import Source
from streamnative_serdes.spark.datasource.user_options import names
from streamnative_serdes.spark.datasource.user_options.options import Options
from streamnative_serdes.spark.datasource.writing.writers import columns_to_write, writer

KAFKA = {"kafka.bootstrap.servers": "localhost:9092"}
BASE = {**KAFKA, "subscribe": "orders"}
SCHEMA_URL = {"schema.registry.url": "http://localhost:8080"}


def parsed(**given: str) -> Options:
    return Options.parse({**BASE, **given}, "read")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("subscrib", "did you mean subscribe?"),
        ("startingoffset", "did you mean startingOffsets?"),
        ("schema.registry.ur", "did you mean schema.registry.url?"),
        ("xyz", "the nearest one is"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("sasl.username", "kafka.sasl.username"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_name(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown option '?{name}") as caught:
        parsed(**{name: "1"})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("subscibe", "did you mean subscribe?"),
        ("subscribePatern", "did you mean subscribePattern?"),
        ("topics", "subscribe, subscribePattern or assign names the topics to read"),
    ],
)
def test_a_misspelt_name_of_the_topics_is_answered_with_the_right_one(name: str, said: str) -> None:
    """Without another option of reading: Spark asks for the columns alike if it reads and if it writes."""
    with pytest.raises(ConfigError) as caught:
        Source({**KAFKA, name.lower(): "orders"}).schema()
    assert said in str(caught.value)


def test_a_path_is_refused_instead_of_ignored() -> None:
    with pytest.raises(ConfigError, match=r"a path has no meaning here, got 'orders'.*subscribe"):
        parsed(path="orders")
    with pytest.raises(ConfigError, match=r"a path has no meaning here, got 'orders'.*topic names the topic to write"):
        Options.parse({**KAFKA, "path": "orders"}, "write")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka.fetch.mni.bytes": "1"}, "fetch.mni.bytes"),
        ({"kafka.isolation.level": "read_comitted"}, "read_comitted"),
        ({"kafka.queued.min.messages": "many"}, "queued.min.messages"),
        ({"fetchOffset.numRetries": "bogus"}, "fetchOffset.numRetries: expected a whole number"),
        ({"fetchOffset.retryIntervalMs": "-1"}, "fetchOffset.retryIntervalMs: expected a whole number from 0 to"),
    ],
)
def test_what_only_tasks_or_streams_use_is_checked_on_the_driver(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan({**BASE, **given})
    assert said in str(caught.value)


@pytest.mark.parametrize("name", names.REFUSED)
def test_an_option_that_sparks_own_source_refuses_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(**{f"kafka.{name.upper()}": "1"})
    assert f"kafka.{name} is not supported: {names.REFUSED[name]}" in str(caught.value)


def test_options_of_the_other_direction_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"the option topic has no meaning when Spark reads a topic.*subscribe"):
        parsed(topic="t")
    with pytest.raises(ConfigError, match="the option framing has no meaning when Spark reads a topic"):
        parsed(framing="confluent")
    with pytest.raises(ConfigError, match="the option startingOffsets has no meaning when Spark writes a topic"):
        Options.parse({**KAFKA, "startingOffsets": "latest"}, "write")


def test_no_option_but_keep_is_for_both_directions() -> None:
    """Each option has an effect in its direction, or is refused; keep is refused where it has none."""
    assert set(names.READING) & set(names.WRITING) == {"keep"}
    for given in (names.READING, names.WRITING):
        other: Any = "write" if given is names.READING else "read"
        for name in set(given) - {"keep"}:
            with pytest.raises(ConfigError, match=f"the option {name} has no meaning when Spark {other}s a topic"):
                Options.parse({**KAFKA, name: "1"}, other)


def test_include_headers_is_refused_where_it_has_no_effect() -> None:
    """With Spark's own sink too, a column headers is written without it."""
    said = "includeHeaders has no meaning when Spark writes a topic.*headers is written wherever there is one"
    given = {**KAFKA, "topic": "orders", "includeHeaders": "true"}
    with pytest.raises(ConfigError, match=said):
        Options.parse(given, "write")
    with pytest.raises(ConfigError, match=said):
        Source(given).schema()  # of a view


def test_the_case_of_names_does_not_matter_and_values_keep_theirs() -> None:
    options = Options.parse(
        {"KAFKA.bootstrap.SERVERS": "Host:1", "SubScribe": "Orders", "MINpartitions": " 3 "}, "read"
    )
    assert options.kafka == {"bootstrap.servers": "Host:1"}
    assert (options.text("subscribe"), options.whole("minPartitions")) == ("Orders", 3)


@pytest.mark.parametrize("value", ["", "  "])
def test_the_brokers_are_required(value: str) -> None:
    for given in ({"subscribe": "t"}, {"subscribe": "t", "kafka.bootstrap.servers": value}):
        with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers is missing"):
            Options.parse(given, "read")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("15m", 900.0), ("30s", 30.0), ("500ms", 0.5), ("250", 0.25), ("2 h", 7200.0), ("1d", 86400.0)],
)
def test_times_are_written_as_in_spark(value: str, seconds: float) -> None:
    assert parsed(maxTriggerDelay=value).seconds("maxTriggerDelay", 1.0) == seconds
    assert parsed().seconds("maxTriggerDelay", 1.0) == 1.0


def test_lists_of_names_are_separated_by_commas() -> None:
    assert parsed(keep=" key, offset ,").words("keep") == ("key", "offset")


READ: dict[str, Callable[[Options], object]] = {
    "minPartitions": lambda options: options.whole("minPartitions"),
    "maxTriggerDelay": lambda options: options.seconds("maxTriggerDelay", 1.0),
    "keep": lambda options: options.words("keep"),
    "failOnDataLoss": lambda options: options.flag("failOnDataLoss", True),
}


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("minPartitions", ["0", "-1", "1.5", "many", "", str(2**63)], "expected a whole number from 1 to 92.*07, got"),
        ("maxTriggerDelay", ["soon", "5 weeks", "-1s", ""], "expected a time such as 15m, 30s or 500ms"),
        ("keep", ["key,offset,key"], "'key' is there twice"),
        ("keep", [" , "], "expected names with commas"),
        ("failOnDataLoss", ["yes", "1", ""], "expected true or false"),
    ],
    ids=["a count", "a time", "a name twice", "no name", "a flag"],
)
def test_a_value_of_another_kind_is_refused(name: str, values: list[str], said: str) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=f"{name}: {said}"):
            READ[name](parsed(**{name: value}))


@pytest.mark.parametrize("given", [{}, {"subscribe": "a", "assign": "{}"}, {"subscribe": "a", "subscribePattern": "a"}])
def test_exactly_one_option_says_which_topics(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="expected one of the options assign, subscribe, subscribePattern"):
        Topics.of(Options.parse({**KAFKA, **given}, "read"))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("assign", "orders", "assign: expected JSON"),
        ("assign", "[]", "assign: expected JSON"),
        ("assign", "{}", "assign: expected partitions"),
        ("assign", '{"a": []}', "assign: expected numbers"),
        ("assign", '{"a": [true]}', "assign: expected numbers"),
        ("assign", '{"a": [-1]}', "assign: expected numbers"),
        ("assign", '{"a": [1, 1]}', "a partition twice"),
        ("assign", '{"a": [1], "a": [2]}', "'a' is there twice"),
        ("subscribe", " , ", "subscribe: expected names"),
        ("subscribePattern", "", "got an empty text"),
        ("subscribePattern", "a(", "not a regular expression"),
    ],
)
def test_topics_that_are_not_topics_are_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("[", r"\[")):
        Topics.of(Options.parse({**KAFKA, name: value}, "read"))


@pytest.mark.parametrize("topic", ["", " "])
def test_the_topic_to_write_has_a_name(topic: str) -> None:
    given = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": topic}
    schema = T.StructType([T.StructField("value", T.BinaryType())])
    for plan_write in (lambda: writer(given, schema, overwrite=False), lambda: columns_to_write(given)):
        with pytest.raises(ConfigError, match=f"the option topic: a topic cannot have the name '{topic}'"):
            plan_write()


def test_a_pattern_matches_whole_names() -> None:
    topics = Topics.of(Options.parse({**KAFKA, "subscribePattern": "or.*s|x"}, "read"))
    assert [name for name in ("orders", "orders2", "my-orders", "x", "xx") if topics.matches(name)] == ["orders", "x"]


@pytest.mark.parametrize(
    "value",
    [
        "newest",
        "[]",
        '{"a": 1}',
        '{"a": {"0": -3}}',
        '{"a": {"zero": 1}}',
        '{"a": {"0": 1.5}}',
        '{"a": {"0": true}}',
        "{}",
    ],
)
def test_invalid_offsets_are_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"startingOffsets: expected.* JSON such as"):
        start_of(parsed(startingOffsets=value), stream=True)


def test_a_partition_is_named_once() -> None:
    with pytest.raises(ConfigError, match="startingOffsets: '0' is there twice"):
        start_of(parsed(startingOffsets='{"a": {"0": 1, "0": 2}}'), stream=True)


def test_a_batch_starts_at_the_earliest_offsets_and_a_stream_at_the_latest() -> None:
    assert start_of(parsed(), stream=False).everywhere == EARLIEST
    assert start_of(parsed(), stream=True).everywhere == LATEST
    assert end_of(parsed()).everywhere == LATEST


def test_a_batch_neither_starts_at_the_latest_nor_ends_at_the_earliest_offsets() -> None:
    for value in ("Latest", '{"a": {"0": 3, "1": -1}}'):
        with pytest.raises(ConfigError, match="a batch cannot start at the latest offset"):
            start_of(parsed(startingOffsets=value), stream=False)
        start_of(parsed(startingOffsets=value), stream=True)
    for value in ("earliest", '{"a": {"0": -2}}'):
        with pytest.raises(ConfigError, match="a batch cannot end at the earliest offset"):
            end_of(parsed(endingOffsets=value))


def test_a_time_for_all_wins_over_times_of_each_and_those_over_offsets() -> None:
    times = {"startingOffsetsByTimestamp": '{"a": {"0": 5}}', "startingOffsets": "earliest"}
    assert start_of(parsed(**times, startingTimestamp="7"), stream=True).time == 7
    assert start_of(parsed(**times), stream=True).times == {("a", 0): 5}


def test_the_beginning_of_1970_is_a_time() -> None:
    assert start_of(parsed(startingTimestamp="0"), stream=False).time == 0
    times = start_of(parsed(startingOffsetsByTimestamp='{"t": {"0": 0}}'), stream=False).times
    assert times == {("t", 0): 0}
    for value in ("-1", str(2**63)):
        with pytest.raises(ConfigError, match=f"startingTimestamp: expected a whole number from 0 .*got '{value}'"):
            start_of(parsed(startingTimestamp=value), stream=False)


@pytest.mark.parametrize("name", names.ENDS)
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(ConfigError, match=f"the option {name} has no meaning for a stream"):
        refuse_ends(parsed(**{name: "latest"}))


@pytest.mark.parametrize(
    "name", ["columns", "keep", "mode", "errorColumn", "schemaEvolution", "reader.schema", "reader.schemas"]
)
def test_options_of_decoding_are_refused_without_it(name: str) -> None:
    with pytest.raises(ConfigError, match=f"the option {name} has no effect without decode=true"):
        plan({**BASE, name: "key"})
    with pytest.raises(ConfigError, match=r"the option schema\.registry\.url has no effect without decode=true"):
        plan({**BASE, **SCHEMA_URL})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keep": "keys"}, "keep: 'keys' is not a column of Kafka.*did you mean key"),
        ({"includeHeaders": "true"}, "keep=headers keeps the column"),
        ({"reader.schema.policy": "latest.seen"}, "no reader.schema.policy=latest.seen"),
        ({"mode": "LENIENT"}, "mode: expected FAILFAST or"),
        ({"mode": "FAILFAST", "errorColumn": "e"}, "errorColumn requires mode PERMISSIVE"),
    ],
)
def test_options_of_decoding_are_checked_before_the_registry_is_asked(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        plan({**BASE, **SCHEMA_URL, "decode": "true", **given})
