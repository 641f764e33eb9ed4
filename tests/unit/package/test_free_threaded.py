"""On a free-threaded Python, importing the package and the first messages leave the GIL off."""

import sysconfig

import pytest
from program import printed

# Without confluent-kafka, whose modules may switch it on, and without PYTHON_GIL, which hides that ours are undeclared.
SCRIPT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "confluent_kafka":
            raise ModuleNotFoundError(f"No module named {name!r}", name="confluent_kafka")

sys.meta_path.insert(0, Missing())
from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, _arrow, _records
from streamnative_serdes.testing import LocalRegistry
print("imported", sys._is_gil_enabled())
with LocalRegistry() as registry:
    conf = {"schema.registry.url": registry.url}
    message = KafkaAvroSerializer(conf, '"string"').serialize("topic", "first")
    print(KafkaAvroDeserializer(conf).deserialize("topic", message), sys._is_gil_enabled())
"""


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has a GIL")
def test_importing_the_package_and_the_first_messages_leave_the_gil_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHON_GIL", raising=False)
    assert printed("-W", "error", "-c", SCRIPT) == "imported False\nfirst False\n"
