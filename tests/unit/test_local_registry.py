"""LocalRegistry over HTTP: the statuses, bodies and reason phrases that Apache Pulsar 4.0.8 was seen to give."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.testing import Call, Fault, LocalRegistry

JSON = {"Accept": "application/json"}
SCHEMAS = "/admin/v2/schemas/public/default"
STRUCT = {"key.schema.type": "AVRO", "value.schema.type": "AVRO", "kv.encoding.type": "SEPARATED"}


def record(*names: str, record_name: str = "R", **extra: Any) -> str:
    fields = [{"name": name, "type": "string"} for name in names]
    return json.dumps({"type": "record", "name": record_name, "fields": fields, **extra})


def optional(*names: str) -> str:
    fields = [{"name": name, "type": "string", "default": ""} for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


class Client:
    """Plain requests, as a user's script would send them."""

    def __init__(self, registry: LocalRegistry, session: requests.Session) -> None:
        self.url = registry.url
        self.session = session
        session.headers.update(JSON)

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        return self.session.request(method, self.url + path, timeout=20, allow_redirects=False, **options)

    def post(
        self, topic: str, schema: str, kind: str = "AVRO", leaf: str = "schema", **properties: str
    ) -> requests.Response:
        return self.send({"type": kind, "schema": schema, "properties": properties}, topic, leaf)

    def send(self, payload: Any, topic: str = "t", leaf: str = "schema") -> requests.Response:
        return self.call("POST", f"{SCHEMAS}/{topic}/{leaf}", json=payload)

    def get(self, topic: str, leaf: str = "schema") -> requests.Response:
        return self.call("GET", f"{SCHEMAS}/{topic}/{leaf}")

    def registered(self, topic: str, schema: str, kind: str = "AVRO", **properties: str) -> int:
        answer = self.post(topic, schema, kind, **properties)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["version"]["version"])


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as running:
        yield running


@pytest.fixture
def client(registry: LocalRegistry) -> Iterator[Client]:
    with requests.Session() as session:
        yield Client(registry, session)


def test_versions_start_at_0_and_the_first_post_makes_the_topic(client: Client) -> None:
    answer = client.post("t", record("a"))
    assert (answer.status_code, answer.reason, answer.json()) == (200, "OK", {"version": {"version": 0}})
    assert answer.headers["Content-Type"] == "application/json"


def test_get_gives_back_the_text_as_it_was_posted(client: Client) -> None:
    text = '{ "type":"record", "name":"Ré\\u0041", "fields":[] }'
    before = time.time_ns() // 1_000_000
    client.registered("t", text, source="test")
    answer = client.get("t").json()
    assert before <= answer.pop("timestamp") <= time.time_ns() // 1_000_000 + 1
    assert answer == {"version": 0, "type": "AVRO", "data": text, "properties": {"source": "test"}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(record("a") + "\n ", id="white space"),
        pytest.param(record("a", doc="words"), id="doc"),
        pytest.param(record("a", aliases=["Q"]), id="aliases"),
        pytest.param(
            '{"name":"R","type":"record","fields":[{"type":{"type":"string"},"name":"a"}]}', id="order of keys"
        ),
    ],
)
def test_a_schema_that_is_equal_when_parsed_is_the_same_version(client: Client, text: str) -> None:
    assert [client.registered("t", record("a")), client.registered("t", text)] == [0, 0]
    assert client.get("t", "schemas").json()["getSchemaResponses"][0]["data"] == record("a")


@pytest.mark.parametrize(
    "text",
    [record("a", owner="me"), record("a", namespace="n"), record("a", record_name="Q")],
    ids=["prop", "namespace", "name"],
)
def test_a_schema_that_differs_when_parsed_is_a_new_version(client: Client, text: str) -> None:
    assert [client.registered("t", record("a")), client.registered("t", text)] == [0, 1]


def test_properties_are_neither_compared_nor_updated(client: Client) -> None:
    client.registered("t", record("a"), first="1")
    assert client.registered("t", record("a"), second="2") == 0
    assert client.get("t").json()["properties"] == {"first": "1"}


@pytest.mark.parametrize("strategy", ["FULL", "BACKWARD_TRANSITIVE", "ALWAYS_INCOMPATIBLE"])
def test_a_known_schema_keeps_its_version_under_every_strategy(
    registry: LocalRegistry, client: Client, strategy: str
) -> None:
    registry.set_strategy("ALWAYS_COMPATIBLE")
    assert [client.registered("t", text) for text in (record("a"), record("b"), record("c"))] == [0, 1, 2]
    registry.set_strategy(strategy)
    assert [client.registered("t", text) for text in (record("b"), record("a"), record("c"))] == [1, 0, 2]


def test_full_takes_optional_fields_and_refuses_required_ones(client: Client) -> None:
    assert client.registered("t", optional("a")) == 0
    assert client.registered("t", optional("a", "b")) == 1
    assert client.registered("t", optional("b")) == 2
    assert client.post("t", record("b", "c")).status_code == 409


def test_an_incompatible_schema_is_a_409_in_jettys_shape(client: Client) -> None:
    client.registered("t", record("a"))
    answer = client.post("t", record("a", "b"))
    assert answer.status_code == 409
    assert set(answer.json()) == {"servlet", "message", "url", "status"}
    assert answer.json()["url"] == f"{SCHEMAS}/t/schema"
    assert answer.json()["status"] == "409"
    start = "Error during schema compatibility check with strategy FULL: org.apache.avro.SchemaValidationException: "
    assert answer.json()["message"].startswith(
        start + "Unable to read schema: \n{\n  &quot;type&quot; : &quot;record&quot;,"
    )
    assert answer.reason.startswith(start + 'Unable to read schema: ?{?  "type" : "record",?')


def test_without_json_accepted_the_409_is_an_html_page(client: Client) -> None:
    client.registered("t", record("a"))
    payload = {"type": "AVRO", "schema": record("b")}
    answer = client.call("POST", f"{SCHEMAS}/t/schema", json=payload, headers={"Accept": "*/*"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (409, "text/html;charset=iso-8859-1")
    assert "<title>Error 409 Error during schema compatibility check" in answer.text


@pytest.mark.parametrize(("fields", "has_body"), [(150, True), (175, False)])
def test_a_large_409_has_only_its_reason_phrase_which_is_cut_at_1024(
    client: Client, fields: int, has_body: bool
) -> None:
    names = [f"f{number:05}" for number in range(fields)]
    client.registered("t", record(*names))
    answer = client.post("t", record(*names, "more"))
    assert (answer.status_code, len(answer.reason), bool(answer.content)) == (409, 1024, has_body)
    assert ("Content-Type" in answer.headers) is has_body


def test_schemas_as_deep_as_the_parser_takes_them_are_compared(client: Client) -> None:
    def nested(innermost: str) -> str:
        tree: Any = innermost
        for level in range(190):
            fields = [{"name": "f", "type": tree, "aliases": ["g"]}]
            tree = {"type": "record", "name": f"R{level}", "fields": fields}
        return json.dumps(tree)

    client.registered("t", nested("int"))
    assert client.post("t", nested("string")).status_code == 409


def java(message: str) -> str:
    return f"\n --- An unexpected error occurred in the server ---\n\nMessage: {message}\n\nStacktrace:"


AVRO_422 = "Invalid schema definition data for AVRO schema"
NO_ENUM = "No enum constant org.apache.pulsar.common.schema.SchemaType."
NO_SCHEMA = (
    'Cannot invoke "String.getBytes(java.nio.charset.Charset)" because the return value of '
    '"org.apache.pulsar.common.protocol.schema.PostSchemaPayload.getSchema()" is null'
)


@pytest.mark.parametrize(
    ("payload", "status", "message"),
    [
        ({"type": "AVRO", "schema": "{"}, 422, AVRO_422),
        ({"type": "AVRO", "schema": ""}, 422, AVRO_422),
        ({"type": "AVRO", "schema": "{}"}, 422, AVRO_422),
        ({"type": "AVRO", "schema": "string"}, 422, AVRO_422),
        ({"type": "AVRO", "schema": "null"}, 422, AVRO_422),
        ({"type": "AVRO", "schema": "schemas/user.avsc"}, 422, AVRO_422),
        ({"type": "AVRO", "schema": record("a", record_name="R-1")}, 422, AVRO_422),
        ({"type": "AVRO", "schema": record("a-b")}, 422, AVRO_422),
        ({"type": "AVRO", "schema": '{"type":"enum","name":"E","symbols":["A-1"]}'}, 422, AVRO_422),
        ({"type": "AVRO", "schema": '{"type":"enum","name":"E","symbols":["A"],"default":"B"}'}, 422, AVRO_422),
        ({"type": "AVRO", "schema": '["null","string"]'}, 422, "Avro schema typed [UNION] is not supported"),
        ({"type": "JSON", "schema": "{"}, 422, "Invalid schema definition data for JSON schema"),
        ({"type": "AUTO", "schema": ""}, 422, "Schema AUTO is a client-side schema type"),
        ({"type": "AUTO_CONSUME", "schema": ""}, 422, "Schema AUTO_CONSUME is a client-side schema type"),
        ({"type": "STRING", "schema": "x"}, 422, "Invalid schema definition data for string schema : &apos;x&apos;"),
        (
            {"type": "INT32", "schema": "xyz"},
            422,
            "Invalid schema definition data for primitive schemas :"
            "length of schema data should be zero, but 3 bytes is found",
        ),
        ({"type": "PROTOBUF_NATIVE", "schema": "x"}, 422, "deserialize ProtobufNative Schema failed"),
        ({"type": "avro", "schema": record("a")}, 500, NO_ENUM + "avro"),
        ({"type": "EXTERNAL", "schema": ""}, 500, NO_ENUM + "EXTERNAL"),
        ({"schema": ""}, 500, "Name is null"),
        ({"type": "AVRO", "data": record("a")}, 500, NO_SCHEMA),
        ({"type": "STRING", "schema": "", "properties": {"a": None}}, 500, "null"),
        ({"type": "KEY_VALUE", "schema": "{"}, 500, "com.google.gson"),
        ({"type": "KEY_VALUE", "schema": '"x"'}, 500, "class com.google.gson.JsonPrimitive cannot be cast"),
        (
            {"type": "KEY_VALUE", "schema": '{"value":""}'},
            500,
            'Cannot invoke "com.google.gson.JsonElement.toString()"',
        ),
        (
            {
                "type": "KEY_VALUE",
                "schema": '{"key":"","value":{"type":"zz"}}',
                "properties": STRUCT | {"key.schema.type": "STRING"},
            },
            422,
            AVRO_422,
        ),
        (
            {"type": "KEY_VALUE", "schema": '{"key":"","value":""}', "properties": {"key.schema.type": "z"}},
            500,
            NO_ENUM + "z",
        ),
    ],
)
def test_what_the_broker_does_not_take(client: Client, payload: Any, status: int, message: str) -> None:
    answer = client.send(payload)
    assert answer.status_code == status
    if status == 500:
        assert answer.json()["reason"].startswith(java(message).split("\n\nStacktrace")[0].rstrip())
    else:
        assert answer.json()["message"] == message
    assert client.get("t").status_code == 404


@pytest.mark.parametrize("body", [b"", b"null"])
def test_an_empty_body_is_a_500(client: Client, body: bytes) -> None:
    answer = client.call("POST", f"{SCHEMAS}/t/schema", data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 500
    assert '"payload" is null' in answer.reason


@pytest.mark.parametrize(
    "body",
    [
        b"{x",
        b"[]",
        b'{"schema":{"type":"record"}}',
        b'{"schema":["a"]}',
        b'{"type":"STRING","schema":"","properties":[]}',
    ],
)
def test_a_body_that_jackson_cannot_read_is_a_400_in_plain_text(client: Client, body: bytes) -> None:
    answer = client.call("POST", f"{SCHEMAS}/t/schema", data=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.reason, answer.headers["Content-Type"]) == (400, "Bad Request", "text/plain")
    assert answer.text


@pytest.mark.parametrize("headers", [{"Content-Type": "text/plain"}, {}])
def test_another_content_type_is_a_415_in_jettys_shape(client: Client, headers: dict[str, str]) -> None:
    answer = client.call("POST", f"{SCHEMAS}/t/schema", data=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["message"]) == (415, "Unsupported Media Type")


@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
def test_a_client_that_takes_no_json_gets_a_406(client: Client, kind: str) -> None:
    answer = client.call("GET", f"{SCHEMAS}/t/schema", headers={"Accept": kind})
    assert (answer.status_code, answer.headers["Content-Type"]) == (406, f"{kind};charset=iso-8859-1")


def test_unknown_keys_are_ignored_and_scalars_become_text(client: Client) -> None:
    assert client.send({"type": "STRING", "schema": "", "x": 1, "properties": {"n": 1, "b": True}}).status_code == 200
    assert client.get("t").json()["properties"] == {"n": "1", "b": "true"}


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", f"{SCHEMAS}/t/schema", 404, {"reason": "Schema not found"}),
        ("GET", f"{SCHEMAS}/t/schema/0", 404, {"reason": "Schema not found"}),
        ("GET", f"{SCHEMAS}/t/schemas", 200, {"getSchemaResponses": []}),
        ("GET", "/admin/v2/schemas/public/nope/t/schema", 404, {"reason": "Schema not found"}),
        ("GET", "/admin/v2/schemas/public/nope/t/schemas", 200, {"getSchemaResponses": []}),
        ("GET", f"{SCHEMAS}/%20/schema", 412, {"reason": "Topic name is not valid"}),
        ("GET", "/admin/v2/clusters", 200, ["standalone"]),
        ("GET", "/admin/v2/namespaces/public", 200, ["public/default"]),
        ("GET", "/admin/v2/namespaces/nope", 404, {"reason": "Tenant not found"}),
        ("PUT", "/admin/v2/namespaces/nope/n", 404, {"reason": "Tenant does not exist"}),
        ("PUT", "/admin/v2/tenants/public", 409, {"reason": "Tenant already exist"}),
        ("PUT", "/admin/v2/namespaces/public/default", 409, {"reason": "Namespace already exists"}),
        ("DELETE", f"{SCHEMAS}/t/schema", 200, {"version": 0}),
        ("DELETE", f"{SCHEMAS}/t/schema?force=true", 200, {"version": -1}),
    ],
)
def test_answers_of_an_empty_registry(client: Client, method: str, path: str, status: int, body: Any) -> None:
    answer = client.call(method, path)
    assert (answer.status_code, answer.json()) == (status, body)


@pytest.mark.parametrize(
    "path", ["/nothing", f"{SCHEMAS}/t", f"{SCHEMAS}/t/else", "/admin/v2/schemas/public/default/schema"]
)
def test_an_unknown_path_is_jettys_404(client: Client, path: str) -> None:
    answer = client.call("GET", path)
    assert (answer.status_code, answer.json()["message"], answer.json()["url"]) == (404, "Not Found", path)


def test_a_wrong_verb_is_a_405_with_a_page_only_for_get_and_post(client: Client) -> None:
    assert client.call("GET", f"{SCHEMAS}/t/compatibility").json()["message"] == "Method Not Allowed"
    answer = client.call("DELETE", f"{SCHEMAS}/t/schemas")
    assert (answer.status_code, answer.content) == (405, b"")


@pytest.mark.parametrize(
    ("version", "status"),
    [("0", 200), ("007", 404), ("-1", 404), ("1", 404), ("abc", 500), ("1.0", 500), (str(2**63), 500)],
)
def test_get_by_version(client: Client, version: str, status: int) -> None:
    client.registered("t", record("a"))
    answer = client.get("t", f"schema/{version}")
    assert answer.status_code == status
    if status == 500:
        assert answer.reason == f'For input string: "{version}"'


def test_all_versions_come_oldest_first(client: Client) -> None:
    texts = [optional("a"), optional("a", "b"), optional("a", "c")]
    for text in texts:
        client.registered("t", text)
    found = client.get("t", "schemas").json()["getSchemaResponses"]
    assert [(entry["version"], entry["data"]) for entry in found] == list(enumerate(texts))


def test_a_soft_delete_takes_a_number_and_hides_all_before_it(client: Client) -> None:
    client.registered("t", optional("a"))
    client.registered("t", optional("a", "b"))
    assert client.call("DELETE", f"{SCHEMAS}/t/schema").json() == {"version": 2}
    assert [client.get("t", leaf).status_code for leaf in ("schema", "schema/0", "schema/1", "schema/2")] == [404] * 4
    assert client.get("t", "schemas").json() == {"getSchemaResponses": []}
    assert client.registered("t", record("quite", "other")) == 3


def test_after_a_forced_delete_versions_start_at_0_with_another_timestamp(client: Client) -> None:
    client.registered("t", record("a"))
    before = client.get("t").json()["timestamp"]
    assert client.call("DELETE", f"{SCHEMAS}/t/schema?force=true").json() == {"version": -1}
    assert client.registered("t", record("b")) == 0
    assert client.get("t").json()["timestamp"] > before


@pytest.mark.parametrize(
    ("make", "status"), [(True, 204), (False, 404)], ids=["a topic that exists", "a topic that was never made"]
)
def test_deleting_a_topic_deletes_its_schemas(client: Client, make: bool, status: int) -> None:
    topic = "/admin/v2/persistent/public/default/t"
    if make:
        assert client.call("PUT", topic).status_code == 204
        assert client.call("PUT", topic).json() == {"reason": "This topic already exists"}
    client.registered("t", record("a"))
    answer = client.call("DELETE", topic)
    assert answer.status_code == status
    assert client.get("t").status_code == 404
    assert client.registered("t", record("b")) == 0


def test_a_partitioned_topic_is_deleted_as_such(client: Client) -> None:
    topic = "/admin/v2/persistent/public/default/t"
    assert client.call("PUT", topic + "/partitions", json=3).status_code == 204
    client.registered("t", record("a"))
    assert client.call("DELETE", topic).status_code == 409
    assert client.get("t").status_code == 200
    assert client.call("DELETE", topic + "/partitions").status_code == 204
    assert client.get("t").status_code == 404


@pytest.mark.parametrize(
    ("posted", "read", "found"),
    [
        ("x-partition-3", "x", True),
        ("x", "x-partition-0", True),
        ("y-partition-03", "y", False),
        ("y-partition--1", "y", False),
        ("a%20b", "a+b", True),
        ("a%2Fb", "a%252Fb", True),
        ("n+p", "n%252Bp", False),
        ("%E2%82%AC", "%25E2%2582%25AC", True),
    ],
)
def test_topic_names_are_decoded_twice_and_lose_their_partition(
    client: Client, posted: str, read: str, found: bool
) -> None:
    client.registered(posted, record("a"))
    assert (client.get(read).status_code == 200) is found


def test_a_percent_sign_that_is_left_over_is_a_500(client: Client) -> None:
    answer = client.post("a%25b", record("a"))
    assert (answer.status_code, answer.reason, answer.json()["message"]) == (500, "Server Error", "Request failed.")


def test_lookup_compares_text_while_post_compares_schemas(client: Client) -> None:
    client.registered("t", record("a"))
    assert client.post("t", record("a"), leaf="version").json() == {"version": 0}
    assert client.post("t", record("a") + " ", leaf="version").json() == {"version": -1}
    assert client.post("none", "{", leaf="version").json() == {"version": -1}
    assert client.post("t", record("a"), "JSON", leaf="version").json() == {"version": -1}


def test_compatibility_is_202_or_a_500_with_a_stack_trace(client: Client) -> None:
    good = {"schemaCompatibilityStrategy": "FULL", "compatibility": True}
    answer = client.post("t", record("a"), leaf="compatibility")
    assert (answer.status_code, answer.json()) == (202, good)
    client.registered("t", record("a"))
    assert client.post("t", record("a"), leaf="compatibility").json() == good
    answer = client.post("t", record("b"), leaf="compatibility")
    assert answer.status_code == 500
    assert answer.json()["reason"].startswith(java("Error during schema compatibility check").split("\n\nStack")[0])
    assert (
        "Stacktrace:\n\norg.apache.pulsar.broker.service.schema.exceptions.IncompatibleSchemaException: "
        in answer.text.encode().decode("unicode_escape")
    )
    assert client.post("t", "{", leaf="compatibility").reason == AVRO_422
    assert client.get("t", "schemas").json()["getSchemaResponses"][1:] == []


def test_another_type_on_the_topic_is_incompatible(client: Client) -> None:
    client.registered("t", record("a"))
    answer = client.post("t", record("a"), "JSON")
    assert (answer.status_code, answer.reason) == (
        409,
        "Incompatible schema: exists schema type AVRO, new schema type JSON",
    )


@pytest.mark.parametrize(
    "kind", ["STRING", "INT8", "INT64", "DOUBLE", "BOOLEAN", "TIMESTAMP", "LOCAL_DATE_TIME", "NONE"]
)
def test_primitives_have_no_text(client: Client, kind: str) -> None:
    assert [client.registered("t", "", kind), client.registered("t", "", kind)] == [0, 0]
    assert (client.get("t").json()["type"], client.get("t").json()["data"]) == (kind, "")


def test_bytes_is_kept_as_none_and_so_does_not_find_itself(client: Client) -> None:
    assert client.registered("t", "", "BYTES") == 0
    assert client.get("t").json()["type"] == "NONE"
    assert client.post("t", "", "BYTES").reason == "Incompatible schema: exists schema type NONE, new schema type BYTES"


def test_a_bad_default_is_taken_once_and_then_stumbled_over(client: Client) -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    assert client.registered("t", text) == 0
    answer = client.post("t", text)
    assert (answer.status_code, answer.reason) == (500, 'Invalid default for field a: "x" not a "int"')


def pair(key: str, value: str) -> str:
    return f'{{"key": {key}, "value": {value}}}'


def test_key_value_evolves_half_by_half(client: Client) -> None:
    first = pair(record("k"), record("v"))
    assert client.registered("t", first, "KEY_VALUE", **STRUCT) == 0
    assert client.registered("t", first + " ", "KEY_VALUE", **STRUCT) == 0
    compact = '{"key":{"type":"record","name":"R","fields":[{"name":"k","type":"string"}]},'
    answer = client.get("t").json()
    assert answer["data"].startswith(compact)
    assert answer["properties"] == STRUCT
    assert client.post("t", first, "KEY_VALUE", "version", **STRUCT).json() == {"version": 0}
    assert client.post("t", pair(record("k"), record("v", "w")), "KEY_VALUE", **STRUCT).status_code == 409
    assert client.post("t", pair(record("j"), record("v")), "KEY_VALUE", **STRUCT).status_code == 409
    grown = '{"type":"record","name":"R","fields":[{"name":"v","type":"string"},{"name":"w","type":"int","default":1}]}'
    assert client.registered("t", pair(record("k"), grown), "KEY_VALUE", **STRUCT) == 1
    other = STRUCT | {"key.schema.type": "STRING"}
    answer = client.post("t", pair('""', record("v")), "KEY_VALUE", **other)
    assert answer.status_code == 409
    assert answer.reason.startswith(
        "Key schemas or Value schemas are different schema type, from key schema type is AVRO"
    )


def test_a_key_value_half_whose_type_is_not_named_is_lost(client: Client) -> None:
    client.registered("t", pair(record("k"), record("v")), "KEY_VALUE")
    assert client.get("t").json()["data"] == '{"key":"","value":""}'
    client.registered("u", pair('""', record("v")), "KEY_VALUE", **STRUCT | {"key.schema.type": "STRING"})
    assert json.loads(client.get("u").json()["data"]) == {"key": "", "value": json.loads(record("v"))}


def test_post_needs_the_namespace(client: Client) -> None:
    path, payload = "/admin/v2/schemas/acme/sales/t/schema", {"type": "AVRO", "schema": record("a")}
    assert client.call("POST", path, json=payload).json() == {"reason": "Namespace does not exist"}
    tenant = {"adminRoles": [], "allowedClusters": ["standalone"]}
    assert client.call("PUT", "/admin/v2/tenants/acme", json=tenant).status_code == 204
    assert client.call("POST", path, json=payload).json() == {"reason": "Namespace does not exist"}
    assert client.call("PUT", "/admin/v2/namespaces/acme/sales").status_code == 204
    assert client.call("POST", path, json=payload).json() == {"version": {"version": 0}}
    assert client.call("DELETE", "/admin/v2/namespaces/acme/sales").status_code == 204
    assert client.call("GET", path).status_code == 404


def test_strategies_are_set_over_the_admin_api(registry: LocalRegistry, client: Client) -> None:
    namespace = "/admin/v2/namespaces/public/default/schemaCompatibilityStrategy"
    topic = "/admin/v2/persistent/public/default/t/schemaCompatibilityStrategy"
    assert client.call("GET", namespace).json() == "UNDEFINED"
    client.registered("t", record("a"))
    assert client.post("t", record("b")).status_code == 409
    assert client.call("PUT", namespace, json="ALWAYS_COMPATIBLE").status_code == 204
    assert client.call("GET", namespace).json() == "ALWAYS_COMPATIBLE"
    assert client.registered("t", record("b")) == 1
    assert client.call("PUT", topic, json="ALWAYS_INCOMPATIBLE").status_code == 204
    assert client.post("t", record("c")).status_code == 409
    assert client.call("DELETE", topic).status_code == 204
    assert client.registered("t", record("c")) == 2
    registry.set_strategy("FULL", "public/default/t")
    assert client.post("t", record("d")).status_code == 409
    assert client.call("PUT", namespace, data=b"null", headers={"Content-Type": "application/json"}).status_code == 204
    assert client.call("GET", namespace).json() == "UNDEFINED"
    assert client.call("PUT", namespace.replace("default", "nope"), json="FULL").status_code == 404
    with pytest.raises(ConfigError, match="'SIDEWAYS' is none of"):
        registry.set_strategy("SIDEWAYS")


def test_concurrent_identical_posts_give_one_version_and_different_ones_consecutive_versions(client: Client) -> None:
    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(lambda _: client.registered("same", record("a")), range(32))) == {0}
        different = [optional("a", f"b{number}") for number in range(16)]
        assert sorted(pool.map(lambda text: client.registered("other", text), different)) == list(range(16))


def test_64_threads_with_a_connection_each_are_served_at_once(registry: LocalRegistry, client: Client) -> None:
    client.registered("t", record("a"))
    gate = threading.Barrier(64, timeout=30)

    def read(_: int) -> int:
        gate.wait()
        return requests.get(f"{registry.url}{SCHEMAS}/t/schema/0", timeout=30).status_code

    with ThreadPoolExecutor(64) as pool:
        assert set(pool.map(read, range(64))) == {200}


@pytest.mark.parametrize(
    "sent", [None, "Bearer wrong", "bearer secret", "secret", "Basic c2VjcmV0", "Bearer token:secret"]
)
def test_without_the_right_token_all_is_401_in_jettys_shape(sent: str | None) -> None:
    with LocalRegistry(token="secret") as registry, requests.Session() as session:
        client = Client(registry, session)
        headers = {"Authorization": sent} if sent else {}
        answer = client.call("GET", f"{SCHEMAS}/t/schema", headers=headers)
        assert (answer.status_code, answer.reason) == (401, "Authentication required")
        assert answer.json()["message"] == "Authentication required"
        assert "WWW-Authenticate" not in answer.headers
        assert client.call("DELETE", f"{SCHEMAS}/t/schema", headers=headers).content == b""
        good = client.call("GET", f"{SCHEMAS}/t/schemas", headers={"Authorization": "Bearer secret"})
        assert good.status_code == 200


def test_requests_are_counted_by_kind_and_kept_in_order(registry: LocalRegistry, client: Client) -> None:
    client.registered("t", record("a"))
    for leaf in ("schema", "schema/0", "schema/7", "schemas"):
        client.get("t", leaf)
    client.post("t", record("a"), leaf="version")
    expected = ["POST schema", "GET schema", "GET version", "GET version", "GET schemas", "POST version"]
    assert registry.calls == Counter(expected)
    assert registry.calls["DELETE schema"] == 0
    assert registry.requests[2] == Call("GET", f"{SCHEMAS}/t/schema/0")
    registry.reset_calls()
    assert (registry.calls, registry.requests) == (Counter(), [])


def page(message: str) -> Callable[[requests.Response], bool]:
    return lambda answer: bool(answer.json()["message"] == message)


def reason(text: str) -> Callable[[requests.Response], bool]:
    return lambda answer: bool(answer.json() == {"reason": text})


@pytest.mark.parametrize(
    ("fault", "status", "right"),
    [
        (Fault.status(401), 401, page("Authentication required")),
        (
            Fault.status(401, "Unauthorized to validateTopicOperation"),
            401,
            reason("Unauthorized to validateTopicOperation"),
        ),
        (Fault.status(403), 403, reason("Need to authenticate to perform the request")),
        (Fault.status(404), 404, reason("Schema not found")),
        (Fault.status(404, "Namespace does not exist"), 404, reason("Namespace does not exist")),
        (Fault.status(412), 412, lambda answer: "Can't find owner" in answer.json()["reason"]),
        (Fault.status(429, retry_after=3), 429, lambda answer: answer.headers["Retry-After"] == "3"),
        (Fault.status(429), 429, page("Too Many Requests")),
        (Fault.status(500), 500, lambda answer: "Metadata store" in answer.json()["reason"]),
        (Fault.status(503), 503, page("Service Unavailable")),
        (Fault.garbage(), 200, lambda answer: answer.content == b'{"version": '),
        (Fault.garbage(b"<html>", "text/html"), 200, lambda answer: answer.text == "<html>"),
    ],
)
def test_a_fault_answers_in_place_of_the_registry_once(
    registry: LocalRegistry, client: Client, fault: Fault, status: int, right: Callable[[requests.Response], bool]
) -> None:
    registry.fail(fault)
    answer = client.post("t", record("a"))
    assert answer.status_code == status
    assert right(answer)
    assert client.get("t").status_code == 404, "a request that failed has no effect"
    assert client.registered("t", record("a")) == 0
    assert registry.calls["POST schema"] == 2


def test_faults_wait_in_line_for_the_requests_that_match(registry: LocalRegistry, client: Client) -> None:
    registry.fail(Fault.status(503), times=2, match="POST .*/schema$")
    registry.fail(Fault.status(429), match="POST")
    registry.fail(Fault.status(500), times=None, match="/schemas$")
    assert client.get("t").status_code == 404
    assert [client.post("t", record("a")).status_code for _ in range(4)] == [503, 503, 429, 200]
    assert [client.get("t", "schemas").status_code for _ in range(3)] == [500, 500, 500]
    registry.heal()
    assert client.get("t", "schemas").status_code == 200
    with pytest.raises(ConfigError, match="times"):
        registry.fail(Fault.status(500), times=0)


@pytest.mark.parametrize("at", ["answer", "body"])
def test_a_cut_connection_loses_the_answer_but_not_the_registration(
    registry: LocalRegistry, client: Client, at: Any
) -> None:
    registry.fail(Fault.cut(at))
    with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        client.post("t", record("a"))
    assert client.get("t").json()["version"] == 0


def test_a_delay_outlasts_the_clients_timeout_and_does_not_hold_up_closing() -> None:
    with LocalRegistry() as registry:
        registry.fail(Fault.delay(600))
        registry.fail(Fault.status(503).after(600))
        for _ in range(2):
            with pytest.raises(requests.ReadTimeout):
                requests.get(registry.url + "/admin/v2/clusters", timeout=0.05)
        assert requests.get(registry.url + "/admin/v2/clusters", timeout=20).status_code == 200
    assert not [thread for thread in threading.enumerate() if thread.name == "LocalRegistry"]


def test_307_names_the_other_broker_with_path_and_query(registry: LocalRegistry, client: Client) -> None:
    with LocalRegistry() as other:
        registry.fail(Fault.redirect(other.url))
        answer = client.post("t", record("a"))
        assert (answer.status_code, answer.content) == (307, b"")
        assert answer.headers["Location"] == f"{other.url}{SCHEMAS}/t/schema?authoritative=true"
        followed = requests.post(answer.headers["Location"], json={"type": "AVRO", "schema": record("a")}, timeout=20)
        assert followed.json() == {"version": {"version": 0}}
        assert (registry.calls["POST schema"], other.calls["POST schema"]) == (1, 1)


def test_307_to_itself_is_a_loop(registry: LocalRegistry, client: Client) -> None:
    registry.fail(Fault.redirect(authoritative=False), times=None)
    assert client.get("t").headers["Location"] == f"{registry.url}{SCHEMAS}/t/schema?authoritative=false"
    with requests.Session() as session, pytest.raises(requests.TooManyRedirects):
        session.get(f"{registry.url}{SCHEMAS}/t/schema", timeout=20)


def test_307_to_a_whole_url_is_sent_as_it_is(registry: LocalRegistry, client: Client) -> None:
    registry.fail(Fault.redirect("ftp://elsewhere/x?y=z"))
    assert client.get("t").headers["Location"] == "ftp://elsewhere/x?y=z"


def test_one_connection_serves_many_requests_in_one_packet_each(registry: LocalRegistry) -> None:
    host, port = registry.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        for _ in range(3):
            connection.sendall(b"GET /admin/v2/clusters HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = connection.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert answer.endswith(b'\r\n\r\n["standalone"]')


def test_closing_ends_connections_and_frees_the_port() -> None:
    registry = LocalRegistry()
    with pytest.raises(ConfigError, match="not running"):
        _ = registry.url
    with registry:
        port = int(registry.url.rpartition(":")[2])
        with requests.Session() as session:
            session.get(registry.url + "/admin/v2/clusters", timeout=20)
            registry.close()
            with pytest.raises(requests.ConnectionError):
                session.get(f"http://127.0.0.1:{port}/admin/v2/clusters", timeout=20)
    with LocalRegistry(port) as again:
        assert again.url == f"http://127.0.0.1:{port}"
        with pytest.raises(ConfigError, match="cannot listen"):
            LocalRegistry(port).start()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to one process on Windows")
def test_serve_runs_until_ctrl_c() -> None:
    script = "from streamnative_serdes.testing import serve; serve(0, ready=lambda url: print(url, flush=True))"
    with subprocess.Popen([sys.executable, "-W", "error", "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert requests.get(url + "/admin/v2/clusters", timeout=20).json() == ["standalone"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
