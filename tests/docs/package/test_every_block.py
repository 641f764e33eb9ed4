"""Every code block of README and every page, in page order: the one place that says how each runs.

A test takes the blocks of its pages in turn, and only replaces addresses; blocks that are left over, and pages without
a test, are failures. ``LEFT`` has the blocks that run elsewhere or not at all, with the reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import click
import kop_golden
import pytest
import requests
from confluent_kafka import Consumer, Producer, serialization
from confluent_stand_in import ConfluentStandIn
from external_schemas import NEW, golden
from external_topic import external_topic
from oauth_issuer import Issuer, key_file
from page_blocks import PAGES, ROOT, Page, blocks_of, run_code
from scripted_registry import Answer, ScriptedRegistry

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, models
from streamnative_serdes.cli import main
from streamnative_serdes.cli.options import load
from streamnative_serdes.compat import avro
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry, MockBroker

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
ADA = {"name": "Ada"}
KEY = "the-api-key"

INSTALLS = "installs packages, as `make wheel` does into an empty environment"
# By page and language. A path is that of the test that runs them, and names the page.
LEFT: dict[str, dict[str, str]] = {
    "README.md": {"sh": f"{INSTALLS}, and runs the demo, as `make demo` does"},
    "auth.md": {"sh": INSTALLS},
    "converters.md": {"sh": INSTALLS},
    "converters-storage.md": {"text": "a drawing of bytes"},
    "interoperability.md": {"python": "tests/integration/integrations/test_pulsar_schema.py"},
    "migrate.md": {
        "text": "commands for topics of the reader's; test_commands_in_text_exist checks their words",
        "python": "tests/integration/migration/test_migrate_plan.py",
    },
    "migration.md": {
        "toml": "tests/integration/migration/test_migration_runbook.py",
        "sh": "tests/integration/migration/test_migration_runbook.py",
    },
    "spark-clusters.md": {"sh": "tests/spark/datasource/test_cluster.py"},
    "start.md": {"sh": INSTALLS},
    "which-registry.md": {"text": "a chart", "python": "tests/unit/reading/test_other_framings.py"},
}
TAKEN: set[str] = set()
Pages = tuple[Page, ...]


def blocks(*names: str) -> pytest.MarkDecorator:
    """The argument ``pages`` of a test, which has to run all blocks of these pages."""
    TAKEN.update(names)
    return pytest.mark.parametrize("pages", [names], ids=["+".join(names)], indirect=True)


@pytest.fixture
def pages(request: pytest.FixtureRequest) -> Iterator[Pages]:
    found = tuple(Page(name, LEFT.get(name, {})) for name in request.param)
    failed = request.session.testsfailed
    yield found
    if request.session.testsfailed == failed:
        assert {page.name: page.waiting for page in found if page.waiting} == {}


def test_each_block_is_run_or_left_for_a_reason() -> None:
    for page in PAGES:
        languages, left = {block.language for block in blocks_of(page)}, LEFT.get(page.name, {})
        assert left.keys() <= languages, f"{page.name} has no more blocks to leave"
        assert (page.name in TAKEN) == bool(languages - left.keys()), page.name


@pytest.mark.parametrize(
    "left", [reason for reasons in LEFT.values() for reason in reasons.values() if "tests/" in reason]
)
def test_the_tests_that_run_blocks_elsewhere_name_the_page(left: str) -> None:
    (page,) = {name for name, reasons in LEFT.items() if left in reasons.values()}
    assert page in (ROOT / left).read_text(encoding="utf-8")


# Start


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """A function that runs commands in a folder where ``streamnative-serdes`` is the package under test."""
    folder, programs = tmp_path_factory.mktemp("page"), tmp_path_factory.mktemp("bin")
    for name, arguments in (("streamnative-serdes", "-m streamnative_serdes "), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        program.chmod(0o700)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def run(commands: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", commands]
        places: dict[str, Any] = {"cwd": folder, "env": {**os.environ, "PATH": path}, "stdin": subprocess.DEVNULL}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, **places)
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    return run


def run_first_code(page: Page, capsys: pytest.CaptureFixture[str], **addresses: str) -> None:
    """Run code that sends a message and prints what it reads; it has to be what the page says."""
    names: dict[str, Any] = {}
    code = page.run(names, {"poll(10)": "poll(60)"}, **addresses)
    names["consumer"].close()
    assert capsys.readouterr().out.strip() == code.rstrip().rpartition("  # ")[2]


@pytest.mark.skipif(os.name == "nt", reason="the page is for a POSIX shell")
@blocks("README.md", "cli.md")
def test_readme_and_then_the_command_line(
    pages: Pages,
    shell: Callable[[str], str],
    registry: LocalRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One after the other, with the same servers, as a reader does."""
    readme, cli = pages
    with MockBroker({"users": 1, "people": 1, "copy": 1}) as broker:
        addresses = {"registry": registry.url, "kafka": broker.bootstrap_servers}
        run_first_code(readme, capsys, **addresses)
        monkeypatch.setenv("STREAMNATIVE_SERDES_REGISTRY", registry.url)
        monkeypatch.setenv("STREAMNATIVE_SERDES_BOOTSTRAP", broker.bootstrap_servers)
        printed = ""
        while cli.waiting:
            language = cli.waiting[0].language
            code = cli.next(language, **addresses)
            if language == "sh":
                printed = shell(code)
            elif language == "text":
                pattern = re.escape(code).replace(re.escape('"..."'), '"[^"]+"')
                assert re.fullmatch(pattern, printed), f"{code}\n{printed}"
            else:
                read_settings(code, language, tmp_path, monkeypatch)


def read_settings(text: str, language: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert language == "toml"
    (folder / "password").write_text("p4ss")
    path = folder / "settings.toml"
    path.write_text(text.replace("/run/secrets/kafka-password", str(folder / "password")))
    monkeypatch.setenv("PULSAR_TOKEN", "t0ken")
    settings = load(path)
    assert set(settings.registry) == set(tomllib.loads(text)["registry"])
    assert (settings.registry["bearer.auth.token"], settings.kafka["sasl.password"]) == ("t0ken", "p4ss")
    assert settings.doubts == []


@blocks("start.md")
def test_the_page_to_start_from(pages: Pages, registry: LocalRegistry, capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = pages
    with MockBroker({"users": 1}) as broker:
        run_first_code(page, capsys, registry=registry.url, kafka=broker.bootstrap_servers)
    names: dict[str, Any] = {}
    page.run(names, registry=registry.url)
    assert names["AvroSerializer"] is avro.AvroSerializer


@pytest.mark.promise("both-framings")
@blocks("from-confluent.md", "migration.md")
def test_the_pages_on_replacing_confluents_serdes_and_on_keys(pages: Pages, registry: LocalRegistry) -> None:
    replace, migration = pages
    names: dict[str, Any] = {"schema_str": '{"type": "string"}', "to_dict": lambda obj, ctx: obj}
    with ConfluentStandIn() as second:
        code = replace.run(names, registry=registry.url)
        assert isinstance(names["serializer"], avro.AvroSerializer)
        replaced = dict(names)
        replace.run(names, confluent=second.url)
        number = second.register("orders-value", '"string"')
        framed = b"\0" + number.to_bytes(4) + b"\x04hi"
        ctx = SerializationContext("orders", MessageField.VALUE)
        assert names["deserializer"](framed, ctx) == "hi"
        assert names["deserializer"](names["serializer"]("ho", ctx), ctx) == "ho"
    run_code(re.sub("(?m)^# ", "", code), replaced)  # what it replaces is there, too
    with ConfluentStandIn() as second:
        migration.run(names, registry=registry.url, confluent=second.url)
        ctx = SerializationContext("orders", MessageField.KEY)
        for way, key in (("kept", b"\0\0\0\0\1\x02"), ("bare", b"\x02")):
            assert names[f"write_{way}"]({"number": 1}, ctx) == key
            assert names[f"read_{way}"](key, ctx) == names["read_both"](key, ctx) == {"number": 1}


@pytest.mark.parametrize("page", ["cli.md", "migrate.md", "migration.md"])
def test_commands_in_text_exist(page: str) -> None:
    """Every option that a page names, in its text too."""
    found, waiting = set[str](), [cast("click.Command", main)]
    while waiting:
        command = waiting.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            waiting += filter(None, (command.get_command(context, name) for name in command.list_commands(context)))
        found |= {option for parameter in command.params for option in parameter.opts}
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert named
    assert named - found == set()


# Guides


@blocks("messages.md")
def test_the_page_on_messages(pages: Pages, registry: LocalRegistry) -> None:
    (page,) = pages
    read_both_framings(page, registry)
    page.run({})  # as which schema messages come out
    separate_undecodable_messages(page.next(), {"schema.registry.url": registry.url})


@blocks("schema-types.md")
def test_the_page_on_schema_types(pages: Pages, capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = pages
    with external_topic() as (conf, second):
        names: dict[str, Any] = {"entry": golden()[NEW, "ids"][0]}
        page.run(names, registry=conf["schema.registry.url"], confluent=second.url)
    assert capsys.readouterr().out == "{'a': 1}\n"


@blocks("keys.md")
def test_the_page_on_keys(pages: Pages, registry: LocalRegistry) -> None:
    (page,) = pages
    names: dict[str, Any] = {"conf": {"schema.registry.url": registry.url}}
    page.run(names)
    of_key, of_value = (SerializationContext("users", field) for field in (MessageField.KEY, MessageField.VALUE))
    key, value = names["write_key"]({"id": 1}, of_key), names["write_value"](ADA, of_value)
    assert (key, value) == (b"\x02", b"\x06Ada")
    assert (names["read_key"](key, of_key), names["read_value"](value, of_value)) == ({"id": 1}, ADA)
    of_key.topic = of_value.topic = "plain"
    with ConfluentStandIn() as second:
        page.run(names, registry=registry.url, confluent=second.url)
        assert names["write_value"](ADA, of_value) == b"\x03\x04" + bytes(8) + b"\x06Ada"
        bare, framed = (names[name]({"id": 1}, of_key) for name in ("write_key", "write_old_key"))
        assert (bare, framed, [*second.subjects]) == (b"\x02", b"\0\0\0\0\1\x02", ["plain-key"])
        assert names["read_both"](bare, of_key) == names["read_both"](framed, of_key) == {"id": 1}
    page.run(names)
    of_key.topic = "framed"
    framed = names["producer_conf"]["key.serializer"]({"id": 1}, of_key)
    assert framed == b"\x03\x04" + bytes(8) + b"\x02"
    assert names["read_value"].deserialize("framed-key", framed) == {"id": 1}


def read_both_framings(page: Page, registry: LocalRegistry) -> None:
    framed = KafkaAvroSerializer({"schema.registry.url": registry.url}, USER).serialize("users", ADA)
    assert framed is not None
    with ConfluentStandIn() as second:
        names: dict[str, Any] = {"KafkaAvroDeserializer": KafkaAvroDeserializer}
        page.run(names, registry=registry.url, confluent=second.url)
        for message in (framed, b"\0" + second.register("users-value", USER).to_bytes(4) + framed[10:], framed[10:]):
            assert names["deserializer"].deserialize("users", message) == ADA


def separate_undecodable_messages(code: str, conf: dict[str, Any]) -> None:
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
            run_code(code.replace("        ...", "        seen.append(order)"), names)
            lost += names["dead"]
            if lost and names["seen"]:
                break
        consumer.close()
    assert names["seen"] == [ADA]
    assert [(raw.data, raw.topic, raw.offset) for raw in lost] == [(b"no message", "orders", 1)]


@blocks("auto-consume.md", "observe.md")
def test_the_pages_on_any_type_and_to_observe(
    pages: Pages, registry: LocalRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    any_type, observe = pages
    code = any_type.run({}, registry=registry.url)
    assert capsys.readouterr().out.splitlines() == code.rpartition("# ")[2].strip().split(", ")
    names: dict[str, Any] = {}
    code = observe.run(names)
    assert capsys.readouterr().out.strip() == code.rpartition("# ")[2].strip()
    observe.run(names)
    assert (names["message"].value(), names["deserializer"].stats()["messages"]) == ("Ada", 1)


@blocks("clients.md")
def test_the_page_on_clients(pages: Pages, registry: LocalRegistry, capsys: pytest.CaptureFixture[str]) -> None:
    (clients,) = pages
    with MockBroker({"names": 1}) as broker:
        code = clients.run({}, registry=registry.url, kafka=broker.bootstrap_servers)
    assert capsys.readouterr().out.strip() == code.partition("  # ")[2].partition("\n")[0]


@pytest.mark.promise("without-servers")
@blocks("testing.md", "tested.md")
def test_the_pages_on_tests(pages: Pages) -> None:
    testing, tested = pages
    names: dict[str, Any] = {}
    for page in (testing, testing, tested):
        page.run(names)
    assert names["LocalRegistry"] is LocalRegistry


@blocks("typed.md")
def test_the_page_on_classes(pages: Pages, registry: LocalRegistry, capsys: pytest.CaptureFixture[str]) -> None:
    (page,) = pages
    names: dict[str, Any] = {"__name__": __name__}
    page.run(names, registry=registry.url)
    assert capsys.readouterr().out == page.next("text")
    page.run(names)
    name = {"type": ["null", "string"], "doc": "As printed on the card", "default": None, "aliases": ["name"]}
    assert models.schema_of(names["dataclass"](names["User"]), allow_null=True) == {
        "type": "record",
        "name": "Member",
        "namespace": "com.example",
        "doc": "Who has signed up",
        "fields": [{"name": "age", "type": "long"}, {"name": "fullName", **name}],
        "aliases": ["Person"],
    }


@blocks("auth.md")
@pytest.mark.skipif(
    not hasattr(serialization, "SerializerBuilder"), reason="confluent-kafka supports builders from 2.16 on"
)
def test_the_page_on_signing_in(pages: Pages, tmp_path: Path) -> None:
    (page,) = pages
    names: dict[str, Any] = {"API_KEY": KEY, "schema": USER}
    with LocalRegistry(token=KEY) as registry:
        for _ in range(2):  # the key in the client's configuration, and in that of the SerDes
            page.run(names, registry=registry.url)
            assert names["producer"]._value_serializer.serialize("users", ADA) is not None
        assert names["kop"].sasl_settings(names["conf"])["sasl.password"] == f"token:{KEY}"
    full_topic_name(page)
    path = tmp_path / "service-account.json"
    with Issuer(make=lambda _: KEY) as issuer, LocalRegistry(token=KEY) as registry:
        path.write_text(key_file(issuer_url=issuer.url))
        page.run(names, {"file:///secrets/service-account.json": path.as_uri()}, registry=registry.url)
        assert names["serializer"].serialize("users", ADA) is not None
    assert issuer.forms[0]["audience"] == "urn:sn:pulsar:my-organization:my-instance"


def full_topic_name(page: Page) -> None:
    topic = "persistent://acme/sales/users"
    with LocalRegistry() as registry, MockBroker({topic: 1}) as broker:
        for made, body in (("tenants/acme", {"allowedClusters": ["standalone"]}), ("namespaces/acme/sales", {})):
            assert requests.put(f"{registry.url}/admin/v2/{made}", json=body, timeout=10).status_code == 204
        names: dict[str, Any] = {"schema": USER, "API_KEY": KEY}
        page.run(names, registry=registry.url, kafka=broker.bootstrap_servers)
        assert names["producer"].flush(30) == 0
        schema = requests.get(f"{registry.url}/admin/v2/schemas/acme/sales/users/schema", timeout=10)
        assert schema.json()["version"] == 0


# Columns, Connect, entries, Spark


@blocks("arrow.md", "arrow-types.md")
def test_the_page_on_columns(pages: Pages, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    code = "".join(page.run(names) for page in pages for _ in page.waiting)
    (expected,) = re.findall(r"print\(.*\)  # (.*)", code)
    assert capsys.readouterr().out.startswith(expected.removesuffix(" ..."))


@blocks("consuming.md")
def test_the_page_on_frames_from_kafka(
    pages: Pages, registry: LocalRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    (page,) = pages
    names: dict[str, Any] = {}
    with MockBroker({"sales": 1, "sales-dead-letters": 1}) as broker:
        addresses = {"registry": registry.url, "kafka": broker.bootstrap_servers}
        code = [page.run(names, **addresses) for _ in range(3)]
        names.pop("damaged")  # before the broker ends, of which it would complain
    expected = re.findall(r"print\(.*\)  # (.*)", "".join(code[:2]))
    first, second, *objects, fault = capsys.readouterr().out.splitlines()
    assert [first, second] == expected
    assert objects == [
        str({"id": n, "city": city, "cents": cents})
        for n, city, cents in ((1, "Rome", 950), (2, "Oslo", None), (3, "Rome", 120))
    ]
    assert fault == "0 3 _VALUE_DESERIALIZATION"


@blocks("converters.md", "converters-storage.md")
def test_the_page_on_entries(
    pages: Pages, registry: LocalRegistry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("google_crc32c")
    from streamnative_serdes.converters import Message, write_record_batch

    convert, stored = pages
    conf = {"schema.registry.url": registry.url}
    names: dict[str, Any] = {"entry": kop_golden.KAFKA_VALUE, "deserializer": KafkaAvroDeserializer(conf)}
    value = KafkaAvroSerializer(conf, USER).serialize("orders", ADA)
    (tmp_path / "00000000000000000000.log").write_bytes(write_record_batch([Message(value, offset=7)]))
    for line in ("0 1600000000000 None () 0 b'\\x02a\\x02'", "7 0 b'\\x06Ada'", "None b'\\x02a\\x02'"):
        page = stored if "b'\\x06Ada" in line else convert
        run_code(page.next().replace("/var/lib/kafka/orders-0", str(tmp_path)), names)
        assert capsys.readouterr().out == f"{line}\n"
    assert names["orders"].to_pylist() == [ADA]
    headers = {"Message-ID": "7:0", "PROPERTY": '{"entry.format":"kafka"}', "num-batch-message": "1"}
    stats = {"ledgers": [{"ledgerId": 7, "entries": 0}], "lastConfirmedEntry": "7:0"}
    entry = Answer(
        body=kop_golden.KAFKA_VALUE[48:], headers={f"X-Pulsar-{name}": value for name, value in headers.items()}
    )
    with ScriptedRegistry(Answer(body={"partitions": 1}), Answer(body=stats), entry) as server:
        stored.run(names, registry=server.url)
    assert capsys.readouterr().out == "partition 0, entry 7:0 0 0 b'\\x02a\\x02'\n"


@blocks("connect.md", "connect-avro.md", "spark-write.md", "spark-read.md", "spark-columns.md", "spark-streams.md")
def test_the_pages_on_connect_and_spark(
    pages: Pages, request: pytest.FixtureRequest, registry: LocalRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pages on Spark go on with the names of the page before."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    spark, kafka = request.getfixturevalue("spark"), request.getfixturevalue("kafka")
    connect, avro, *of_spark = pages
    names: dict[str, Any] = {"spark": spark}
    for page in (connect, connect, connect, avro):
        code = page.run(names, registry=registry.url)
        wanted = re.findall(r"(?m)^print\(.*\)  # (.*)$", code)
        assert wanted or ".show()" in code
        assert not wanted or capsys.readouterr().out.splitlines()[-len(wanted) :] == wanted
    # Classes of a page are looked up in its module, and worker processes get them by value.
    names = {"spark": spark, "__name__": "page"}
    for page in of_spark:
        while page.waiting:
            page.run(names, registry=registry.url, kafka=kafka["bootstrap.servers"])
