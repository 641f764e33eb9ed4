"""KafkaAvroSink errors: invalid arguments and undeliverable messages are reported with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from orders import SCHEMA, TOPIC
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from streamnative_serdes import ConfigError, EncodeError, IncompatibleSchemaError
from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, decode_df, encode_df
from streamnative_serdes.spark.session import SparkError, spark_errors
from streamnative_serdes.testing import MockBroker


def test_a_kafka_user_of_another_tenant_is_refused_if_the_topic_has_a_short_name(
    kafka: dict[str, str], conf: dict[str, str]
) -> None:
    signed_in = {**kafka, "sasl.username": "t2/default", "sasl.password": "token:a"}
    for make in (KafkaAvroSink, KafkaAvroSource):
        with pytest.raises(ConfigError, match=r"belongs to tenant t2, but pulsar\.tenant is public"):
            make(TOPIC, signed_in, conf, SCHEMA)
    KafkaAvroSink(f"public/default/{TOPIC}", signed_in, conf, SCHEMA)
    KafkaAvroSource(f"public/default/{TOPIC}", signed_in, conf, SCHEMA)
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)


def test_the_error_for_a_row_that_does_not_fit_names_it(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)
    lost = orders.coalesce(1).withColumn("state", F.when(F.col("id") == 7, "LOST").otherwise(F.col("state")))
    with (
        pytest.raises(SparkError, match=r"EncodeError: .*field state: .*LOST.*\(row 7 of partition 0\)"),
        spark_errors(),
    ):
        sink.write(lost)


def test_a_broker_that_stops_fails_the_task(orders: DataFrame, conf: dict[str, str]) -> None:
    with MockBroker({TOPIC: 1}) as broker:
        away = {"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 1000}
        sink = KafkaAvroSink(TOPIC, away, conf, SCHEMA, most_reasons=1)
        sink.write(orders.limit(0))  # looks for the broker, once
    expected = r"DeliveryError: topic flights: \d+ messages not delivered; .*timed out .*the client reported .*refused"
    with pytest.raises(SparkError, match=expected), spark_errors():
        sink.write(orders.coalesce(1))


def test_a_schema_that_the_topic_refuses_fails_on_the_driver(kafka: dict[str, str], conf: dict[str, str]) -> None:
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)
    with pytest.raises(IncompatibleSchemaError):
        KafkaAvroSink(TOPIC, kafka, conf, "int")


def test_the_error_for_a_missing_column_names_it(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="nmae")
    expected = r"has no column 'nmae' .*id, state, note"
    with pytest.raises(ConfigError, match=expected):
        sink.write(orders)
    with pytest.raises(ConfigError, match=expected):
        sink.foreach_partition([Row(id=1, state="PAID", note=None)])


def test_a_column_that_differs_only_in_case_is_an_error(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    expected = "record Order has a field note, but the row has a column 'Note' .row"
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)
    with pytest.raises(ConfigError, match="topic flights: expected a column note, got Note"):
        sink.write(orders.withColumnRenamed("note", "Note"))
    struct = orders.withColumnRenamed("note", "Note").select(F.struct("*").alias("of"))
    with pytest.raises(EncodeError, match=r"topic flights, .*field note: .*Note"):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, value="of").write(struct)
    with pytest.raises(EncodeError, match=f"{expected} 1"):
        sink.foreach_partition([Row(id=1, state="PAID", note="n"), Row(id=1, state="PAID", Note="n")])
    nested = {"type": "record", "name": "Outer", "fields": [{"name": "of", "type": ["null", SCHEMA]}]}
    sink = KafkaAvroSink("nested", kafka, conf, nested)
    with pytest.raises(EncodeError, match=expected):
        sink.foreach_partition([Row(of=None), Row(of=Row(id=1, state="PAID", Note="n"))])


def test_rows_without_any_field_are_refused_and_not_written_as_defaults(
    kafka: dict[str, str], conf: dict[str, str]
) -> None:
    note = {"type": "record", "name": "Note", "fields": [SCHEMA["fields"][2]]}  # type: ignore[index]
    with pytest.raises(EncodeError, match="record Note has no field for columns 'id', 'state', and no column for its"):
        KafkaAvroSink(TOPIC, kafka, conf, note).foreach_partition([Row(id=1, state="PAID")])
    sink = KafkaAvroSink(TOPIC, kafka, {**conf, "unmatched.columns": "ignore"}, note)
    with pytest.raises(EncodeError, match="record Note has no field for any of the row's columns 'id', 'state'"):
        sink.foreach_partition([Row(id=1, state="PAID")])


def test_two_columns_of_the_same_name_are_refused(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    doubled = orders.select("*", F.lit("other").alias("note"))
    with pytest.raises(ConfigError, match="two columns have the name 'note'"):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA).write(doubled)
    with pytest.raises(ConfigError, match="two columns have the name 'note'"):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="note", value=lambda row: None).write(doubled)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"on_delivery": print}, "topic flights: on_delivery is not supported in a sink: the sink's tasks handle"),
        ({"dr_cb": print}, "topic flights: dr_cb is not supported in a sink: the sink's tasks handle"),
        ({"acks": "0", "enable.idempotence": False}, "topic flights: acks=0 is not supported in a sink: lost messages"),
        (
            {"request.required.acks": 0},
            r"topic flights: request\.required\.acks=0 is not supported in a sink: lost messages",
        ),
        ({"transactional.id": "t"}, r"topic flights: transactional\.id is not supported in a sink: .* at least once"),
    ],
    ids=["callback", "its old name", "no answer", "no answer, by its old name", "transactions"],
)
def test_unsupported_producer_options_are_refused(
    kafka: dict[str, str], conf: dict[str, str], option: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        KafkaAvroSink(TOPIC, {**kafka, **option}, conf, SCHEMA)


def test_a_kafka_configuration_error_is_reported(kafka: dict[str, str], conf: dict[str, str]) -> None:
    wrong = {**kafka, "linger.sm": 5}
    expected = r'topic flights: the Kafka client refuses its configuration: .*"linger\.sm"'
    with pytest.raises(ConfigError, match=expected):
        KafkaAvroSink(TOPIC, wrong, conf, SCHEMA).foreach_partition([Row(id=1, state="PAID", note=None)])
    with pytest.raises(ConfigError, match=expected):
        KafkaAvroSource(TOPIC, wrong, conf).ranges()
    for kind in (KafkaAvroSink, KafkaAvroSource):
        with pytest.raises(ConfigError, match="expected the Kafka client's options as a dict, got NoneType"):
            kind(TOPIC, None, conf, SCHEMA)  # type: ignore[arg-type]


def test_a_key_of_another_type_is_refused(orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="id")
    expected = "expected a key of type str(ing or binary| or bytes), got "
    with pytest.raises(ConfigError, match=f"topic flights: {expected}bigint .hint: cast the column to string"):
        sink.write(orders)
    with pytest.raises(EncodeError, match=f"{expected}int"):
        sink.foreach_partition([Row(id=1, state="PAID", note=None)])


def test_key_and_value_must_be_a_column_name_a_column_or_a_function(
    kafka: dict[str, str], conf: dict[str, str]
) -> None:
    for name in ("key", "value"):
        for given, shown in ((["id"], r"\['id'\]"), (7, "7")):
            expected = f"{name}: expected a column name, a Column or a function of the row, got {shown}"
            with pytest.raises(ConfigError, match=expected):
                KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, **{name: given})


def test_an_expression_needs_a_dataframe(kafka: dict[str, str], conf: dict[str, str], spark: SparkSession) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key=F.col("id"))
    with pytest.raises(ConfigError, match="key is a Column"):
        sink.foreach_partition([Row(id=1)])
    with pytest.raises(ConfigError, match="mix a Column with a function"):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key=F.col("id"), value=lambda row: row)


def test_the_error_for_swapped_arguments_says_their_order(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    swapped: Any
    for make in (KafkaAvroSink, KafkaAvroSource):
        for swapped in ((conf, kafka, TOPIC), (kafka, TOPIC, conf)):
            with pytest.raises(ConfigError, match=r"the name of a topic, got dict \(hint: the topic goes first"):
                make(*swapped)
        swapped = TOPIC, kafka, conf["schema.registry.url"]
        with pytest.raises(ConfigError, match=r"expected the options as a dict, got str \(hint: {\"schema\.registry"):
            make(*swapped)
    for convert in (decode_df, encode_df):
        swapped = conf, orders
        with pytest.raises(
            ConfigError, match=rf"expected a DataFrame, got options \(hint: {convert.__name__}\(df, con"
        ):
            convert(*swapped, topic=TOPIC)
