"""What importing the package may cost: no socket, no Spark, no Pulsar."""

import subprocess
import sys

SCRIPT = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith("socket.") else None)
import streamnative_serdes
heavy = {"pyspark", "pulsar", "requests", "fastavro", "numpy", "pandas"} & set(sys.modules)
print(sorted(set(seen)), sorted(heavy))
"""


def test_importing_opens_no_socket_and_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[] []\n", "")
