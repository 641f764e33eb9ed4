"""Importing the package opens no socket, and imports neither Spark nor Pulsar."""

import inspect
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import confluent_kafka.serialization
import pytest
from program import printed

import streamnative_serdes
from streamnative_serdes import _stand_ins

SCRIPT = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith("socket.") else None)
import streamnative_serdes
heavy = {"pyspark", "pulsar", "requests", "fastavro", "numpy", "pandas"} & set(sys.modules)
print(sorted(set(seen)), sorted(heavy))
"""


def test_the_version_is_that_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert streamnative_serdes.__version__ == version(project["name"]) == project["version"]


def test_without_an_installation_the_error_says_why_there_is_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert not hasattr(streamnative_serdes, "__version__")
    with pytest.raises(AttributeError, match="not installed by pip"):
        streamnative_serdes.__version__  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        streamnative_serdes.nothing  # noqa: B018


def test_importing_opens_no_socket_and_loads_nothing_heavy() -> None:
    assert printed("-W", "error", "-c", SCRIPT) == "[] []\n"


FIRST_MESSAGES = """
import sys
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry

fields = [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}, {"name": "id", "type": "int"}]
schema = {"type": "record", "name": "User", "fields": fields}
with LocalRegistry() as registry:
    conf = {"schema.registry.url": registry.url}
    serializer, deserializer = KafkaAvroSerializer(conf, schema), KafkaAvroDeserializer(conf, schema)
    user = deserializer.deserialize("users", serializer.serialize("users", {"at": 0, "id": 1}))
print(user["id"], sorted(name for name in sys.modules if name.partition(".")[0] == "fastavro"))
"""


def test_the_first_message_both_ways_does_not_import_fastavro() -> None:
    assert printed("-W", "error", "-c", FIRST_MESSAGES) == "1 []\n"


WITHOUT_KAFKA = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "confluent_kafka":
            raise ModuleNotFoundError(f"No module named {name!r}", name="confluent_kafka")

sys.meta_path.insert(0, Missing())
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, SerdesError
from streamnative_serdes.converters import ConfluentFramingConverter
from streamnative_serdes.serialization import MessageField, SerializationContext, SerializationError, Serializer
from streamnative_serdes.testing import LocalRegistry

with LocalRegistry() as registry:
    conf = {"schema.registry.url": registry.url}
    serializer, deserializer = KafkaAvroSerializer(conf, '"string"'), KafkaAvroDeserializer(conf)
    assert isinstance(serializer, Serializer) and issubclass(SerdesError, SerializationError)
    ctx = SerializationContext("users", MessageField.VALUE)
    print(deserializer(serializer("Ada", ctx), ctx), MessageField.VALUE)
    print(ConfluentFramingConverter({7: 0}).convert(memoryview(b"\\0\\0\\0\\0\\7abc"))[10:].decode())
try:
    import streamnative_serdes.migration
except ImportError as error:
    print(error.name, error)
"""


@pytest.mark.promise("without-client")
def test_the_serdes_work_without_confluent_kafka_and_what_needs_it_says_so() -> None:
    expected = "Ada value\nabc\nconfluent-kafka Kafka's client is not installed: pip install confluent-kafka\n"
    assert printed("-W", "error", "-c", WITHOUT_KAFKA) == expected


WITHOUT_PYARROW = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name="pyarrow")

sys.meta_path.insert(0, Missing())
from streamnative_serdes.integrations.consuming import DeserializingConsumer, SerializingProducer
for name in ("ArrowConsumer", "ArrowProducer", "split_errors"):
    try:
        exec(f"from streamnative_serdes.integrations.consuming import {name}")
    except ImportError as error:
        print(error)
"""


def test_clients_of_objects_do_not_need_pyarrow_and_those_of_columns_say_how_to_install_it() -> None:
    expected = "Arrow columns need pyarrow 18 or later: pip install pyarrow\n" * 3
    assert printed("-W", "error", "-c", WITHOUT_PYARROW) == expected


def test_the_stand_ins_are_called_like_confluents_classes() -> None:
    theirs = confluent_kafka.serialization
    for called, expected in (
        (_stand_ins.SerializationContext, theirs.SerializationContext),
        (_stand_ins.Serializer.__call__, theirs.Serializer.__call__),
        (_stand_ins.Deserializer.__call__, theirs.Deserializer.__call__),
    ):
        assert list(inspect.signature(called).parameters) == list(inspect.signature(expected).parameters)
    assert [*map(str, _stand_ins.MessageField)] == [*map(str, theirs.MessageField)]
    assert not hasattr(_stand_ins.Serializer(), "__dict__")  # nor have Confluent's, so that subclasses may have slots
