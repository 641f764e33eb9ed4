"""Messages in the framings of Apicurio, AWS Glue and Azure in DataFrames, as executors read them."""

from __future__ import annotations

import json
import zlib
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Producer
from foreign_stand_ins import ForeignStandIn
from pyspark.sql import SparkSession
from vendor_framings import AZURE_ID, GLUE_ID, SCHEMA, golden

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark import decode_df, from_avro
from streamnative_serdes.testing import MockBroker

MESSAGES = "value binary, headers array<struct<key: string, value: binary>>"


def glue_client() -> Any:
    """As boto3's client, of classes that executors can import."""
    client: Any = partial(dict)
    client.get_schema_version = partial(dict, SchemaDefinition=json.dumps(SCHEMA), DataFormat="AVRO")
    return client


def test_dataframes_hold_messages_of_all_framings(spark: SparkSession, conf: dict[str, str]) -> None:
    KafkaAvroSerializer(conf, SCHEMA).warm_up("orders")
    with ForeignStandIn() as others:
        for path in ("/ids/globalIds/2", "/ids/contentIds/1", f"/$schemaGroups/$schemas/{AZURE_ID}"):
            others.add(path, SCHEMA)
        options = {
            **conf,
            "apicurio.registry.url": others.apicurio,
            "azure.schema.registry.url": others.url,
            "glue.registry": glue_client(),
            "framings": "snip42,apicurio-header,azure-header,apicurio,apicurio-v3,glue,azure,azure-content-type",
        }
        written = [one for one in golden() if one.use_id is None]
        rows: list[tuple[bytes | None, Any]] = [(one.message, one.headers) for one in written]
        rows.append((b"\3\5" + UUID(GLUE_ID).bytes + zlib.compress(b"\2\2x"), []))
        frame = spark.createDataFrame(rows, MESSAGES).coalesce(1)
        expected = [*((one.datum["id"], one.datum["note"]) for one in written), (1, "x")]
        assert [(row.id, row.note) for row in decode_df(frame, options, topic="orders").collect()] == expected
        column = from_avro("value", options, topic="orders", headers="headers").alias("o")
        assert [(row.o.id, row.o.note) for row in frame.select(column).collect()] == expected
        with pytest.raises(ConfigError, match="framings has one that is in headers"):
            decode_df(frame.drop("headers"), options, topic="orders")


def test_the_data_source_reads_them(spark: SparkSession, conf: dict[str, str]) -> None:
    KafkaAvroSerializer(conf, SCHEMA).warm_up("orders")
    with ForeignStandIn() as others, MockBroker({"orders": 1}) as broker:
        for path in ("/ids/globalIds/2", "/ids/contentIds/1", f"/$schemaGroups/$schemas/{AZURE_ID}"):
            others.add(path, SCHEMA)
        written = [one for one in golden() if one.use_id is None and one.framing != "glue"]
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for one in written:
            producer.produce("orders", one.message, headers=one.headers)
        assert producer.flush(30) == 0
        options = {
            **conf,
            "kafka.bootstrap.servers": broker.bootstrap_servers,
            "kafka.log_level": "0",
            "subscribe": "orders",
            "decode": "true",
            "apicurio.registry.url": others.apicurio,
            "azure.schema.registry.url": others.url,
            "framings": "snip42,apicurio-header,azure-header,apicurio,apicurio-v3,azure,azure-content-type",
        }
        found = spark.read.format("streamnative-kafka").options(**options).load().collect()
        assert [(row.id, row.note) for row in found] == [(one.datum["id"], one.datum["note"]) for one in written]
