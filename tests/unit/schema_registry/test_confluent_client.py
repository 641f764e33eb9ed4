"""ConfluentRegistryClient: each endpoint of Confluent's API, its refusals as errors, and its own way over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from confluent_stand_in import ConfluentStandIn, conf_of, refusal
from raw_server import RawServer
from schemas import record
from scripted_registry import Answer, Clock, ScriptedRegistry, redirect

from streamnative_serdes import errors
from streamnative_serdes._schema import SchemaReference
from streamnative_serdes.schema_registry import ConfluentRegistryClient, ConfluentSchema

MONEY = record("Money", ("cents", "long"), namespace="shop")
SALE = record("Sale", ("price", "shop.Money"), ("paid", "shop.Money"), namespace="shop")
OF_MONEY = {"name": "shop.Money", "subject": "money", "version": 1}
GUID = "89791762-2336-186f-9674-180ca802d4d1"
Connect = Callable[..., ConfluentRegistryClient]


@pytest.fixture
def registry() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as registry:
        yield registry


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    """That sends what it is told to."""
    with ScriptedRegistry(Answer()) as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connect(clock: Clock) -> Iterator[Connect]:
    clients: list[ConfluentRegistryClient] = []

    def connect(url: str, **options: Any) -> ConfluentRegistryClient:
        clients.append(ConfluentRegistryClient(conf_of(url, **options), clock=clock, sleep=clock.sleep))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def client(registry: ConfluentStandIn, connect: Connect) -> ConfluentRegistryClient:
    return connect(registry.url)


@pytest.fixture
def scripted(server: ScriptedRegistry, connect: Connect) -> ConfluentRegistryClient:
    return connect(server.url)


def test_a_schema_is_found_by_its_id_and_by_its_guid(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    id = registry.register("money", MONEY)
    text = json.dumps(MONEY)
    assert client.by_id(id) == ConfluentSchema(text)
    found = client.by_guid(registry.guid(id))
    assert (found.schema_str, found.schema_type) == (text, "AVRO")
    assert client.by_guid(found.guid or "") == found
    assert set(registry.calls) == {f"GET /schemas/ids/{id}", f"GET /schemas/guids/{found.guid}"}


def test_subjects_versions_and_ids_lead_to_each_other(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    assert client.subjects() == []
    first, second = registry.register("a/b c?", '"int"'), registry.register("a/b c?", '"long"')
    registry.register("other", '"int"')
    assert client.subjects() == ["a/b c?", "other"]
    assert client.versions("a/b c?") == [1, 2]
    guid = str(UUID(bytes=registry.guid(second)))
    place: dict[str, Any] = {"id": second, "subject": "a/b c?", "version": 2, "guid": guid}
    assert client.version("a/b c?", 2) == ConfluentSchema('"long"', **place)
    assert client.version("a/b c?", "latest") == client.version("a/b c?", 2)
    assert client.subject_versions(first) == [("a/b c?", 1), ("other", 1)]
    assert registry.asked[-1].path == f"/schemas/ids/{first}/versions"
    assert registry.asked[2].path == "/subjects/a%2Fb%20c%3F/versions"


def test_registering_is_one_post_and_again_gives_the_same_id(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    id = client.register("money", json.dumps(MONEY))
    assert client.register("money", json.dumps(MONEY)) == id
    assert client.lookup("money", json.dumps(MONEY)) == (id, 1)
    assert json.loads(registry.asked[0].body) == {"schema": json.dumps(MONEY)}
    assert [asked.method for asked in registry.asked] == ["POST"] * 3


def test_type_and_references_are_registered_with_the_text(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    client.register("money", json.dumps(MONEY))
    sale = ConfluentSchema(json.dumps(SALE), references=(SchemaReference(**OF_MONEY),))
    id = client.register("sale", sale)
    assert client.by_id(id) == sale
    assert client.lookup("sale", sale) == (id, 1)
    proto = ConfluentSchema('syntax = "proto3";', "PROTOBUF")
    assert client.by_id(client.register("proto", proto)) == proto


def test_a_schema_with_references_is_one_text(client: ConfluentRegistryClient, registry: ConfluentStandIn) -> None:
    registry.register("money", MONEY)
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    paid = {**SALE, "fields": [{"name": "price", "type": record("Money", ("cents", "long"))}, SALE["fields"][1]]}
    assert json.loads(client.schema(id)) == paid
    assert client.schema(1) == json.dumps(MONEY)
    assert client.self_contained(client.version("sale", 1)) == client.schema(id)


@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF"])
def test_another_type_is_known_by_id_and_refused_as_an_avro_schema(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, kind: str
) -> None:
    id = registry.register("s", "{}", kind)
    assert client.by_id(id).schema_type == kind
    with pytest.raises(errors.SchemaError, match=f"expected a schema of type AVRO, got type {kind}"):
        client.schema(id)
    refers = registry.register("r", SALE, references=({**OF_MONEY, "subject": "s"},))
    with pytest.raises(errors.SchemaError, match=f"got type {kind}"):
        client.schema(refers)


@pytest.mark.parametrize(
    ("rule_set", "rules"),
    [
        ({"domainRules": [{"name": "encrypt"}]}, True),
        ({"migrationRules": [], "encodingRules": [{"name": "encrypt"}]}, True),
        ({"migrationRules": [], "domainRules": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_rules_are_reported(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, rule_set: Any, rules: bool
) -> None:
    assert client.by_id(registry.register("s", '"string"', ruleSet=rule_set)).rules == rules


def test_the_compatibility_level_is_the_subjects_or_the_registrys(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(Answer(body={"compatibilityLevel": "FULL"}))
    assert scripted.compatibility("s") == "FULL"
    server.script(refusal(40408, "not configured"), Answer(body={"compatibilityLevel": "NONE"}))
    assert scripted.compatibility("s") == "NONE"
    assert [asked.path for asked in server.asked[1:]] == ["/config/s?defaultToGlobal=true", "/config"]


# What the registry refuses

QUESTIONS: dict[str, Callable[[ConfluentRegistryClient], object]] = {
    "id": lambda client: client.by_id(7),
    "guid": lambda client: client.by_guid(GUID),
    "version": lambda client: client.version("s", 3),
    "versions": lambda client: client.versions("s"),
    "subjects of an id": lambda client: client.subject_versions(7),
    "lookup": lambda client: client.lookup("s", '"int"'),
}


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("id", 40403),
        ("guid", 40403),
        ("version", 40401),
        ("versions", 40401),
        ("subjects of an id", 40403),
        ("lookup", 40401),
    ],
)
def test_what_the_registry_does_not_have_is_not_found(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, question: str, code: int
) -> None:
    with pytest.raises(errors.SchemaNotFoundError) as caught:
        QUESTIONS[question](client)
    assert (caught.value.http_status_code, caught.value.error_code) == (404, code)
    assert caught.value.url == registry.url + registry.asked[0].path
    assert len(registry.asked) == 1


def test_a_missing_version_and_a_missing_schema_have_their_codes(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    registry.register("s", '"int"')
    for ask, code in ((lambda: client.version("s", 3), 40402), (lambda: client.lookup("s", '"long"'), 40403)):
        with pytest.raises(errors.SchemaNotFoundError) as caught:
            ask()
        assert caught.value.error_code == code


def test_a_registry_without_guids_is_told_from_an_unknown_guid(connect: Connect) -> None:
    words = "does not support GUIDs, or confluent"
    with ConfluentStandIn(guids=False) as registry, pytest.raises(errors.MissingEndpointError, match=words) as caught:
        connect(registry.url).by_guid(GUID)
    assert not isinstance(caught.value, errors.SchemaNotFoundError)
    assert caught.value.status == 404


APICURIO = Answer(
    404, {"error_code": 0, "message": "RESTEASY003210: Could not find resource for full path: http://h/x"}
)
KOP = {"error_code": 404, "message": "GET /schemas/ids/7 Not found"}


@pytest.mark.parametrize(
    "answer", [APICURIO, refusal(404, "HTTP 404 Not Found"), Answer(404, b"<html>"), Answer(404, {"reason": "x"})]
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_path_that_the_server_does_not_know_never_counts_as_a_missing_schema(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry, question: str, answer: Answer
) -> None:
    """Else a wrong address would make every message one without a header."""
    server.script(answer)
    with pytest.raises(errors.MissingEndpointError) as caught:
        QUESTIONS[question](scripted)
    assert "confluent.schema.registry.url" in (caught.value.hint or "")
    assert caught.value.error_code == 404


def test_kops_registry_says_with_the_request_that_an_id_is_unknown(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(Answer(404, KOP), Answer(404, b"GET /v/schemas/ids/7 Not found", {"Content-Type": "text/plain"}))
    for _ in range(2):
        with pytest.raises(errors.SchemaNotFoundError):
            scripted.by_id(7)


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (refusal(40101, "Unauthorized"), errors.AuthenticationError, 40101),
        (Answer(401, b""), errors.AuthenticationError, 401),
        (refusal(40301, "User is denied operation"), errors.AuthorizationError, 40301),
        (refusal(409, "incompatible"), errors.IncompatibleSchemaError, 409),
        (refusal(40901, "incompatible"), errors.IncompatibleSchemaError, 40901),
        (refusal(42201, "Invalid schema"), errors.InvalidSchemaError, 42201),
        (refusal(42205, "Subject is in read-only mode"), errors.SchemaRegistryError, 42205),
        (Answer(500, {"error_code": 0, "message": "No such artifact type"}), errors.SchemaRegistryError, 500),
        (refusal(50005, "JSON Parse Error"), errors.SchemaRegistryError, 50005),
    ],
)
def test_refusals_are_typed_errors_with_the_registrys_code_and_words(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry, answer: Answer, kind: type, code: int
) -> None:
    server.script(answer)
    with pytest.raises(errors.SchemaRegistryError) as caught:
        scripted.register("a 'subject'", '"int"')
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.error_code) == (answer.status, code)
    assert "cannot register a schema in subject \"a 'subject'\"" in str(caught.value)
    if answer.body:
        assert caught.value.reason == answer.body["message"]
    assert len(server.asked) == 1


def test_a_missing_right_is_named(scripted: ConfluentRegistryClient, server: ScriptedRegistry) -> None:
    server.script(refusal(40301, "denied"))
    for ask, right in ((lambda: scripted.by_id(1), "read"), (lambda: scripted.register("s", "{}"), "write to")):
        with pytest.raises(errors.AuthorizationError, match=f"the user needs the right to {right} the subject"):
            ask()


@pytest.mark.parametrize("id", [-1, 2**31])
def test_an_impossible_id_causes_no_request(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, id: int
) -> None:
    with pytest.raises(errors.SchemaNotFoundError):
        client.by_id(id)
    assert registry.asked == []


@pytest.mark.parametrize("guid", [b"", bytes(15), "x", f"{GUID}0"])
def test_a_malformed_guid_causes_no_request(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, guid: bytes | str
) -> None:
    with pytest.raises(errors.SchemaNotFoundError, match="expected a GUID of 16 bytes"):
        client.by_guid(guid)
    assert registry.asked == []


@pytest.mark.parametrize("subject", ["", ".", "..", "\ud800", None])
def test_a_subject_that_cannot_be_in_an_address_is_refused(client: ConfluentRegistryClient, subject: Any) -> None:
    with pytest.raises(errors.SerdesError, match="expected a subject"):
        client.versions(subject)


@pytest.mark.parametrize("version", [0, -1, 2**31])
def test_an_impossible_version_causes_no_request(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, version: int
) -> None:
    with pytest.raises(errors.SchemaNotFoundError, match="expected a version from 1"):
        client.version("s", version)
    assert registry.asked == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, 'text in "schema"'),
        ([], "a JSON object"),
        ({"schema": "{}", "schemaType": "avro"}, 'in "schemaType"'),
        ({"schema": "{}", "schemaType": 1}, 'in "schemaType"'),
        ({"schema": "{}", "references": {}}, 'in "references"'),
        ({"schema": "{}", "references": [{"name": "a", "subject": "b"}]}, 'a whole number from 0 in "version"'),
        ({"schema": "{}", "references": [OF_MONEY] * 1_001}, "a list of at most 1000"),
        ({"schema": "{}", "id": True}, 'a whole number from 0 in "id"'),
        ({"schema": "{}", "subject": 1}, 'text in "subject"'),
    ],
)
def test_an_unexpected_response_is_an_error_that_says_what_was_expected(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry, body: Any, words: str
) -> None:
    server.script(Answer(body=body))
    with pytest.raises(errors.SchemaRegistryError, match=words) as caught:
        scripted.by_id(1)
    assert "is confluent.schema.registry.url the address of a registry with Confluent's API" in (
        caught.value.hint or ""
    )


@pytest.mark.parametrize(
    ("ask", "body"),
    [
        (lambda client: client.subjects(), {"a": 1}),
        (lambda client: client.subjects(), [1]),
        (lambda client: client.versions("s"), ["1"]),
        (lambda client: client.versions("s"), [True]),
        (lambda client: client.subject_versions(1), {"subject": "s"}),
        (lambda client: client.subject_versions(1), ["s"]),
        (lambda client: client.lookup("s", "{}"), {"id": 1}),
        (lambda client: client.register("s", "{}"), {"id": 2**31}),
        (lambda client: client.compatibility("s"), {"compatibilityLevel": "not a level"}),
    ],
)
def test_each_endpoint_checks_its_response(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry, ask: Callable[..., object], body: Any
) -> None:
    server.script(Answer(body=body))
    with pytest.raises(errors.SchemaRegistryError, match="expected"):
        ask(scripted)


# References


def test_references_in_a_circle_are_an_error(client: ConfluentRegistryClient, registry: ConfluentStandIn) -> None:
    registry.register("a", record("A", ("b", "B")), references=({"name": "B", "subject": "b", "version": 1},))
    id = registry.register("b", record("B", ("a", "A")), references=({"name": "A", "subject": "a", "version": 1},))
    with pytest.raises(errors.SchemaError, match="form a cycle"):
        client.schema(id)


def test_a_reference_that_leads_nowhere_is_the_registrys_error(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    with pytest.raises(errors.SchemaNotFoundError, match="version 1 of subject 'money'"):
        client.schema(id)


def test_references_are_followed_only_up_to_the_size_of_a_schema(registry: ConfluentStandIn, connect: Connect) -> None:
    registry.register("money", MONEY)
    id = registry.register("sale", SALE, references=(OF_MONEY,))
    size = len(json.dumps(MONEY)) + len(json.dumps(SALE))
    assert connect(registry.url, **{"max.schema.size": size}).schema(id)
    with pytest.raises(errors.SchemaError, match=r"larger than \d+ characters"):
        connect(registry.url, **{"max.schema.size": size - 1}).schema(id)


def test_endless_references_end(scripted: ConfluentRegistryClient, server: ScriptedRegistry) -> None:
    """Each schema refers to the next one, and two others."""
    count = 0

    def next_answer(_: object) -> Answer:
        nonlocal count
        count += 1
        names = [f"N{3 * count + step}" for step in range(3)]
        references = [{"name": name, "subject": name, "version": 1} for name in names]
        return Answer(body={"schema": json.dumps(record(f"N{count}")), "references": references})

    server._next = next_answer  # type: ignore[method-assign]
    with pytest.raises(errors.SchemaError, match="the references lead through more than 200 schemas"):
        scripted.schema(1)
    assert count == 201


# Its own way over HTTP


@pytest.mark.parametrize(
    "answer",
    [
        *(refusal(code, "for a moment") for code in (500, 50001, 50002, 50003, 50004)),
        *map(Answer, (408, 429, 500, 502, 503, 504)),
    ],
)
def test_a_transient_failure_is_retried(
    client: ConfluentRegistryClient, registry: ConfluentStandIn, clock: Clock, answer: Answer
) -> None:
    registry.faults = [answer, Answer(cut=-1)]
    assert client.register("s", '"int"') == 1
    assert len(clock.slept) == 2


def test_a_registry_that_stays_away_is_unavailable(scripted: ConfluentRegistryClient, server: ScriptedRegistry) -> None:
    server.script(refusal(50001, "Error in the backend datastore"))
    with pytest.raises(errors.RegistryUnavailableError, match="Error in the backend datastore") as caught:
        scripted.by_id(1)
    assert caught.value.retriable
    assert caught.value.topic is None


@pytest.mark.parametrize("path", ["/apis/ccompat/v7", "/contexts/.shop"])
def test_a_path_in_the_address_is_kept(server: ScriptedRegistry, connect: Connect, path: str) -> None:
    server.script(Answer(body={"schema": '"int"'}), Answer(body={"id": 1, "version": 1}))
    client = connect(f"{server.url}{path}/")
    client.by_id(1)
    client.lookup("t-value", '"int"')
    asked = [one.path.partition("?")[0] for one in server.asked]
    assert asked == [f"{path}/schemas/ids/1", f"{path}/subjects/t-value"]


def test_the_next_address_is_asked_if_one_fails(registry: ConfluentStandIn, connect: Connect) -> None:
    registry.register("s", '"int"')
    with ScriptedRegistry(Answer(503)) as busy:
        asking = connect(f"{busy.url},{registry.url}")
        assert asking.by_id(1) == asking.by_id(1)
    assert len(busy.asked) == 1


def test_a_redirect_to_another_host_is_followed_for_the_same_request_only(
    server: ScriptedRegistry, registry: ConfluentStandIn, connect: Connect
) -> None:
    registry.register("s", '"int"')
    server.script(redirect(f"{registry.url}/schemas/ids/1"), redirect(f"{registry.url}/login"))
    asking = connect(server.url)
    assert asking.by_id(1).schema_str == '"int"'
    with pytest.raises(errors.SchemaRegistryError, match="with a different path"):
        asking.by_id(1)


@pytest.mark.parametrize("password", ["secret", "token:abc"])
def test_user_and_password_are_sent_as_they_are(connect: Connect, password: str) -> None:
    """KoP's registry takes a token as the password, with its prefix."""
    info = f"me:{password}"
    with ConfluentStandIn(user_info=info) as registry:
        assert connect(registry.url, **{"confluent.basic.auth.user.info": info}).subjects() == []
        with pytest.raises(errors.AuthenticationError, match="the user or password is wrong") as caught:
            connect(registry.url, **{"confluent.basic.auth.user.info": "me:other"}).subjects()
        assert caught.value.hint == "the user or password is wrong"
        with pytest.raises(errors.AuthenticationError, match=r"set confluent\.bearer\.auth\.token, or see docs/auth"):
            connect(registry.url, **{"basic.auth.user.info": info}).subjects()
    assert registry.asked[0].headers["Authorization"] == f"Basic {base64.b64encode(info.encode()).decode()}"
    assert registry.asked[2].headers["Authorization"] is None


def test_a_token_and_the_clients_own_user_sign_in_too(server: ScriptedRegistry, connect: Connect) -> None:
    server.script(Answer(body=[]))
    sasl = {"sasl.username": "me", "sasl.password": "x"}
    connect(server.url, **{"confluent.bearer.auth.token": "abc"}).subjects()
    connect(server.url, **{"confluent.basic.auth.credentials.source": "SASL_INHERIT", **sasl}).subjects()
    basic = f"Basic {base64.b64encode(b'me:x').decode()}"
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer abc", basic]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mock://x", "expected http:// or https://, got scheme 'mock'"),
        ("http://me:password@x", "contains a user name or password .hint: use confluent.basic.auth.user.info or confl"),
        ("http://", "has no host .hint: give the HTTP address of the registry, such as http://localhost:8081"),
        ("http://x:port", "is not a valid URL"),
    ],
)
def test_a_bad_address_is_named_as_its_user_wrote_it(connect: Connect, url: str, words: str) -> None:
    with pytest.raises(errors.ConfigError, match=rf"confluent\.schema\.registry\.url.*{words}") as caught:
        connect(url)
    assert "password@" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("bearer.auth.token", "a b", "confluent.bearer.auth.token is not a token"),
        ("bearer.auth.token", "file://host/x", "confluent.bearer.auth.token: expected a file URL"),
        ("bearer.auth.token", lambda: "", "the function for confluent.bearer.auth.token returned an invalid"),
        ("schema.registry.ssl.ca.location", "/none", "confluent.schema.registry.ssl.ca.location: /none cannot be used"),
    ],
)
def test_errors_of_signing_in_name_the_second_registrys_options(
    connect: Connect, option: str, value: Any, words: str
) -> None:
    with pytest.raises(errors.SerdesError, match=words):
        connect("https://127.0.0.1:1", **{f"confluent.{option}": value}).subjects()


def test_an_oauth_issuer_is_asked_for_the_second_registry_too(server: ScriptedRegistry, connect: Connect) -> None:
    pytest.importorskip("authlib", reason="authlib is not installed: pip install authlib")
    client = {"client.id": "c", "client.secret": "s"}
    with ScriptedRegistry(Answer(400, {"error": "invalid_client"})) as issuer:
        options = {**client, "issuer.endpoint.url": f"{issuer.url}/token"}
        asking = connect(server.url, **{f"confluent.bearer.auth.{key}": value for key, value in options.items()})
        with pytest.raises(
            errors.AuthenticationError, match=r"check confluent\.bearer\.auth\.client\.id and confluent"
        ):
            asking.subjects()
        issuer.script(Answer(body={"access_token": "abc"}))
        server.script(Answer(body=[]))
        asking.subjects()
    assert server.asked[0].headers["Authorization"] == "Bearer abc"


def test_pulsars_address_in_place_of_the_registrys_is_recognized(
    scripted: ConfluentRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(Answer(404, {"servlet": "s", "message": "Not Found", "url": "/", "status": "404"}))
    with pytest.raises(errors.MissingEndpointError, match="this looks like Pulsar's own HTTP address"):
        scripted.by_id(1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "is this a port for Kafka clients? These close HTTP connections; use the registry's HTTP port"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "use the registry's HTTP port, such as http://HOST:8081"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "the port speaks TLS: use https://127"),
    ],
)
def test_a_port_of_another_protocol_gets_a_hint_about_the_registrys(
    connect: Connect, answer: bytes, words: str
) -> None:
    with RawServer(lambda *_: [answer]) as other, pytest.raises(errors.SchemaRegistryError) as caught:
        connect(other.url, **{"retries.total.ms": 1_000}).by_id(1)
    assert words in (caught.value.hint or "")
    assert "Pulsar" not in str(caught.value)


def test_an_address_that_nobody_has_ever_answered_at_fails_early(connect: Connect, clock: Clock) -> None:
    with ScriptedRegistry(Answer()) as gone:
        pass
    with pytest.raises(errors.RegistryUnavailableError) as caught:
        connect(gone.url).by_id(1)
    assert "is confluent.schema.registry.url the address of the registry, and is it running?" in (
        caught.value.hint or ""
    )
    assert "retries.first.ms" in (caught.value.hint or "")
    assert sum(clock.slept) < 5
    clock.slept.clear()
    asking = connect(gone.url)
    asking.met({gone.url})
    with pytest.raises(errors.RegistryUnavailableError) as caught:
        asking.by_id(1)
    assert caught.value.hint is None
    assert sum(clock.slept) > 30


def test_a_client_counts_its_requests_and_knows_who_has_answered(
    client: ConfluentRegistryClient, registry: ConfluentStandIn
) -> None:
    assert client.answered == frozenset()
    client.register("s", '"int"')
    client.by_id(1)
    assert (client.calls["GET"], client.calls["POST"]) == (1, 1)
    assert client.answered == {registry.url}
    assert repr(client) == f"ConfluentRegistryClient({registry.url})"


def test_a_page_of_one_address_does_not_hide_the_others(
    registry: ConfluentStandIn, server: ScriptedRegistry, connect: Connect, clock: Clock
) -> None:
    id = registry.register("money", MONEY)
    server.script(Answer(404, b"<html>default backend - 404</html>", {"Content-Type": "text/html"}))
    assert connect(f"{server.url},{registry.url}").by_id(id) == ConfluentSchema(json.dumps(MONEY))
    with pytest.raises(errors.MissingEndpointError):
        connect(server.url).by_id(id)
    assert clock.slept == []
