"""Secrets stay hidden: a canary in every secret option never appears in a repr, log, error, traceback or pickle.

The options are those that the option table marks as secret. A new one without a shape below fails a test.
"""

from __future__ import annotations

import base64
import json
import logging
import pickle
import ssl
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from oauth_issuer import Issuer
from raw_server import RawServer
from scripted_registry import Answer, Asked, ScriptedRegistry, redirect
from servers.certificates import Certificates

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, compat
from streamnative_serdes import _config as config
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._config.option import prefixed
from streamnative_serdes._http.reply import MAX_WORDS, Reply
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import SchemaRegistryError, SerdesError
from streamnative_serdes.integrations import kop
from streamnative_serdes.schema_registry import ConfluentRegistryClient
from streamnative_serdes.schema_registry.foreign import FOREIGN_CLIENTS
from streamnative_serdes.schema_registry.rest import _refuse_telling
from streamnative_serdes.testing import LocalRegistry

CANARY = "c4n4ryInTheCoalMine"
USER_INFO = f"me:{CANARY}"
KEY_FILE = json.dumps({"client_id": "c", "client_secret": CANARY})
IN_BASE64 = (CANARY, USER_INFO, KEY_FILE, f"c:{CANARY}")
FORMS = [CANARY, *(base64.b64encode(text.encode()).decode().rstrip("=") for text in IN_BASE64)]
PATIENCE = {"retries.total.ms": 60.0, "retries.wait.ms": 20.0, "http.read.timeout.ms": 30.0}
_OAUTH = {"bearer.auth.client.id": "c", "bearer.auth.client.secret": "s"}


@dataclass
class World:
    """The failures to provoke, and everything that they showed."""

    folder: Path
    certificates: Certificates
    issuer: Issuer
    shown: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def show(self, *things: object) -> None:
        self.shown += [repr(thing) for thing in things]

    def use(self, **options: Any) -> None:
        """Create SerDes with these options and use them; record everything that they show."""
        Binding.forget()
        try:
            serializer = KafkaAvroSerializer(options, '"int"')
            binding = policy_of(serializer).binding
            self.show(serializer, policy_of(serializer), binding, binding.client)
            transport: Any = binding.client.rest
            self.show(transport, transport._auth, transport._exchange._tls, getattr(transport._auth, "_renewed", None))
            serializer.serialize("t", 1)
        except SerdesError as error:
            self.note(error)
        else:
            raise AssertionError("nothing failed")

    def use_second(self, prefix: str = "confluent.", **options: Any) -> None:
        """Ask another registry of these options; note what is seen of it."""
        given = {"schema.registry.url": "http://127.0.0.1:1", **options}
        try:
            conf = config.confluent_conf(config.parse(config.DESERIALIZER_OPTIONS, given, strict=True), prefix)
            assert conf is not None
            client: Any = CLIENTS[prefix](conf)
            transport: Any = client.rest
            self.show(client, transport, transport._auth, transport._exchange._tls)
            client.by_key((prefix, "globalId", "1")) if prefix in OTHERS else client.schema(1)
        except SerdesError as error:
            self.note(error)
        else:
            raise AssertionError("nothing failed")

    def note(self, error: BaseException) -> None:
        self.errors.append(error)
        self.shown += ["".join(traceback.format_exception(error)), pickle.dumps(error).decode("latin-1")]
        self.shown += [f"{found!s} {found!r}" for found in reachable(error)]


def reachable(error: BaseException) -> Iterator[object]:
    """Return all objects reachable from an error, except the frames of its traceback."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, type | Callable):  # type: ignore[arg-type]
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseException):
            waiting += [found.__cause__, found.__context__, *found.args]
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list | tuple | set):
            waiting += found
        elif not isinstance(found, str | bytes | int | float | None):
            waiting += vars(found).values() if hasattr(found, "__dict__") else ()


def _encrypted(world: World) -> dict[str, str]:
    ca = {"schema.registry.ssl.ca.location": str(world.certificates.ca)}
    return {**ca, **world.certificates.client(password=CANARY), "schema.registry.ssl.key.password": CANARY}


def _url(world: World, path: str = "") -> str:
    return f"{world.issuer.url}{path}".replace("http://", f"http://{USER_INFO}@")


# How each secret is given, with the other options that it requires.
SHAPES: dict[str, Callable[[World], dict[str, Any]]] = {
    "schema.registry.url": lambda _: {"schema.registry.url": f"https://{USER_INFO}@127.0.0.1:1"},
    "basic.auth.user.info": lambda _: {"basic.auth.user.info": USER_INFO},
    "bearer.auth.token": lambda _: {"bearer.auth.token": CANARY},
    "bearer.auth.issuer.url": lambda world: {**_OAUTH, "bearer.auth.issuer.url": _url(world)},
    "bearer.auth.issuer.endpoint.url": lambda world: {
        **_OAUTH,
        "bearer.auth.issuer.endpoint.url": _url(world, "/token"),
    },
    "bearer.auth.client.secret": lambda world: world.issuer.options(client_secret=CANARY),
    "bearer.auth.private.key": lambda world: {
        "bearer.auth.issuer.url": world.issuer.url,
        "bearer.auth.private.key": f"data:application/json;base64,{base64.b64encode(KEY_FILE.encode()).decode()}",
    },
    "sasl.password": lambda _: {
        "basic.auth.credentials.source": "SASL_INHERIT",
        "sasl.username": "me",
        "sasl.password": CANARY,
    },
    "schema.registry.ssl.key.password": _encrypted,
    "proxy": lambda _: {"proxy": f"http://{USER_INFO}@127.0.0.1:1"},
}
# Other ways to give the same secret.
MORE_SHAPES: dict[str, Callable[[World], dict[str, Any]]] = {
    "a file with the token": lambda world: {"bearer.auth.token": _file(world, CANARY).as_uri()},
    "a file with the token and more": lambda world: {"bearer.auth.token": _file(world, f"{CANARY} x").as_uri()},
    "a function that returns no token": lambda _: {"bearer.auth.token": lambda: f"{CANARY}\n"},
    "a token for KoP": lambda _: {"basic.auth.user.info": f"public/default:token:{CANARY}"},
    "no token for KoP": lambda _: {"basic.auth.user.info": f"public/default:token:{CANARY} {CANARY}"},
    "the client's token": lambda _: {
        "bearer.auth.credentials.source": "SASL_INHERIT",
        "sasl.password": f"token:{CANARY}",
    },
    "the client's password for a token": lambda _: {
        "bearer.auth.credentials.source": "SASL_INHERIT",
        "sasl.password": CANARY,
    },
    "a data: URL in capital letters": lambda world: {
        **_issuer(world),
        "bearer.auth.private.key": f"DATA:application/json;BASE64,{base64.b64encode(KEY_FILE.encode()).decode()}",
    },
    "a key file": lambda world: {**_issuer(world), "bearer.auth.private.key": str(_file(world, KEY_FILE))},
    "a key file that is cut": lambda world: {
        **_issuer(world),
        "bearer.auth.private.key": str(_file(world, KEY_FILE[:-1])),
    },
    "a key for a path": lambda world: {**_issuer(world), "bearer.auth.private.key": KEY_FILE},
    "a secret that is not latin-1": lambda world: world.issuer.options(client_secret=f"{CANARY}\N{EURO SIGN}"),
    "an issued token": lambda world: world.issuer.options(),
    "a malformed proxy": lambda _: {"proxy": f"http://{USER_INFO}@host:port"},
    "a malformed address": lambda _: {"schema.registry.url": f"https://{USER_INFO}@host:port"},
}
ALL_SHAPES = SHAPES | MORE_SHAPES


OTHERS = ("apicurio.", "azure.")
CLIENTS: dict[str, type[Any]] = {"confluent.": ConfluentRegistryClient, **FOREIGN_CLIENTS}


def _at(prefix: str, url: str) -> dict[str, str]:
    """The address of a registry; Apicurio's has a path."""
    path = "/apis/registry/v2" if prefix == "apicurio." else ""
    return {prefixed(prefix, "schema.registry.url"): f"{url}{path}"}


def _behind(shape: Callable[[World], dict[str, Any]], prefix: str) -> Callable[[World], dict[str, Any]]:
    """The same for another registry."""

    def of_other(world: World) -> dict[str, Any]:
        found = shape(world)
        at = _at(prefix, found.pop("schema.registry.url", "https://127.0.0.1:1"))
        return at | {key if key.startswith("sasl.") else prefixed(prefix, key): value for key, value in found.items()}

    return of_other


SECOND = {
    prefixed(prefix, key): _behind(shape, prefix)
    for prefix in CLIENTS
    if prefix != "glue."  # whose client is boto3's
    for key, shape in SHAPES.items()
    if key != "sasl.password"
}
SECRETS = sorted({option.key for option in (*config.SERIALIZER_OPTIONS, *config.DESERIALIZER_OPTIONS) if option.secret})


def _file(world: World, content: str) -> Path:
    path = world.folder / "secret"
    path.write_text(content)
    return path


def _issuer(world: World) -> dict[str, str]:
    return {"bearer.auth.issuer.url": world.issuer.url}


def raw_echo(before: bytes, after: bytes, *, form: bool = False) -> RawServer:
    """Respond with ``before``, the secret of the request (token or form) and ``after``, even if that is not HTTP."""

    def answer(headers: Mapping[str, str], body: bytes) -> list[bytes]:
        return [before + (body if form else headers["Authorization"].partition(" ")[2].encode()) + after]

    return RawServer(answer)


class Echo(ScriptedRegistry):
    """A server that echoes what it received."""

    def __init__(self, status: int, tls: ssl.SSLContext | None) -> None:
        super().__init__(Answer(status), tls=tls)
        self._status = status

    def _next(self, asked: Asked) -> Answer:
        words = f"{asked.headers['Authorization']} {asked.body.decode()}"
        return Answer(self._status, {"message" if self._status == 401 else "reason": words})


@pytest.fixture
def world(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[World]:
    """Asserts, after the test, that nothing shown or logged contains the canary."""
    caplog.set_level(logging.DEBUG)
    with Issuer(make=lambda _: f"token-{CANARY}") as issuer:
        world = World(tmp_path, Certificates(tmp_path), issuer)
        yield world
    Binding.forget()
    for record in caplog.records:
        world.shown += [record.getMessage(), repr(record.args), str(record.exc_info)]
    leaks = [text for text in world.shown if any(form in text for form in FORMS)]
    assert leaks == []
    assert world.errors, "nothing failed"


def test_no_secret_option_is_without_a_shape() -> None:
    assert sorted(SHAPES | SECOND) == SECRETS
    assert {"sasl.password", "bearer.auth.token", "bearer.auth.client.secret"} <= set(SECRETS)


@pytest.mark.promise("secrets-hidden")
@pytest.mark.parametrize("shape", ALL_SHAPES)
def test_no_secret_shows_in_network_failures(world: World, shape: str) -> None:
    options = {**PATIENCE, **ALL_SHAPES[shape](world)}
    given = dict(options)
    with ScriptedRegistry(Answer()) as gone:
        pass
    with ScriptedRegistry(Answer(hold=True)) as silent, ScriptedRegistry(Answer(503), Answer(cut=-1)) as failing:
        tls = any(key.startswith("schema.registry.ssl") for key in options)
        for url in (gone.url, silent.url, failing.url):
            url = url.replace("http:", "https:") if tls else url
            world.use(**{"schema.registry.url": url, **given})


@pytest.mark.promise("secrets-hidden")
@pytest.mark.parametrize("shape", ALL_SHAPES)
def test_no_secret_shows_in_refusals_that_echo_the_request(world: World, shape: str) -> None:
    options = {**PATIENCE, **ALL_SHAPES[shape](world)}
    tls = any(key.startswith("schema.registry.ssl") for key in options)
    for status in (200, 401, 409, 503):
        with Echo(status, world.certificates.server() if tls else None) as echo:
            world.use(**{"schema.registry.url": echo.url, **options})


# In the status line, in place of a chunk size, and in an address, which may be logged.
NO_ANSWERS = {
    "status line": (b"", b"\r\n\r\n"),
    "chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"\r\n"),
    "redirect": (b"HTTP/1.1 307 To\r\nContent-Length: 0\r\nLocation: ?", b"\r\n\r\n"),
}


@pytest.mark.parametrize("shape", ["bearer.auth.token", "basic.auth.user.info", "an issued token"])
@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_no_secret_shows_in_invalid_responses_that_echo_the_request(world: World, shape: str, answer: str) -> None:
    with raw_echo(*NO_ANSWERS[answer]) as echo:
        world.use(**{"schema.registry.url": echo.url, **PATIENCE, **ALL_SHAPES[shape](world)})


@pytest.mark.parametrize("answer", [*NO_ANSWERS, "phrase"])
def test_no_secret_shows_if_the_issuer_echoes_the_form(world: World, answer: str) -> None:
    busy = (b"HTTP/1.1 503 ", b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    with raw_echo(*NO_ANSWERS.get(answer, busy), form=True) as echo:
        options = {
            "bearer.auth.issuer.endpoint.url": f"{echo.url}/token",
            "bearer.auth.client.id": "c",
            "bearer.auth.client.secret": f"a b/{CANARY}",
        }
        world.use(**{"schema.registry.url": "http://127.0.0.1:1", **PATIENCE, **options})


def test_no_secret_shows_if_the_issuer_echoes_the_basic_credentials(world: World) -> None:
    sent = base64.b64encode(f"c:{CANARY}".encode()).decode()
    answers = [Answer(400, {"error": "invalid_client", "error_description": f"not {sent}"})] * 20
    metadata = {"token_endpoint": f"{world.issuer.url}/token"}
    world.issuer.faults = [
        Answer(body={**metadata, "token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
        *answers,
    ]
    options = {"bearer.auth.client.id": "c", "bearer.auth.client.secret": CANARY}
    world.use(**{"schema.registry.url": "http://127.0.0.1:1", **_issuer(world), **options})
    assert any("invalid_client: not [hidden]" in str(error) for error in world.errors)


@pytest.mark.parametrize("key", SECOND)
def test_through_failures_of_the_second_registry(world: World, key: str) -> None:
    options, prefix = {**PATIENCE, **SECOND[key](world)}, f"{key.partition('.')[0]}."
    given = key in _at(prefix, "")
    tls = any(".registry.ssl" in name for name in options)
    for status in (200, 401, 404, 409, 503):
        with Echo(status, world.certificates.server() if tls else None) as echo:
            world.use_second(prefix, **(options if given else {**options, **_at(prefix, echo.url)}))
    with ScriptedRegistry(Answer(hold=True)) as silent:
        world.use_second(prefix, **(options if given else {**options, **_at(prefix, silent.url)}))


SECOND_REPEATS = {
    "text": {"schema": json.dumps(CANARY)},
    "type": {"schema": "{}", "schemaType": CANARY.upper()},
    "name of a reference": {"schema": "{}", "references": [{"name": CANARY, "subject": "s", "version": 1}]},
    "subject of a reference": {"schema": "{}", "references": [{"name": "n", "subject": CANARY, "version": 1}]},
    "no schema": {CANARY: 1},
}


@pytest.mark.parametrize("key", ["confluent.bearer.auth.token", "confluent.basic.auth.user.info"])
@pytest.mark.parametrize("where", SECOND_REPEATS)
def test_through_a_second_registry_that_repeats_it(world: World, key: str, where: str) -> None:
    with ScriptedRegistry(Answer(body=SECOND_REPEATS[where])) as registry:
        options = {**PATIENCE, **SECOND[key](world), "confluent.schema.registry.url": registry.url}
        world.use_second(**options)
    assert not [text for text in world.shown if BEGINNING.lower() in text.lower()]


@pytest.mark.parametrize("shape", ALL_SHAPES)
def test_no_secret_shows_in_errors_of_certificates_and_redirects(world: World, shape: str, tmp_path: Path) -> None:
    options = {**PATIENCE, **ALL_SHAPES[shape](world)}
    with ScriptedRegistry(Answer(), tls=Certificates(tmp_path, "other").server()) as server:
        world.use(**{"schema.registry.url": server.url, **options})
    ca = {"schema.registry.ssl.ca.location": str(world.certificates.ca)}
    with ScriptedRegistry(Answer(), tls=world.certificates.server("elsewhere")) as server:
        world.use(**{"schema.registry.url": server.url, **ca, **options})
    path = "/admin/v2/schemas/public/default/t/schema"
    for location in (f"http://127.0.0.1:1{path}", "https://login.example.org/"):
        answer = Answer(307, headers={"Location": location})
        with ScriptedRegistry(answer, tls=world.certificates.server()) as server:
            world.use(**{"schema.registry.url": server.url, **ca, **options})


OAUTH_SHAPES = [name for name in ALL_SHAPES if name.startswith("bearer.auth.") and "token" not in name] + [
    "a key file",
    "an issued token",
]


@pytest.mark.parametrize("shape", OAUTH_SHAPES)
@pytest.mark.parametrize("basic", [False, True])
def test_no_secret_shows_if_the_issuer_fails(world: World, shape: str, basic: bool) -> None:
    options = {"schema.registry.url": "http://127.0.0.1:1", **PATIENCE, **ALL_SHAPES[shape](world)}
    metadata: dict[str, Any] = {"token_endpoint": f"{world.issuer.url}/token"}
    if basic:
        metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    answers = [
        Answer(400, {"error": "invalid_client", "error_description": f"no {CANARY}, {KEY_FILE}"}),
        Answer(401, f"<html>{CANARY}".encode()),
        Answer(503, {"message": CANARY}),
        Answer(body={"token": CANARY}),
        Answer(302, headers={"Location": "http://login/"}),
        Answer(cut=-1),
        Answer(hold=True),
    ]
    if shape == "an issued token":  # was never sent to this server, which cannot echo it
        answers = answers[3:]
    for answer in answers:
        world.issuer.faults = [Answer(body=metadata), *[answer] * 20]
        world.use(**options)


@pytest.mark.promise("secrets-hidden")
@pytest.mark.parametrize("key", SECRETS)
def test_through_configurations_that_are_refused(world: World, key: str) -> None:
    options = {"schema.registry.url": "http://127.0.0.1:1", **(SHAPES | SECOND)[key](world)}
    refused: list[dict[str, Any]] = [
        {**options, key: [options[key]]},
        {**options, key: options[key].encode()},
        {**options, key: {options[key]: 1}},
        {**options, "bearer.auth.token": f"{CANARY} {CANARY}"},
        {**options, "basic.auth.user.info": CANARY},
        {**options, f"{key}s": options[key]},
        {**options, "cache.capacity": 0},
        {**options, "use.schema.id": 3},
        {**options, "bearer.auth.token": CANARY, "basic.auth.user.info": USER_INFO},
        {**options, "schema.registry.ssl.key.password": CANARY},
        {name: value for name, value in options.items() if name != "schema.registry.url"} | {key: CANARY},
    ]
    for conf in refused:
        for make in (KafkaAvroSerializer, KafkaAvroDeserializer, compat.SchemaRegistryClient, kop.sasl_settings):
            try:
                made: Any = make(conf)
            except SerdesError as error:
                world.note(error)
            else:  # this class accepts the configuration
                if make is not kop.sasl_settings:  # its result has to contain the secret for the client
                    world.show(made)


@pytest.mark.parametrize("shape", ["bearer.auth.client.secret", "an issued token"])
def test_no_secret_shows_if_a_kafka_clients_callback_fails(
    world: World, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kop, "_PATIENCE_MS", 100.0)
    conf = {"schema.registry.url": "http://127.0.0.1:1", **PATIENCE, **ALL_SHAPES[shape](world)}
    with monkeypatch.context() as patched:
        patched.setattr(kop.TokenCallback, "answer", lambda _: None)  # the first token comes
        settings = kop.sasl_settings(conf)
    world.show(settings)
    for answer in (Answer(503, {"message": CANARY}), Answer(400, {"error": f"no {CANARY}"}), Answer(hold=True)):
        if shape != "an issued token" or answer.hold:
            world.issuer.faults = [Answer(body={"token_endpoint": f"{world.issuer.url}/token"}), *[answer] * 20]
            for ask in (lambda: settings["oauth_cb"](""), lambda: kop.sasl_settings(conf)):
                with pytest.raises(SerdesError) as caught:
                    ask()
                world.note(caught.value)
    world.show(settings)


# A registry that deliberately echoes the request wherever it can


def found(**members: Any) -> Answer:
    return Answer(body={"version": 0, "type": "AVRO", "timestamp": 1, "data": '"int"', "properties": {}, **members})


def record(field_name: str, kind: str = "int") -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": field_name, "type": kind}]})


REPEATED = {
    "host of a redirect": redirect(f"http://{CANARY}.example/admin/v2/schemas/public/default/t/schema/0"),
    "host of a redirect to with a different path": redirect(f"http://{CANARY}.example/login"),
    "path of a redirect": redirect(f"/admin/{CANARY}"),
    "path of a redirect, percent-encoded": redirect("/admin/" + "".join(f"%{ord(char):02x}" for char in CANARY)),
    "query of a redirect": redirect(f"/admin/v2?{CANARY}"),
    "fragment of a redirect": redirect(f"/admin/v2#{CANARY}"),
    "redirect to no address": redirect(f"ftp://{CANARY}/"),
    "type": found(type=CANARY),
    "type in capitals": found(type=CANARY.upper()),
    "version": found(version=CANARY),
    "field's name": found(data=record(CANARY)),
    "field's type": found(data=record("f", CANARY)),
    "text that is not a schema": found(data=CANARY),
    "property": found(properties={CANARY: 1}),
    "no JSON": Answer(body=f"<html>{CANARY}".encode()),
    "JSON in front of it": Answer(body=f'{{"version": 0}} {CANARY}'.encode()),
    "words": Answer(500, {"reason": f"Message: {CANARY}"}),
    "phrase": Answer(500, b"", phrase=CANARY),
    **{
        f"words that are cut {cut} characters into it": Answer(
            500, {"reason": " " * (MAX_WORDS - 5 - cut) + "words" + CANARY + " " * MAX_WORDS}
        )
        for cut in range(4, len(CANARY), 3)
    },
    **{
        f"no JSON, cut {cut} bytes into it": Answer(body=(" " * (size - cut) + CANARY + " " * MAX_WORDS).encode())
        for cut in range(4, len(CANARY), 3)
        for size in (4_000, MAX_WORDS)
    },
}
BEGINNING = CANARY[:4]


@pytest.mark.parametrize("shape", ["bearer.auth.token", "basic.auth.user.info", "sasl.password"])
@pytest.mark.parametrize("where", REPEATED)
def test_no_secret_shows_if_the_registry_echoes_it_anywhere(world: World, shape: str, where: str) -> None:
    with ScriptedRegistry(REPEATED[where]) as registry:
        reader = KafkaAvroDeserializer({"schema.registry.url": registry.url, **PATIENCE, **ALL_SHAPES[shape](world)})
        Binding.forget()
        try:
            reader.deserialize("t", b"\3\4" + bytes(8) + b"\2x")
        except SerdesError as error:
            world.note(error)
    assert not [text for text in world.shown if BEGINNING.lower() in text.lower()]


@pytest.mark.promise("masked")
@pytest.mark.parametrize("where", ["words", "phrase"])
def test_a_masked_secret_is_shown_as_hidden(world: World, where: str) -> None:
    with ScriptedRegistry(REPEATED[where]) as registry:
        world.use(**{"schema.registry.url": registry.url, "bearer.auth.token": CANARY})
    assert "cannot register a schema: [hidden] (HTTP 500)" in str(world.errors[0])


def test_no_secret_shows_if_the_issuer_names_an_endpoint_that_contains_it(world: World) -> None:
    world.issuer.faults = [Answer(body={"token_endpoint": f"{world.issuer.url}/{CANARY}"})]
    world.use(**{"schema.registry.url": "http://127.0.0.1:1", **world.issuer.options(client_secret=CANARY)})


@pytest.mark.parametrize("password", ["name", "streamnative", "Orders_of_customers", "io.streamnative.orders"])
def test_a_password_may_occur_in_schemas_and_topics(registry: LocalRegistry, password: str) -> None:
    """Responses that contain other long credentials are refused; a password may also be the name of a topic."""
    conf = {"schema.registry.url": registry.url, "basic.auth.user.info": f"me:{password}"}
    names = {"name": "orders_of_customers", "namespace": "io.streamnative.orders"}
    schema = {**json.loads(record("name")), **names}
    message = KafkaAvroSerializer(conf, schema).serialize("t", {"name": 1})
    Binding.forget()
    assert KafkaAvroDeserializer(conf).deserialize("t", message) == {"name": 1}


@pytest.mark.parametrize("password", ["streamnative", "broker-b.streamnative.internal"])
def test_a_password_may_occur_in_addresses_of_brokers(password: str) -> None:
    _refuse_telling(Reply(307, "", {}, b"", "", (password,)), "http://broker-b.streamnative.internal:8080/admin/v2")
    with pytest.raises(SchemaRegistryError, match="that contains our credentials"):
        _refuse_telling(Reply(307, "", {}, b"", "", (password,)), f"http://b:8080/admin/v2?{password}")
