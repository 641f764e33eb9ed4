"""The code in the pages on testing, migration, messages, topics of any type, converters and interoperability runs.

Only addresses are replaced.

README.md and the other pages have tests of their own: test_examples.py, test_auth_docs.py, test_arrow_docs.py,
test_cli_docs.py, test_typed_document.py and test_spark_docs.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kop_golden
import pytest
from confluent_kafka import Consumer, Producer
from confluent_stand_in import ConfluentStandIn
from scripted_registry import Answer, ScriptedRegistry

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes import _config as config
from streamnative_serdes.compat import avro
from streamnative_serdes.integrations.pulsar_client import schema_version_of
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry, MockBroker

DOCS = Path(__file__).parents[3] / "docs"
USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
ADA = {"name": "Ada"}


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_code_of_the_testing_page_runs_unchanged() -> None:
    names: dict[str, Any] = {}
    own = blocks("testing.md") + blocks("tested.md")
    assert len(own) == 3
    for code in own:
        exec(code, names)
    assert names["LocalRegistry"] is LocalRegistry


def test_the_code_of_the_pages_to_start_from_and_to_observe_runs(
    registry: LocalRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    _, moved = blocks("start.md")  # the first block is run by test_examples.py
    names: dict[str, Any] = {}
    exec(moved.replace("http://localhost:8080", registry.url), names)
    assert names["AvroSerializer"] is avro.AvroSerializer
    (counted,) = blocks("observe.md")
    exec(counted, {})
    assert capsys.readouterr().out.strip() == counted.rpartition("# ")[2].strip()


def test_the_page_on_migration_runs(registry: LocalRegistry) -> None:
    (keys,), (code, both) = blocks("migration.md"), blocks("from-confluent.md")
    names: dict[str, Any] = {"schema_str": '{"type": "string"}', "to_dict": lambda obj, ctx: obj}
    exec(code.replace("http://localhost:8080", registry.url), names)
    assert isinstance(names["serializer"], avro.AvroSerializer)
    with ConfluentStandIn() as second:
        exec(both.replace("http://localhost:8081", second.url), names)
        number = second.register("orders-value", '"string"')
        framed = b"\0" + number.to_bytes(4) + b"\x04hi"
        ctx = SerializationContext("orders", MessageField.VALUE)
        assert names["deserializer"](framed, ctx) == "hi"
        assert names["deserializer"](names["serializer"]("ho", ctx), ctx) == "ho"
    exec(re.sub("(?m)^# ", "", code), dict(names))  # what it replaces is there, too
    with ConfluentStandIn() as second:
        exec(keys.replace("http://localhost:8080", registry.url).replace("http://localhost:8081", second.url), names)
        ctx = SerializationContext("orders", MessageField.KEY)
        for way, key in (("kept", b"\0\0\0\0\1\x02"), ("bare", b"\x02")):
            assert names[f"write_{way}"]({"number": 1}, ctx) == key
            assert names[f"read_{way}"](key, ctx) == names["read_both"](key, ctx) == {"number": 1}


def test_the_code_of_the_messages_page_separates_undecodable_messages(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    *_, code = blocks("messages.md")
    with MockBroker({"orders": 1}) as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        producer = Producer(kafka)
        for value in (KafkaAvroSerializer(conf, USER).serialize("orders", ADA), b"no message"):
            producer.produce("orders", value)
        assert producer.flush(30) == 0
        consumer = Consumer({**kafka, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        names: dict[str, Any] = {"deserializer": KafkaAvroDeserializer(conf), "consumer": consumer, "seen": []}
        lost: list[Any] = []
        for _ in range(60):  # each waits for at most a second
            exec(code.replace("    ...", "    seen.append(order)"), names)
            lost += names["dead"]
            if len(names["seen"]) == 2:
                break
        consumer.close()
    assert names["seen"] == [ADA, None]
    assert [(raw.data, raw.topic, raw.offset) for raw in lost] == [(b"no message", "orders", 1)]


def test_the_code_of_the_messages_page_reads_both_framings(registry: LocalRegistry) -> None:
    code, *_ = blocks("messages.md")
    framed = KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("users", ADA)
    with ConfluentStandIn() as second:
        code = code.replace("http://localhost:8080", registry.url).replace("http://localhost:8081", second.url)
        names: dict[str, Any] = {"KafkaAvroDeserializer": KafkaAvroDeserializer}
        exec(code, names)
        assert framed is not None
        for message in (framed, b"\0" + second.register("users-value", USER).to_bytes(4) + framed[10:], framed[10:]):
            assert names["deserializer"].deserialize("users", message) == ADA


def test_the_code_of_the_messages_page_shows_as_which_schema_messages_come_out() -> None:
    _, _, _, _, code, _ = blocks("messages.md")
    exec(code, {})


def test_the_code_of_the_messages_page_writes_and_reads_keys_and_values(registry: LocalRegistry) -> None:
    _, code, avro_keys, with_keys, *_ = blocks("messages.md")
    names: dict[str, Any] = {"conf": {"schema.registry.url": registry.url}}
    exec(code, names)
    of_key, of_value = (SerializationContext("users", field) for field in (MessageField.KEY, MessageField.VALUE))
    key, value = names["write_key"]({"id": 1}, of_key), names["write_value"](ADA, of_value)
    assert (key, value) == (b"\x02", b"\x06Ada")
    assert (names["read_key"](key, of_key), names["read_value"](value, of_value)) == ({"id": 1}, ADA)
    of_key.topic = of_value.topic = "plain"
    with ConfluentStandIn() as second:
        exec(
            avro_keys.replace("http://localhost:8080", registry.url).replace("http://localhost:8081", second.url), names
        )
        assert names["write_value"](ADA, of_value) == b"\x03\x04" + bytes(8) + b"\x06Ada"
        bare, framed = (names[name]({"id": 1}, of_key) for name in ("write_key", "write_old_key"))
        assert (bare, framed, [*second.subjects]) == (b"\x02", b"\0\0\0\0\1\x02", ["plain-key"])
        assert names["read_both"](bare, of_key) == names["read_both"](framed, of_key) == {"id": 1}
    exec(with_keys, names)
    of_key.topic = "framed"
    framed = names["producer_conf"]["key.serializer"]({"id": 1}, of_key)
    assert framed == b"\x03\x04" + bytes(8) + b"\x02"
    assert names["read_value"].deserialize("framed-key", framed) == {"id": 1}


def test_the_code_of_the_page_on_any_type_prints_what_it_says(
    registry: LocalRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = blocks("auto-consume.md")
    exec(code.replace("http://localhost:8080", registry.url), {})
    assert capsys.readouterr().out.splitlines() == code.rpartition("# ")[2].strip().split(", ")


def test_the_pages_list_the_options_for_topics_of_any_type() -> None:
    text = (
        (DOCS / "config.md").read_text().partition("`KafkaAutoConsumeDeserializer` takes ")[2].partition(" of these")[0]
    )
    shared = {option.key for option in (*config.REGISTRY_OPTIONS, *config.CODEC_OPTIONS)}
    assert set(re.findall("`([^`]+)`", text)) == {option.key for option in config.AUTO_CONSUME_OPTIONS} - shared
    second = {option.key for option in config.CONFLUENT_OPTIONS}
    left_out = {option.key for option in config.SERIALIZER_OPTIONS} - {o.key for o in config.PULSAR_SERIALIZER_OPTIONS}
    assert left_out - second == {"framing", "key.schema"}


def test_the_code_of_the_interoperability_page_reads_a_pulsar_clients_messages(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    framed = KafkaAvroSerializer(conf, USER).serialize("users", ADA)
    assert framed is not None
    _, code = blocks("interoperability.md")
    for data, version in ((framed, ""), (framed[10:], "\0" * 8)):
        # tests/integration/integrations/test_pulsar_schema.py runs all code of the page on a real Pulsar.
        received = SimpleNamespace(data=lambda data=data: data, schema_version=lambda version=version: version)
        consumer = SimpleNamespace(receive=lambda received=received: received)
        names: dict[str, Any] = {
            "consumer": consumer,
            "deserializer": KafkaAvroDeserializer(conf),
            "schema_version_of": schema_version_of,
        }
        exec(code, names)
        assert names["user"] == ADA


def test_the_code_of_the_page_on_converters_reads_entries(
    registry: LocalRegistry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("google_crc32c")
    from streamnative_serdes.converters import Message, write_record_batch

    conf = {"schema.registry.url": registry.url}
    names: dict[str, Any] = {"entry": kop_golden.KAFKA_VALUE, "deserializer": KafkaAvroDeserializer(conf)}
    value = KafkaAvroSerializer(conf, USER).serialize("orders", ADA)
    (tmp_path / "00000000000000000000.log").write_bytes(write_record_batch([Message(value, offset=7)]))
    blocks_of_page = blocks("converters.md")
    (through_admin,) = (code for code in blocks_of_page if "AdminEntryReader" in code)
    for code in blocks_of_page:
        if code is not through_admin:
            exec(code.replace("/var/lib/kafka/orders-0", str(tmp_path)), names)
    lines = ["0 1600000000000 None () 0 b'\\x02a\\x02'", "7 0 b'\\x06Ada'", "None b'\\x02a\\x02'"]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(lines)
    assert names["orders"].to_pylist() == [ADA]
    headers = {"Message-ID": "7:0", "PROPERTY": '{"entry.format":"kafka"}', "num-batch-message": "1"}
    stats = {"ledgers": [{"ledgerId": 7, "entries": 0}], "lastConfirmedEntry": "7:0"}
    entry = Answer(
        body=kop_golden.KAFKA_VALUE[48:], headers={f"X-Pulsar-{name}": value for name, value in headers.items()}
    )
    with ScriptedRegistry(Answer(body=stats), entry) as server:
        exec(through_admin.replace("http://localhost:8080", server.url), names)
    assert capsys.readouterr().out == "partition 0, entry 7:0 0 0 b'\\x02a\\x02'\n"
