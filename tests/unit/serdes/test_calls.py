"""Calls of serializers and deserializers, also with a replaced __call__: they create no tuple of arguments (PEP 590),
and on Python 3.11 the class itself must detect a replacement."""

from __future__ import annotations

import gc
import json
import pickle
import re
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from child import run_limited
from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes import ConfigError, KafkaAvroDeserializer, KafkaAvroSerializer, SerdesError, _call_path

HAVE_VECTORCALL = 1 << 11  # in type.__flags__
SCHEMA = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = {"name": "bob"}
MESSAGE = b"\x03\x04" + bytes(8) + b"\x06bob"
CTX = SerializationContext("users", MessageField.VALUE)


class Shouting(KafkaAvroSerializer):
    """A user's subclass with its own __call__."""

    def __call__(self, obj: Any, ctx: Any = None) -> bytes | None:
        return super().__call__({"name": obj["name"].upper()}, ctx)


class Plain(KafkaAvroSerializer):
    """A user's subclass without its own __call__."""


@pytest.fixture
def serializer(conf: dict[str, Any]) -> KafkaAvroSerializer:
    return KafkaAvroSerializer(conf, SCHEMA)


@pytest.fixture
def deserializer(conf: dict[str, Any], serializer: KafkaAvroSerializer) -> KafkaAvroDeserializer:
    assert serializer(BOB, CTX) == MESSAGE
    return KafkaAvroDeserializer(conf)


def test_instances_are_called_without_a_tuple(serializer: Any, deserializer: Any, conf: dict[str, Any]) -> None:
    plain = Plain(conf, SCHEMA)
    assert plain(BOB, CTX) == MESSAGE
    for serdes in (serializer, deserializer, plain, pickle.loads(pickle.dumps(serializer))):
        assert type(serdes).__flags__ & HAVE_VECTORCALL


def test_arguments_may_be_named(serializer: Any, deserializer: Any) -> None:
    assert serializer(BOB, ctx=CTX) == serializer(obj=BOB, ctx=CTX) == serializer(ctx=CTX, obj=BOB) == MESSAGE
    assert deserializer(MESSAGE, ctx=CTX) == deserializer(ctx=CTX, data=MESSAGE) == BOB
    assert serializer(None) is None
    assert deserializer(data=None) is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((), {}), ((BOB, CTX, 1), {}), ((BOB, CTX), {"ctx": CTX}), ((BOB,), {"context": CTX}), ((BOB,), {"obj": BOB})],
)
def test_wrong_arguments_are_a_type_error(
    serializer: Any, deserializer: Any, arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with pytest.raises(TypeError):
        serializer(*arguments, **named)
    with pytest.raises(TypeError):
        deserializer(*arguments, **{"data" if name == "obj" else name: one for name, one in named.items()})


def test_the_error_for_a_topic_in_place_of_the_context_says_what_to_pass(serializer: Any, deserializer: Any) -> None:
    for serdes, data, call in (
        (serializer, BOB, "serialize(topic, obj)"),
        (deserializer, MESSAGE, "deserialize(topic, data)"),
    ):
        with pytest.raises(SerdesError) as caught:
            serdes(data, "users")
        assert caught.value.message == "expected a SerializationContext, got str 'users'"
        assert caught.value.hint == f"pass SerializationContext('users', MessageField.VALUE), or call {call}"
        for wrong in ({"topic": "users"}, 5, object()):
            with pytest.raises(SerdesError, match=f"expected a SerializationContext, got {type(wrong).__name__} "):
                serdes(data, wrong)
        with pytest.raises(SerdesError, match="expected a SerializationContext, got None "):
            serdes(data, None)


def test_the_error_for_swapped_arguments_says_their_order(serializer: Any, deserializer: Any) -> None:
    with pytest.raises(SerdesError, match=r"expected a topic as str, got dict \(hint: pass the topic first\)"):
        serializer.serialize(BOB, "users")
    with pytest.raises(SerdesError, match=r"expected a topic as str, got bytes \(hint: pass the topic first\)"):
        deserializer.deserialize(MESSAGE, "users")
    with pytest.raises(SerdesError, match=r"expected a topic as str, got list \(hint: pass the topic first\)"):
        deserializer.deserialize_many([MESSAGE], "users")


def test_the_error_for_swapped_arguments_of_batches_says_their_order(serializer: Any, deserializer: Any) -> None:
    pytest.importorskip("pyarrow")
    for ask in (deserializer.deserialize_batch, serializer.serialize_batch):
        with pytest.raises(SerdesError, match=r"expected a topic as str, got list \(hint: pass the topic first\)"):
            ask([MESSAGE], "users")


@pytest.mark.parametrize("face", [KafkaAvroSerializer, KafkaAvroDeserializer])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((SCHEMA, "conf"), "expected the options, got an Avro schema"),
        ((SCHEMA,), "expected the options, got an Avro schema"),
        ((json.dumps(SCHEMA), "conf"), "expected the options as a dict, got str"),
        (([SCHEMA], "conf"), "expected the options as a dict, got list"),
        (("conf", "conf"), "expected a schema, got options"),
        ((None, "conf"), "expected a schema, got options"),
    ],
)
def test_the_error_for_swapped_options_and_schema_says_their_order(
    face: Any, arguments: tuple[Any, ...], words: str, conf: dict[str, Any]
) -> None:
    hint = f'(hint: the options go first: {face.__name__}({{"schema.registry.url": '
    with pytest.raises(ConfigError, match=f"({words}) {re.escape(hint)}"):
        face(*(conf if one == "conf" else one for one in arguments))


@pytest.mark.parametrize("face", [KafkaAvroSerializer, KafkaAvroDeserializer])
def test_the_error_for_options_in_place_of_the_function_says_where_they_go(face: Any, conf: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"expected a function .*, got dict \(hint: options are the argument conf\)"):
        face(conf, SCHEMA, {"max.depth": 5})
    with pytest.raises(ConfigError, match=r"(?m)expected a function of \(object, context\), got str$"):
        face(conf, SCHEMA, "to_dict")


def test_a_client_configuration_may_have_the_key_type(conf: dict[str, Any]) -> None:
    assert KafkaAvroSerializer(schema=SCHEMA).configure({**conf, "type": "x"})(BOB, CTX) == MESSAGE
    with pytest.raises(ConfigError, match="expected the options as a dict, got str"):
        KafkaAvroSerializer(schema=SCHEMA).configure("x")  # type: ignore[arg-type]


def test_a_subclass_may_have_its_own_call(conf: dict[str, Any]) -> None:
    shouting = Shouting(conf, SCHEMA)
    assert shouting(BOB, CTX) == MESSAGE[:-3] + b"BOB"
    assert shouting(BOB, ctx=CTX) == MESSAGE[:-3] + b"BOB"
    with mock.patch.object(Shouting, "__call__", return_value=b"patched"):
        assert shouting(BOB, CTX) == b"patched"
    assert shouting(BOB, CTX) == MESSAGE[:-3] + b"BOB"


def patched(cls: type, serdes: Any) -> Iterator[Any]:
    """Return the results of calls while ``cls`` is patched, and afterwards."""
    with mock.patch.object(cls, "__call__", return_value="patched") as double:
        yield serdes(BOB, CTX)
        yield double.call_args
    yield serdes(BOB, CTX)


def test_a_patched_call_is_used_while_it_is_patched(serializer: Any, conf: dict[str, Any]) -> None:
    plain = Plain(conf, SCHEMA)
    for cls, serdes in ((KafkaAvroSerializer, serializer), (KafkaAvroSerializer, plain), (Plain, plain)):
        assert serdes(BOB, CTX) == MESSAGE
        assert list(patched(cls, serdes)) == ["patched", mock.call(BOB, CTX), MESSAGE]


def test_a_patched_call_of_the_deserializer_is_used(deserializer: Any) -> None:
    with mock.patch.object(KafkaAvroDeserializer, "__call__", lambda _self, data, ctx=None: (data, ctx)):
        assert deserializer(1, 2) == (1, 2)
        assert deserializer(1, ctx=2) == (1, 2)
        assert deserializer(1) == (1, None)
    assert deserializer(MESSAGE, CTX) == BOB


def test_an_exception_of_a_patched_call_is_raised(serializer: Any) -> None:
    with (
        mock.patch.object(KafkaAvroSerializer, "__call__", side_effect=OSError("broken")),
        pytest.raises(OSError, match="broken"),
    ):
        serializer(BOB, CTX)


def test_a_call_that_is_added_to_a_class_later_is_used(conf: dict[str, Any]) -> None:
    class Later(KafkaAvroSerializer):
        pass

    serializer = Later(conf, SCHEMA)
    assert serializer(BOB, CTX) == MESSAGE
    Later.__call__ = lambda _self, _obj, _ctx: b"later"  # type: ignore[method-assign, assignment]
    assert serializer(BOB, CTX) == b"later"
    assert Later(conf, SCHEMA)(BOB, CTX) == b"later"
    del Later.__call__
    assert serializer(BOB, CTX) == MESSAGE


def test_an_instance_may_change_its_class(conf: dict[str, Any]) -> None:
    serializer = KafkaAvroSerializer(conf, SCHEMA)
    serializer.__class__ = Shouting
    assert serializer(BOB, CTX) == MESSAGE[:-3] + b"BOB"
    serializer.__class__ = KafkaAvroSerializer
    assert serializer(BOB, CTX) == MESSAGE


def test_instances_are_freed_with_their_attributes(conf: dict[str, Any]) -> None:
    for cls in (KafkaAvroSerializer, Plain, Shouting):
        serializer = cls(conf, SCHEMA)
        assert serializer(BOB, CTX)
        serializer.itself = serializer  # type: ignore[attr-defined]
        gone = weakref.ref(serializer)
        del serializer
        gc.collect()
        assert gone() is None


def test_a_class_whose_call_is_its_own_instance_recurses_to_an_error() -> None:
    said = run_limited(
        """
        from streamnative_serdes import KafkaAvroSerializer
        serializer = KafkaAvroSerializer()
        KafkaAvroSerializer.__call__ = serializer
        try:
            serializer(1, 2)
        except RecursionError:
            print("RecursionError")
        """
    )
    assert said == "RecursionError\n"


@pytest.mark.parametrize("serdes", [KafkaAvroSerializer, KafkaAvroDeserializer])
def test_a_policy_that_binds_nothing_is_a_type_error(conf: dict[str, Any], serdes: Any) -> None:
    made = serdes(conf)
    _call_path.policy_of(made).bind = lambda *_: None
    with pytest.raises(TypeError, match="the policy bound None"):
        made(b"", CTX)


def test_a_policy_that_binds_nothing_to_write_with_is_a_type_error(conf: dict[str, Any]) -> None:
    made = KafkaAvroSerializer(conf, SCHEMA)
    _call_path.policy_of(made).bind = lambda _serdes, topic, key, _ctx: _call_path.Bound(topic, key, 0, None, None)
    with pytest.raises(TypeError, match="no codec or no header"):
        made(BOB, CTX)
