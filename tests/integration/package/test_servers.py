"""The test servers themselves: the behaviour on which other tests rely."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import requests
from servers import ConfluentRegistry, Kafka, Missing, Pulsar, PulsarCluster, ServerError, downloads
from servers import process as server_process
from waiting import until

SERVERS = str(Path(__file__).parents[2] / "servers")


def test_the_servers_have_the_requested_versions(kafka: Kafka, pulsar: Pulsar) -> None:
    assert (kafka.version(), pulsar.version()) == (downloads.KAFKA, downloads.PULSAR)


def test_the_confluent_registry_responds_like_confluents(confluent_registry: ConfluentRegistry) -> None:
    answer = requests.get(f"{confluent_registry.url}/subjects/none/versions", timeout=10)
    assert (answer.status_code, answer.json()["error_code"]) == (404, 40401)


def test_one_of_two_brokers_redirects_to_the_other(pulsar_cluster: PulsarCluster) -> None:
    owner = pulsar_cluster.owner_of("whose")
    (other,) = [broker for broker in pulsar_cluster.brokers if broker is not owner]
    path = "schemas/public/default/whose/schema"
    answers = [broker.admin("GET", path, allow_redirects=False) for broker in (owner, other)]
    assert [answer.status_code for answer in answers] == [404, 307]
    assert answers[1].headers["Location"].startswith(f"{owner.url}/admin/v2/{path}")


def test_roles_have_the_rights_of_their_names(pulsar_with_tokens: Pulsar) -> None:
    tokens = pulsar_with_tokens.tokens
    assert tokens is not None
    path = "/admin/v2/schemas/public/default/rights/schema"
    statuses = {
        role: requests.get(
            pulsar_with_tokens.url + path, headers={"Authorization": f"Bearer {tokens.of(role)}"}, timeout=10
        ).status_code
        for role in ("admin", "produce", "consume", "nobody")
    }
    assert statuses == {"admin": 404, "produce": 404, "consume": 404, "nobody": 401}
    assert requests.get(pulsar_with_tokens.url + path, timeout=10).status_code == 401


def test_a_run_that_is_killed_leaves_no_server_and_no_data_behind(servers_at_hand: None) -> None:
    program = (
        "import os, signal\nfrom servers import ConfluentRegistry\nserver = ConfluentRegistry()\nserver.launch()\n"
        "print(server._process.pid, server.folder, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SERVERS},
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid, folder = done.stdout.split()
    deadline = time.monotonic() + 20
    while _runs(int(pid)) or Path(folder).exists():
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize(("terminal", "number"), [(True, signal.SIGTERM), (False, signal.SIGINT)])
def test_servers_for_a_person_run_until_a_signal(
    servers_at_hand: None, tmp_path: Path, terminal: bool, number: signal.Signals
) -> None:
    output = tmp_path / "output"
    ends = pty.openpty() if terminal else (os.open(os.devnull, os.O_RDONLY),)
    with output.open("wb") as file:
        process = subprocess.Popen(
            # Like a background job of a shell, which ignores SIGINT.
            ["/bin/sh", "-c", 'trap "" INT; exec "$0" -m servers up', sys.executable],
            stdin=ends[-1],
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": SERVERS},
        )
    try:
        stop = f"They run until Ctrl-C, or: kill {process.pid}\n"
        until(lambda: stop in output.read_text() or process.poll() is not None, "they are ready", 300)
        ended = []
        with suppress(subprocess.TimeoutExpired):
            ended.append(process.wait(2))
        assert not ended, output.read_text()
        (url,) = re.findall(r"^pulsar +(\S+)", output.read_text(), re.MULTILINE)
        assert requests.get(f"{url}/admin/v2/clusters", timeout=60).json() == ["standalone"]
        process.send_signal(number)
        assert process.wait(240) == 0, output.read_text()  # three Java processes end, on a machine that may be busy
        assert output.read_text().endswith("They are ended.\n")
        with pytest.raises(requests.ConnectionError):
            requests.get(url, timeout=10)
    finally:
        process.kill()
        process.wait(10)
        for end in ends:
            os.close(end)


def test_a_server_that_cannot_start_shows_the_end_of_its_log(servers_at_hand: None) -> None:
    broken = Pulsar(conf={"webServicePort": "no number"})
    with pytest.raises(ServerError, match=r"(?s)pulsar died as it started\n--- end of pulsar's log.*no number"), broken:
        pass


class Hanging(ConfluentRegistry):
    """A server that does not become ready at the given number of starts."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times, self.launches = times, 0

    def launch(self) -> None:
        self.launches += 1
        super().launch()

    def ready(self) -> bool:
        return self.launches > self.times and super().ready()


def test_a_hanging_server_dumps_its_threads_and_is_restarted(
    servers_at_hand: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server_process, "READY_SECONDS", (4.0, 180.0))
    with Hanging(1) as server:
        assert (server.launches, server.alive) == (2, True)
    told = capsys.readouterr().err
    assert told.startswith(f"{server.name} is not ready after 4 s\n")
    assert "Full thread dump" in told
    assert told.endswith("--- it is started once more\n")


def test_a_server_that_hangs_each_time_is_an_error(servers_at_hand: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "READY_SECONDS", (0.1, 0.2))
    monkeypatch.setattr(server_process, "_DUMP_SECONDS", 0.0)
    server = Hanging(2)
    with pytest.raises(ServerError, match=r"is not ready after 0 s\n"), server:
        pass
    assert (server.launches, server.alive) == (2, False)


def test_without_a_download_the_error_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    false = tmp_path / "java"
    false.write_text("#!/bin/sh\necho 'unresolved dependency: a#b;1'\nexit 1\n")
    false.chmod(0o755)
    with pytest.raises(Missing, match=r"^the servers cannot be downloaded: unresolved dependency: a#b;1$"):
        downloads._fill(false, tmp_path / "cache" / "servers", "<ivy-module/>", lambda _: None, "0 MB")
    assert [left.name for left in (tmp_path / "cache").iterdir()] == ["servers.lock"]


def test_free_ports_differ() -> None:
    assert len(set(server_process.free_ports(20))) == 20
