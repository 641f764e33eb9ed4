"""SchemaRegistryClient: each endpoint sends the expected request, parses the response, and maps refusals to errors."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scripted_registry import CONF, Answer, ScriptedRegistry

from streamnative_serdes import errors
from streamnative_serdes._config import REGISTRY_OPTIONS, parse
from streamnative_serdes.schema_registry import Compatibility, SchemaInfo, SchemaRegistryClient, TopicName

TEXT = '{"type": "record", "name": "U", "fields": []}'
STORED = {"version": 3, "type": "AVRO", "timestamp": 1795253603781, "data": TEXT, "properties": {"a": "b"}}
INFO = SchemaInfo(3, "AVRO", TEXT, 1795253603781, {"a": "b"})
BASE = "/admin/v2/schemas/public/default/t"


def stack(message: str) -> str:
    return f"\n --- An unexpected error occurred in the server ---\n\nMessage: {message}\n\nStacktrace:\n\n\tat x"


def jetty(status: int, message: str) -> Answer:
    """Return Jetty's error page for ``Accept: application/json``; ``message`` is HTML-escaped, as in the page."""
    page = {"servlet": "org.glassfish.jersey.servlet.ServletContainer-1", "message": message, "url": BASE}
    return Answer(status, {**page, "status": str(status)})


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry(Answer(body=STORED)) as server:
        yield server


@pytest.fixture
def client(server: ScriptedRegistry) -> Iterator[SchemaRegistryClient]:
    client = SchemaRegistryClient(parse(REGISTRY_OPTIONS, {"schema.registry.url": server.url}, strict=True))
    yield client
    client.close()


def one(server: ScriptedRegistry) -> tuple[str, str, Any]:
    """Return method, path and JSON body of the only request."""
    (asked,) = server.asked
    assert asked.headers["Accept"] == "application/json"
    assert asked.headers["Content-Type"] == ("application/json" if asked.body else None)
    return asked.method, asked.path, json.loads(asked.body) if asked.body else None


def test_latest_is_one_get(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    assert client.latest("t-partition-2") == INFO
    assert one(server) == ("GET", f"{BASE}/schema", None)


def test_a_version_is_one_get(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    assert client.by_version("persistent://a/b/c d", 3) == INFO
    assert one(server) == ("GET", "/admin/v2/schemas/a/b/c%20d/schema/3", None)


@pytest.mark.parametrize("version", [-1, 2**63])
def test_an_impossible_version_causes_no_request(
    client: SchemaRegistryClient, server: ScriptedRegistry, version: int
) -> None:
    with pytest.raises(errors.SchemaNotFoundError):
        client.by_version("t", version)
    assert server.asked == []


def test_a_response_with_another_version_is_refused(client: SchemaRegistryClient) -> None:
    with pytest.raises(errors.SchemaRegistryError, match="asked the registry for its version 4, got version 3"):
        client.by_version("t", 4)


def test_all_versions_come_oldest_first(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(body={"getSchemaResponses": [STORED, {**STORED, "version": 1}]}))
    assert [info.version for info in client.all_versions("t")] == [1, 3]
    assert one(server) == ("GET", f"{BASE}/schemas", None)


def test_no_versions_are_an_empty_list(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(body={"getSchemaResponses": []}))
    assert client.all_versions("t") == []


def test_a_schema_without_timestamp_or_properties_is_understood(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(Answer(body={"version": 0, "type": "STRING", "data": "", "properties": None, "new": 1}))
    assert client.latest("t") == SchemaInfo(0, "STRING", "", 0, {})
    server.script(Answer(body={**STORED, "properties": {"a": "b", "gone": None}}))
    assert client.latest("t") == INFO


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize("body", [{"version": {"version": 7}}, {"version": 7}, 7])
def test_registering_is_one_post_that_returns_the_version(
    client: SchemaRegistryClient, server: ScriptedRegistry, status: int, body: object
) -> None:
    server.script(Answer(status, body))
    assert client.register("t", TEXT, properties={"k": "v"}) == 7
    assert one(server) == ("POST", f"{BASE}/schema", {"type": "AVRO", "schema": TEXT, "properties": {"k": "v"}})


def test_the_schema_text_arrives_as_it_was_given(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(body={"version": 0}))
    client.register("t", ' {"doc":"\\u00e4 ä €\n"}', type="JSON")
    assert one(server)[2] == {"type": "JSON", "schema": ' {"doc":"\\u00e4 ä €\n"}', "properties": {}}


@pytest.mark.parametrize("key", ["compatibility", "isCompatibility"])
def test_a_compatibility_check_returns_verdict_and_strategy(
    client: SchemaRegistryClient, server: ScriptedRegistry, key: str
) -> None:
    server.script(Answer(202, {key: True, "schemaCompatibilityStrategy": "FULL"}))
    assert client.compatibility("t", TEXT) == Compatibility(True, "FULL", None)
    assert one(server)[:2] == ("POST", f"{BASE}/compatibility")
    server.script(Answer(202, {key: False, "schemaCompatibilityStrategy": "FULL"}))
    assert client.compatibility("t", TEXT) == Compatibility(False, "FULL", None)


def test_incompatible_is_a_result_although_pulsar_sends_500(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    # The name of the field looks like a storage error, which would be retried.
    message = "org.apache.avro.SchemaValidationException: Unable to read schema: {metadata_store bookkeeper}"
    server.script(Answer(500, {"reason": stack(message)}))
    assert client.compatibility("t", TEXT) == Compatibility(False, None, message)
    assert len(server.asked) == 1


def test_another_500_on_compatibility_is_an_error(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(500, {"reason": stack("No enum constant org.apache.pulsar.common.schema.SchemaType.avro")}))
    with pytest.raises(errors.SchemaRegistryError, match="No enum constant"):
        client.compatibility("t", TEXT, type="avro")


def test_topics_are_listed_once_each_whatever_their_partitions(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    own = "persistent://my-tenant/my ns/"
    exist = Answer(body=[f"{own}b-partition-1", f"{own}b-partition-0", f"{own}a/x", f"{own}c-partition-x"])
    server.script(exist, Answer(body=[f"{own}b", f"{own}empty"]))
    names = [topic.path for topic in client.topics("my-tenant/my ns")]
    assert names == [f"my-tenant/my%20ns/{name}" for name in ("a%2Fx", "b", "c-partition-x", "empty")]
    assert [(asked.method, asked.path) for asked in server.asked] == [
        ("GET", "/admin/v2/persistent/my-tenant/my%20ns"),
        ("GET", "/admin/v2/persistent/my-tenant/my%20ns/partitioned"),
    ]


@pytest.mark.parametrize(
    "body", [{}, ["x"], [1], ["non-persistent://a/b/c"], ["persistent://a/b"], ["persistent://a//c"]]
)
def test_a_list_of_something_else_than_topics_is_refused(
    client: SchemaRegistryClient, server: ScriptedRegistry, body: Any
) -> None:
    server.script(Answer(body=body))
    with pytest.raises(errors.SchemaRegistryError, match=r"cannot list the topics: expected .* got"):
        client.topics("a/b")


def test_a_missing_right_to_list_topics_is_named(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(401, {"reason": "Unauthorized to validateNamespaceOperation for operation [GET_TOPICS]"}))
    with pytest.raises(errors.AuthorizationError, match="the role needs the right to list the topics") as caught:
        client.topics("a/b")
    assert caught.value.topic is None


@pytest.mark.parametrize("namespace", ["", "a", "a/", "a/b/c", "a/..", "persistent://a/b"])
def test_topics_are_listed_of_a_namespace_alone(
    client: SchemaRegistryClient, server: ScriptedRegistry, namespace: str
) -> None:
    with pytest.raises(errors.SerdesError, match="expected tenant/namespace, got"):
        client.topics(namespace)
    assert server.asked == []


def test_a_topic_may_be_given_as_a_parsed_name(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(404, {"reason": "Topic not found"}))
    with pytest.raises(errors.SchemaNotFoundError, match="topic sales/t"):
        client.latest(TopicName("public", "default", "t", given="sales/t"))
    assert one(server)[:2] == ("GET", f"{BASE}/schema")


@pytest.mark.parametrize(
    ("force", "path", "body", "taken"),
    [(False, "/schema", {"version": 3}, 3), (True, "/schema?force=true", {"version": -1}, None)],
)
def test_delete_returns_the_version_of_the_deletion(
    client: SchemaRegistryClient,
    server: ScriptedRegistry,
    force: bool,
    path: str,
    body: object,
    taken: int | None,
) -> None:
    server.script(Answer(body=body))
    assert client.delete("t", force=force) == taken
    assert one(server) == ("DELETE", BASE + path, None)


# Refusals, with the bodies of Pulsar 4.0.8 and 3.1.1.

UNREADABLE = "org.apache.avro.SchemaValidationException: Unable to read schema:"
PRODUCE = "Unauthorized to validateTopicOperation for operation [PRODUCE] on topic [persistent://public/default/t]"
ADMIN = "Don't have permission to administrate resources on this tenant"


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (Answer(404, {"reason": "Schema not found"}), errors.SchemaNotFoundError, "Schema not found"),
        (Answer(404, {"reason": "Namespace does not exist"}), errors.SchemaNotFoundError, "Namespace does not exist"),
        (Answer(404, b"", {"Content-Type": "text/html"}), errors.SchemaNotFoundError, "Not Found"),
        (
            jetty(409, f"{UNREADABLE} {{&quot;name&quot; : &apos;R&apos;}} &lt;&amp;&gt;"),
            errors.IncompatibleSchemaError,
            f"{UNREADABLE} {{\"name\" : 'R'}} <&>",
        ),
        (
            Answer(409, b"", {"Content-Length": "0"}, f'{UNREADABLE} ?{{?  "type" : ...'),
            errors.IncompatibleSchemaError,
            f'{UNREADABLE} ?{{?  "type" : ...',
        ),
        (
            Answer(409, b"<html><h2>HTTP ERROR 409</h2></html>", {"Content-Type": "text/html"}, "Incompatible schema"),
            errors.IncompatibleSchemaError,
            "Incompatible schema",
        ),
        (
            jetty(422, "Invalid schema definition data for AVRO schema"),
            errors.InvalidSchemaError,
            "Invalid schema definition data for AVRO schema",
        ),
        (jetty(401, "Authentication required"), errors.AuthenticationError, "Authentication required"),
        (Answer(401, {"reason": PRODUCE}), errors.AuthorizationError, PRODUCE),
        (Answer(401, {"reason": ADMIN}), errors.AuthorizationError, ADMIN),
        (
            Answer(403, {"reason": "Need to authenticate to perform the request"}),
            errors.AuthorizationError,
            "Need to authenticate to perform the request",
        ),
        (Answer(500, {"reason": stack("payload is null")}), errors.SchemaRegistryError, "payload is null"),
        (
            Answer(500, {"reason": stack("two\nlines {\n}")}),
            errors.SchemaRegistryError,
            "two\nlines {\n}",
        ),
        (
            Answer(500, stack('For input string: "abc"').encode(), {"Content-Type": "text/plain"}),
            errors.SchemaRegistryError,
            'For input string: "abc"',
        ),
        (
            Answer(400, b"Unknown property data, perhaps you want", {"Content-Type": "text/plain;charset=utf-8"}),
            errors.SchemaRegistryError,
            "Unknown property data, perhaps you want",
        ),
        (Answer(412, {"reason": "Topic name is not valid"}), errors.SchemaRegistryError, "Topic name is not valid"),
        (jetty(415, "Unsupported Media Type"), errors.SchemaRegistryError, "Unsupported Media Type"),
        # Jetty 12, of Pulsar 4.2: line breaks as they are, and a reason phrase that says nothing
        (
            Answer(
                409,
                f'{{\n"message":"{UNREADABLE} {{\n  &quot;a&quot; :\t1\r\n}}",\n"status":"409"\n}}'.encode(),
                {"Content-Type": "application/json"},
                "Conflict",
            ),
            errors.IncompatibleSchemaError,
            f'{UNREADABLE} {{\n  "a" :\t1\r\n}}',
        ),
        # Other bodies are text
        (
            Answer(409, b'{"message":"Incompatible', {"Content-Type": "application/json"}, "Conflict"),
            errors.IncompatibleSchemaError,
            'Conflict: {"message":"Incompatible',
        ),
        (
            Answer(422, b'{"error":"bad","detail":7}', {"Content-Type": "application/json"}, "Unprocessable Entity"),
            errors.InvalidSchemaError,
            'Unprocessable Entity: {"error":"bad","detail":7}',
        ),
        (
            Answer(
                413,
                b"<html><h1>413 Too Large</h1>\n<hr>proxy &amp; co<!-- x --></html>",
                {"Content-Type": "text/html"},
                "Request Entity Too Large",
            ),
            errors.SchemaRegistryError,
            "Request Entity Too Large: 413 Too Large proxy & co",
        ),
        (
            Answer(409, b"{}", {"Content-Type": "application/json"}, "Conflict"),
            errors.IncompatibleSchemaError,
            "Conflict",
        ),
        (Answer(500, b"\xff\xfe", {}, "Server Error"), errors.SchemaRegistryError, "Server Error: \xff\xfe"),
        (Answer(500, b"", {}, phrase=""), errors.SchemaRegistryError, "HTTP 500"),
        (Answer(204, b"", {}, phrase="No Content"), errors.SchemaRegistryError, "No Content"),
    ],
)
def test_a_refusal_is_a_typed_error_with_the_brokers_text(
    client: SchemaRegistryClient, server: ScriptedRegistry, answer: Answer, kind: type, reason: str
) -> None:
    server.script(answer)
    with pytest.raises(errors.SchemaRegistryError) as caught:
        client.register("a/b/t", TEXT)
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.reason, error.topic) == (answer.status, reason, "a/b/t")
    assert error.url == f"{server.url}/admin/v2/schemas/a/b/t/schema"
    assert not error.retriable
    assert " ".join(reason.split()) in str(error)
    assert "cannot register a schema" in str(error)
    assert "\n" not in str(error)
    assert len(server.asked) == 1, "not worth a retry"


def test_a_missing_permission_is_reported_with_topic_and_operation(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(Answer(401, {"reason": PRODUCE}))
    with pytest.raises(errors.AuthorizationError, match=r"topic t: cannot register a schema: .*the right to produce"):
        client.register("t", TEXT)
    with pytest.raises(errors.AuthorizationError, match=r"topic t: cannot delete the schemas: .*admin of the tenant"):
        client.delete("t")


def test_missing_and_bad_credentials_have_hints_of_their_own(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(jetty(401, "Authentication required"))
    with pytest.raises(errors.AuthenticationError, match=r"set bearer\.auth\.token"):
        client.latest("t")
    other = SchemaRegistryClient({**CONF, "schema.registry.url": server.url, "bearer.auth.token": "bad"})
    with pytest.raises(errors.AuthenticationError, match="invalid or has expired"):
        other.latest("t")
    other.close()


def test_the_requested_version_is_in_the_error(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(Answer(404, {"reason": "Schema not found"}))
    with pytest.raises(errors.SchemaNotFoundError, match="topic t, schema version 9: ") as caught:
        client.by_version("t", 9)
    assert caught.value.version == 9


def test_an_error_quotes_a_bounded_part_of_the_response(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    server.script(jetty(409, "x\x1b[31m" + "y" * 100_000))
    with pytest.raises(errors.IncompatibleSchemaError) as caught:
        client.register("t", TEXT)
    assert len(str(caught.value)) < 1_400
    assert "\x1b" not in str(caught.value)
    assert len(caught.value.reason or "") == 64 * 1024


READS: list[Callable[[SchemaRegistryClient], object]] = [
    lambda client: client.latest("t"),
    lambda client: client.all_versions("t"),
    lambda client: client.register("t", TEXT),
    lambda client: client.compatibility("t", TEXT),
    lambda client: client.delete("t"),
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>welcome</html>", b"null", b"[]", b"{}", b'{"version": "1"}', b"[" * 200_000, b"\xff\xfe\x00"],
)
def test_an_unexpected_success_is_an_error_that_quotes_it(
    client: SchemaRegistryClient, server: ScriptedRegistry, read: Callable[[SchemaRegistryClient], object], body: bytes
) -> None:
    server.script(Answer(body=body))
    with pytest.raises(errors.SchemaRegistryError, match=r"expected .*, got ") as caught:
        read(client)
    assert caught.value.topic == "t"
    assert body[:10].decode("latin-1").split("\x00")[0] in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": True},
        {"version": None},
        {"version": -1},
        {"version": 1.0},
        {"version": 2**63},
        {"type": None},
        {"data": {}},
        {"timestamp": "now"},
        {"properties": []},
        {"properties": {"a": 1}},
    ],
)
def test_an_invalid_schema_response_is_refused(
    client: SchemaRegistryClient, server: ScriptedRegistry, wrong: dict[str, Any]
) -> None:
    server.script(Answer(body={**STORED, **wrong}))
    with pytest.raises(errors.SchemaRegistryError, match=next(iter(wrong)) + "|schema version from 0"):
        client.latest("t")


@pytest.mark.parametrize("body", [{"version": -1}, {"version": {"version": -1}}])
def test_registering_never_returns_less_than_version_0(
    client: SchemaRegistryClient, server: ScriptedRegistry, body: object
) -> None:
    server.script(Answer(body=body))
    with pytest.raises(errors.SchemaRegistryError):
        client.register("t", TEXT)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("pulsar://localhost:6650", "expected http:// or https://"),
        ("localhost:8080", "expected http:// or https://"),
        ("ftp://localhost", "expected http:// or https://"),
        ("http://", "no host"),
        ("http://:8080", "no host"),
        ("http://a:8080,", "not a valid URL"),
        ("http://a:8080,b:8080", "got scheme 'b'"),
        ("http://user:secret@localhost", "user name or password"),
        ("http://localhost:8080?x=secret", "query"),
        ("http://localhost:8080/#secret", "fragment"),
        ("http://localhost:80800", "not a valid URL"),
        ("http://localhost:port", "not a valid URL"),
        ("http://[::1", "not a valid URL"),
    ],
)
def test_a_bad_address_is_refused_at_once_and_not_shown(url: str, complaint: str) -> None:
    with pytest.raises(errors.ConfigError, match=complaint) as caught:
        SchemaRegistryClient({**CONF, "schema.registry.url": url})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("tail", ["", "/", "/behind/a/proxy", "/behind/a/proxy/"])
def test_a_path_in_front_of_the_api_is_kept(server: ScriptedRegistry, tail: str) -> None:
    client = SchemaRegistryClient({**CONF, "schema.registry.url": server.url + tail})
    client.latest("t")
    client.close()
    assert one(server)[1] == f"{tail.rstrip('/')}{BASE}/schema"


def test_a_bad_tenant_is_refused_at_once() -> None:
    with pytest.raises(errors.ConfigError, match=r"pulsar\.tenant"):
        SchemaRegistryClient({**CONF, "schema.registry.url": "http://localhost", "pulsar.tenant": "a/b"})


def test_a_closed_client_opens_a_new_connection(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    client.close()
    client.latest("t")
    client.latest("t")
    client.close()
    client.close()
    client.latest("t")
    first, second, third = [asked.port for asked in server.asked]
    assert first == second != third


def test_calls_are_counted_by_method(client: SchemaRegistryClient, server: ScriptedRegistry) -> None:
    assert client.calls == {}
    client.latest("t")
    server.script(Answer(body={"version": 0}))
    client.register("t", TEXT)
    client.delete("t")
    client.close()
    assert client.calls == {"GET": 1, "POST": 1, "DELETE": 1}


def test_if_one_of_several_addresses_fails_the_next_is_tried(server: ScriptedRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
    client = SchemaRegistryClient({**CONF, "schema.registry.url": f"{dead}, {server.url}/"})
    server.script(Answer(body={"getSchemaResponses": []}))
    assert client.all_versions("t") == client.all_versions("t") == []
    assert client.calls == {"GET": 3}  # the dead address once, and then directly the one that answered last
    client.close()


def test_if_one_of_several_addresses_refuses_the_others_are_not_asked() -> None:
    refusal, answer = Answer(404, {"reason": "Schema not found"}), Answer(body={"getSchemaResponses": []})
    with ScriptedRegistry(refusal) as first, ScriptedRegistry(answer) as second:
        client = SchemaRegistryClient({**CONF, "schema.registry.url": f"{first.url},{second.url}"})
        with pytest.raises(errors.SchemaNotFoundError):
            client.latest("t")
        client.close()
    assert len(first.asked) == 1
    assert second.asked == []


def test_requests_go_through_the_proxy() -> None:
    with ScriptedRegistry(Answer(body={"getSchemaResponses": []})) as proxy:
        conf = {**CONF, "schema.registry.url": "http://pulsar.invalid:8080", "proxy": proxy.url}
        client = SchemaRegistryClient(conf)
        assert client.all_versions("t") == []
        client.close()
    (asked,) = proxy.asked
    assert asked.path == "http://pulsar.invalid:8080/admin/v2/schemas/public/default/t/schemas"


def test_an_unreachable_proxy_is_an_error_without_credentials() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dead = f"http://user:hush@127.0.0.1:{taken.getsockname()[1]}"
    conf = {**CONF, "schema.registry.url": "http://pulsar.invalid:8080", "proxy": dead, "retries.total.ms": 1}
    client = SchemaRegistryClient(conf)
    with pytest.raises(errors.RegistryUnavailableError) as caught:
        client.latest("t")
    assert "hush" not in str(caught.value)
    client.close()


def test_a_deletion_is_not_forced_unless_it_is_asked_for(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    server.script(Answer(body={"version": 3}))
    assert client.delete("t") == 3
    assert one(server) == ("DELETE", f"{BASE}/schema", None)
