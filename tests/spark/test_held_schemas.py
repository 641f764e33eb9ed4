"""Text equal to a version that the registry holds is taken in Spark too, and the tasks ask no registry about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import requests

from streamnative_serdes.errors import SchemaError
from streamnative_serdes.spark import decode_df, encode_df
from streamnative_serdes.testing import LocalRegistry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Pulsar takes this default.
FAULTY = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long", "default": "x"}]})


def test_a_frame_is_written_and_read_by_it(spark: SparkSession, registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url, "cache.latest.ttl.sec": "3600", "cache.missing.ttl.sec": "0"}
    df = spark.range(3, numPartitions=2)
    with pytest.raises(SchemaError, match="bad default"):
        encode_df(df, conf, topic="t", schema=FAULTY)
    body = {"type": "AVRO", "schema": FAULTY, "properties": {}}
    requests.post(f"{registry.url}/admin/v2/schemas/public/default/t/schema", json=body, timeout=10).raise_for_status()
    messages = encode_df(df, conf, topic="t", schema=FAULTY)
    decoded = decode_df(messages, conf, topic="t", schema=FAULTY)
    before = len(registry.requests)
    assert sorted(row.id for row in decoded.collect()) == [0, 1, 2]
    assert len(registry.requests) == before
