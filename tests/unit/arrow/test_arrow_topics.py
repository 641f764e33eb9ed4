"""deserialize_batch and serialize_batch: each message is read by its own version, as single messages are."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest
from any_type import delete, register
from conf import conf

pa = pytest.importorskip("pyarrow")

from streamnative_serdes import (  # noqa: E402 - requires pyarrow
    BatchTooLargeError,
    DecodeError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from streamnative_serdes._call_path import policy_of  # noqa: E402
from streamnative_serdes._topics import binding as binding_module  # noqa: E402
from streamnative_serdes._topics.binding import Binding  # noqa: E402
from streamnative_serdes.arrow import in_parts  # noqa: E402
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.schema_registry import TopicName  # noqa: E402
from streamnative_serdes.testing import LocalRegistry  # noqa: E402

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
ANN = {"name": "ann"}


def version(number: int) -> dict[str, Any]:
    """Return the schema of a version: each has one field more than the one before."""
    more = [{"name": f"f{i}", "type": ["null", "int"], "default": None} for i in range(number)]
    return {**USER, "fields": [*USER["fields"], *more]}


def header(number: int) -> bytes:
    return b"\3\4" + number.to_bytes(8, "big")


def written(registry: LocalRegistry, count: int) -> list[bytes]:
    """Register ``count`` versions, and return a message of each."""
    messages = []
    for number in range(count):
        serializer = KafkaAvroSerializer(conf(registry), version(number))
        messages.append(serializer.serialize("t", {"name": f"v{number}", f"f{number - 1}": number}))
    return messages


def refused(registry: LocalRegistry, data: list[bytes], kind: type[Exception] = DecodeError, **more: Any) -> Any:
    with pytest.raises(kind) as caught:
        KafkaAvroDeserializer(conf(registry, **more)).deserialize_batch("t", pa.array(data))
    return caught.value


def test_messages_of_several_versions_are_read_with_the_latest_as_readers_schema(registry: LocalRegistry) -> None:
    messages = written(registry, 12)
    deserializer = KafkaAvroDeserializer(conf(registry))
    rows = [messages[i * 5 % 12] for i in range(500)]

    batch = deserializer.deserialize_batch("t", pa.array([*rows, None]))
    batch.validate(full=True)
    latest = KafkaAvroDeserializer(conf(registry, **{"use.latest.version": True}))
    assert batch.to_pylist()[:-1] == [latest.deserialize("t", row) for row in rows]
    assert batch.schema == deserializer.columns("t").arrow_schema
    assert not any(batch.to_pylist()[-1].values())
    assert deserializer.stats()["messages"] == 500


def test_messages_are_read_with_the_given_readers_schema_and_each_version_is_requested_once(
    registry: LocalRegistry,
) -> None:
    messages = written(registry, 3)
    Binding.forget()
    deserializer = KafkaAvroDeserializer(conf(registry), version(1))

    for _ in range(2):
        assert deserializer.deserialize_batch("t", pa.array(messages)).to_pylist() == [
            {"name": "v0", "f0": None},
            {"name": "v1", "f0": 1},
            {"name": "v2", "f0": None},
        ]
    assert deserializer.registry_calls() == 3


def test_a_version_that_does_not_resolve_to_the_readers_schema_is_an_error_of_its_rows(registry: LocalRegistry) -> None:
    messages = written(registry, 1)
    deserializer = KafkaAvroDeserializer(conf(registry), {**USER, "fields": [{"name": "name", "type": "int"}]})

    batch = deserializer.deserialize_batch("t", pa.array([None, *messages]), error_column="why")
    assert batch.column("why").to_pylist() == [
        None,
        "topic t, schema version 0, field name: the writer's string cannot be read as the reader's int "
        "(hint: no data of the writer's schema can be read with this schema)",
    ]
    with pytest.raises(SchemaError, match=r"topic t, row 1, schema version 0, field name: the writer's string"):
        deserializer.deserialize_batch("t", pa.array([None, *messages]))


def test_errors_of_one_version_have_nothing_of_the_rows_of_another_one(registry: LocalRegistry) -> None:
    # An enum that is skipped was remembered as the place of the next fault, by its number in the plan of its version.
    colors = [
        {"name": f"c{i}", "type": {"type": "enum", "name": f"C{i}", "symbols": ["A", "B"]}, "default": "A"}
        for i in range(400)
    ]
    many = {**USER, "fields": [*USER["fields"], *colors]}
    first = KafkaAvroSerializer(conf(registry), many).serialize("t", {"name": "v0"})
    second = KafkaAvroSerializer(conf(registry), USER).serialize("t", {"name": "v1"})
    assert first is not None
    assert second is not None
    for _ in range(20):
        rows = [first, second[:-1], first, second[:10], first[:-1]]
        batch = KafkaAvroDeserializer(conf(registry), USER).deserialize_batch("t", rows, error_column="why")
        assert batch.column("name").to_pylist() == ["v0", None, "v0", None, None]
        why = batch.column("why").to_pylist()
        assert "expected a length from 0 to 1, the number of remaining bytes, got 2" in why[1]
        assert "the message ends in the middle of a number" in why[3]
        assert "the message ends in the middle of a number" in why[4]


def test_messages_without_a_header_are_read_by_the_latest_version(registry: LocalRegistry) -> None:
    messages = written(registry, 2)
    bare = Codec(version(1)).encode({"name": "bare", "f0": 5})
    deserializer = KafkaAvroDeserializer(conf(registry))

    batch = deserializer.deserialize_batch("t", pa.array([bare, messages[0], bare]))
    assert batch.column("name").to_pylist() == ["bare", "v0", "bare"]
    assert deserializer.stats()["headerless"] == 2
    error = refused(registry, [messages[0], bare], **{"fallback.to.latest": False})
    assert str(error).startswith("topic t, row 1: the message has no schema version header")


def test_a_message_of_an_unknown_version_is_read_by_the_latest_from_its_body_or_as_a_whole(
    registry: LocalRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    longs = {"type": "record", "name": "L", "fields": [{"name": name, "type": "long"} for name in "abcdefghij"]}
    KafkaAvroSerializer(conf(registry), longs).serialize("t", dict.fromkeys("abcdefghij", 0))
    body = Codec(longs).encode(dict(zip("abcdefghij", range(10), strict=True)))
    whole = header(1)  # ten bytes, which are also ten longs
    deserializer = KafkaAvroDeserializer(conf(registry))

    with caplog.at_level(logging.WARNING):
        batch = deserializer.deserialize_batch("t", pa.array([header(7) + body, whole, header(7) + body, b"\3\4"]),
                                               error_column="why")  # fmt: skip
    expected = [deserializer.deserialize("t", one) for one in (header(7) + body, whole)]
    assert batch.drop_columns("why").to_pylist()[:3] == [expected[0], expected[1], expected[0]]
    assert [record.args[1:] for record in caplog.records] == [
        (7, "which the registry does not have", "the bytes after its header", 0),
        (1, "which the registry does not have", "all of it, as a message without a header,", 0),
    ]
    assert deserializer.stats() | {"bytes": 0, "hits": 0, "misses": 0, "registry_calls": 0} == {
        "messages": 6, "bytes": 0, "hits": 0, "misses": 0, "errors": 1, "headerless": 1, "fallbacks": 5,
        "registry_calls": 0,
    }  # fmt: skip

    neither = refused(registry, [header(7) + b"\0"])
    assert str(neither).startswith(
        "topic t, row 0, schema version 7: the registry does not have this version, and the message"
    )
    unknown = refused(registry, [header(7) + body], SchemaNotFoundError, **{"fallback.to.latest": False})
    assert (unknown.row, unknown.version) == (0, 7)


def test_an_unavailable_registry_is_an_error_of_the_batch_and_not_of_its_rows(registry: LocalRegistry) -> None:
    messages = written(registry, 2)
    Binding.forget()
    gone = conf(registry, **{"retries.total.ms": 2000})
    deserializer = KafkaAvroDeserializer(gone, USER)
    assert deserializer.deserialize_batch("t", pa.array(messages[:1])).num_rows == 1

    registry.close()
    with pytest.raises(SchemaRegistryError):
        deserializer.deserialize_batch("t", pa.array(messages), error_column="why")


@pytest.mark.parametrize("fallback", [True, False])
def test_a_batch_does_not_request_each_version_that_damaged_headers_name(
    registry: LocalRegistry, fallback: bool
) -> None:
    messages = written(registry, 3)
    damaged = [header(number) + b"\xff" for number in range(100, 300)]
    reader = KafkaAvroDeserializer(conf(registry, **{"fallback.to.latest": fallback}), version(0))
    Binding.forget()
    before = registry.calls
    rows = pa.array([messages[0], *damaged, *messages])
    errors = reader.deserialize_batch("t", rows, error_column="why")["why"].to_pylist()
    assert [row for row, error in enumerate(errors) if error is None] == [0, 201, 202, 203]
    assert all("topic t" in error and str(100 + row) in error for row, error in enumerate(errors[1:201]))
    after = registry.calls - before
    assert after["GET schemas"] == 1
    # The first version, a missing one, and two that the process has registered; all others are listed in one call.
    assert after["GET version"] <= 4

    written(registry, 4)  # registers a version that was missing before
    later = KafkaAvroSerializer(conf(registry), version(4)).serialize("t", ANN)
    assert reader.deserialize_batch("t", pa.array([*damaged[:2], later])[2:]).to_pylist() == [ANN]


def test_versions_are_requested_one_by_one_if_one_is_not_avro(registry: LocalRegistry) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    register(registry, "t", "STRING")
    (message,) = written(registry, 1)
    rows = pa.array([header(8) + b"\xff", header(9) + b"\xff", message])
    reader = KafkaAvroDeserializer(conf(registry, **{"fallback.to.latest": False}), USER)
    Binding.forget()
    batch = reader.deserialize_batch("t", rows, error_column="why")
    assert [error is None for error in batch["why"].to_pylist()] == [False, False, True]


def test_the_error_for_a_message_of_confluents_serializer_says_so(registry: LocalRegistry) -> None:
    written(registry, 1)

    assert "Confluent's serializer (0x00, schema id 5)" in str(refused(registry, [b"\0\0\0\0\5\xff"]))


def test_a_recreated_topic_is_detected_in_the_middle_of_a_batch(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    number = {"type": "record", "name": "User", "fields": [{"name": "age", "type": "double"}]}
    reader = {**USER, "fields": [{**USER["fields"][0], "default": ""}, {**number["fields"][0], "default": 0.0}]}
    old = KafkaAvroSerializer(conf(registry), USER).serialize("t", ANN)
    deserializer = KafkaAvroDeserializer(conf(registry), reader)
    assert deserializer.deserialize_batch("t", pa.array([old])).to_pylist() == [{"name": "ann", "age": 0.0}]

    delete(registry)
    new = KafkaAvroSerializer(conf(registry, **{"retries.wait.ms": 201}), number).serialize("t", {"age": 2.5})
    batch = deserializer.deserialize_batch("t", pa.array([new, new]))
    assert batch.to_pylist() == [{"name": "", "age": 2.5}] * 2


def test_a_version_missing_in_the_recreated_topic_is_an_error_of_each_of_its_rows(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    first, second = written(registry, 2)
    deserializer = KafkaAvroDeserializer(conf(registry), version(0))
    assert deserializer.deserialize_batch("t", pa.array([first, second])).to_pylist() == [
        {"name": "v0"},
        {"name": "v1"},
    ]

    delete(registry)
    KafkaAvroSerializer(conf(registry, **{"retries.wait.ms": 201}), USER).serialize("t", ANN)
    rows = pa.array([second[:-1], second[:-1], second, first])
    batch = deserializer.deserialize_batch("t", rows, error_column="why")
    assert batch["name"].to_pylist() == [None, None, "v1", "v0"]
    for why in batch["why"].to_pylist()[:2]:
        assert why.startswith(
            "topic t, schema version 1, field f0, byte 14: the message ends in the middle of a number"
        )


def test_the_error_for_a_message_unreadable_after_recreation_says_what_it_looks_like(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_module, "_LEAST_SECONDS", 0.0)
    written(registry, 1)
    deserializer = KafkaAvroDeserializer(conf(registry), version(0))
    assert deserializer.deserialize_batch("t", pa.array([b"\6ann"])).to_pylist() == [ANN]

    delete(registry)
    KafkaAvroSerializer(conf(registry, **{"retries.wait.ms": 201}), version(1)).serialize("t", ANN)
    error = refused(registry, [b"\0\0\0\0\5\xff"])
    assert str(error).startswith("topic t, row 0, schema version 0, ")
    assert "Confluent's serializer (0x00, schema id 5)" in str(error)
    with pytest.raises(DecodeError, match=r"^topic t, row 0, schema version 0, .*schema id 5"):
        deserializer.deserialize_batch("t", pa.array([b"\0\0\0\0\5\xff"]))


def test_a_pickle_contains_the_schemas_that_its_batches_used(registry: LocalRegistry) -> None:
    messages = written(registry, 3)
    deserializer, serializer = KafkaAvroDeserializer(conf(registry)), KafkaAvroSerializer(conf(registry), version(2))
    batch = deserializer.deserialize_batch("t", pa.array(messages))
    again = serializer.serialize_batch("t", batch)
    texts = [pickle.dumps(one) for one in (deserializer, serializer)]
    Binding.forget()

    reader, writer = map(pickle.loads, texts)
    assert reader.deserialize_batch("t", pa.array(messages)) == batch
    assert writer.serialize_batch("t", batch) == again
    assert reader.registry_calls() == writer.registry_calls() == 0


def test_messages_that_exceed_one_batch_can_be_read_in_parts(registry: LocalRegistry) -> None:
    schema = {"type": "array", "items": {"type": "fixed", "name": "Nothing", "size": 0}}
    messages = pa.array([KafkaAvroSerializer(conf(registry), schema).serialize("t", [b""] * 900) for _ in range(5)])
    deserializer = KafkaAvroDeserializer({**conf(registry), "max.items": 1000})
    with pytest.raises(BatchTooLargeError, match=r"^topic t, row 1: the items of the batch take .*in_parts") as caught:
        deserializer.deserialize_batch("t", messages)
    assert caught.value.row == 1
    assert deserializer.stats()["errors"] == 0

    parts = list(in_parts(messages, lambda part: deserializer.deserialize_batch("t", part)))
    assert [len(part) for part, _ in parts] == [len(batch) for _, batch in parts] == [1] * 5
    assert deserializer.stats()["messages"] == 5


def test_a_batch_is_written_with_the_version_of_its_schema_in_the_topic(registry: LocalRegistry) -> None:
    written(registry, 2)
    serializer = KafkaAvroSerializer(conf(registry), version(1))
    batch = pa.RecordBatch.from_pylist([{"name": "ann", "f0": 1}, {"name": "bob", "f0": None}])

    messages = serializer.serialize_batch("t", batch)
    assert messages.type == pa.binary()
    assert messages.to_pylist() == [serializer.serialize("t", row) for row in batch.to_pylist()]
    assert messages[0].as_py().startswith(header(1))
    assert serializer.serialize_batch("t", batch, large_types=True).type == pa.large_binary()
    assert serializer.stats()["messages"] == 6

    wrong = batch.set_column(0, "name", pa.array(["ann", None]))
    with pytest.raises(EncodeError, match=r"^topic t, row 1, schema version 1, field name: expected string, got null"):
        serializer.serialize_batch("t", wrong)
    assert serializer.stats()["errors"] == 1


def test_without_a_schema_a_batch_is_written_with_the_latest(registry: LocalRegistry) -> None:
    written(registry, 2)
    batch = pa.RecordBatch.from_pylist([{"name": "ann", "f0": 1}])

    assert KafkaAvroSerializer(conf(registry)).serialize_batch("t", batch)[0].as_py().startswith(header(1))


def test_one_deserializer_returns_columns_with_32_bit_or_64_bit_offsets(registry: LocalRegistry) -> None:
    messages = pa.array(written(registry, 1))
    deserializer = KafkaAvroDeserializer(conf(registry))

    for large, kind in [(False, pa.string()), (True, pa.large_string()), (False, pa.string())]:
        assert deserializer.deserialize_batch("t", messages, large_types=large).column("name").type == kind
        assert deserializer.columns("t", large_types=large).arrow_schema.field("name").type == kind


def test_an_unknown_version_is_not_requested_again_in_batches_with_headerless_messages(registry: LocalRegistry) -> None:
    (good,) = written(registry, 1)
    reader = KafkaAvroDeserializer(conf(registry))
    data = pa.array([good, header(77) + good[10:], good[10:]])
    assert len(reader.deserialize_batch("t", data)) == 3
    registry.reset_calls()
    assert len(reader.deserialize_batch("t", data)) == 3
    assert registry.calls == {}


def test_a_topics_name_is_parsed_once_for_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    original = TopicName.parse

    def parse(topic: str, tenant: str = "public", namespace: str = "default") -> TopicName:
        parsed.append(topic)
        return original(topic, tenant, namespace)

    monkeypatch.setattr(binding_module.TopicName, "parse", parse)
    with LocalRegistry() as registry:
        data = written(registry, 1)
        Binding.forget()
        deserializer = KafkaAvroDeserializer(conf(registry))
        deserializer.deserialize_batch("t", data)  # asks the registry
        parsed.clear()
        for _ in range(3):
            assert deserializer.deserialize_batch("t", data).to_pylist() == [{"name": "v0"}]
            with pytest.raises(SerdesError, match="invalid topic name"):
                deserializer.deserialize_batch("a/b", data)
    assert set(parsed) == {"a/b"}


def test_a_topic_is_what_its_text_says_whatever_class_the_text_has() -> None:
    class Odd(str):
        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

    with LocalRegistry() as registry, KafkaAvroDeserializer(conf(registry)) as deserializer:
        binding: Binding = policy_of(deserializer).binding
        assert [binding.named(Odd("t")) for _ in range(2)] == [binding.named("t")] * 2


def test_missing_whole_numbers_of_pandas_get_the_hint_that_helps(registry: LocalRegistry) -> None:
    pandas = pytest.importorskip("pandas")
    numbers = {"type": "record", "name": "N", "fields": [{"name": "a", "type": ["null", "int"]}]}
    frame = pandas.DataFrame({"a": [1, None]})
    with KafkaAvroSerializer(conf(registry), numbers) as serializer:
        with pytest.raises(EncodeError, match=r"a column of type double .hint: .*convert_dtypes\(\)"):
            serializer.serialize_batch("numbers", frame)
        with pytest.raises(EncodeError, match="cast the column"):
            serializer.serialize_batch("numbers", pa.table({"a": [1.0]}))
        assert len(serializer.serialize_batch("numbers", frame.convert_dtypes())) == 2
