"""compat.SchemaRegistryClient: Confluent's methods that Pulsar supports, and reasons for the others."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from schemas import record

from streamnative_serdes.compat import (
    AsyncSchemaRegistryClient,
    RegisteredSchema,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from streamnative_serdes.compat.error import SchemaRegistryError
from streamnative_serdes.errors import (
    ConfigError,
    IncompatibleSchemaError,
    SchemaError,
    SchemaNotFoundError,
)
from streamnative_serdes.testing import LocalRegistry

A = Schema(json.dumps(record("A", ("x", "int"))))
B = Schema(json.dumps(record("A", ("x", "int"), ("y", "int", 0))), "AVRO")
TEXTS = Schema(json.dumps(record("A", ("x", "string"))))


@pytest.fixture
def client(registry: LocalRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


@pytest.mark.promise("versions-from-1")
def test_versions_count_from_1_and_ids_are_pulsars_versions_of_their_topic(client: SchemaRegistryClient) -> None:
    assert [client.register_schema("t-value", schema) for schema in (A, B, A)] == [0, 1, 0]
    assert client.register_schema("other", B) == 0
    assert client.get_versions("t-value") == [1, 2]
    assert client.get_versions("t", offset=1, limit=1) == [2]
    assert client.get_version("t-value", 1) == RegisteredSchema("t-value", 1, 0, None, A)
    assert client.get_latest_version("t-value") == client.get_version("t-value") == client.get_version("t-value", 2)
    assert client.lookup_schema("t", B) == RegisteredSchema("t", 2, 1, None, B)
    assert [client.get_schema(number, "t-value") for number in (0, 1)] == [A, B]


def test_a_version_is_pulsars_plus_1_and_never_an_ordinal(client: SchemaRegistryClient) -> None:
    """A deletion uses a number up, so that the first schema after it is not number 1."""
    client.register_schema("t", A)
    client.delete_subject("t")
    made = client.register_schema_full_response("t", B)
    assert made == RegisteredSchema("t", 3, 2, None, B)
    assert made == client.get_version("t", 3) == client.get_latest_version("t") == client.lookup_schema("t", B)
    assert client.get_versions("t") == client.delete_subject("t") == [3]


def test_deleting_what_is_not_there_uses_no_version_up(client: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaNotFoundError, match=r"^topic t: the topic has no schemas to delete") as caught:
        client.delete_subject("t-value")
    assert (caught.value.http_status_code, caught.value.error_code) == (404, 40401)
    assert client.register_schema_full_response("t", A).version == 1
    assert client.delete_subject("t") == [1]
    assert client.delete_subject("t", permanent=True) == []
    assert client.register_schema_full_response("t", A).version == 1


def test_a_version_may_be_given_as_text(client: SchemaRegistryClient) -> None:
    """As from a command line or from references in JSON; Confluent's client accepts it too."""
    for schema in (A, B):
        client.register_schema("t", schema)
    assert client.get_version("t", "1") == client.get_version("t", 1)  # type: ignore[arg-type]
    assert client.get_schema("1", "t") == B  # type: ignore[arg-type]
    reference = SchemaReference("A", "t", "1")  # type: ignore[arg-type]
    top = Schema(json.dumps(record("Top", ("a", "A"))), "AVRO", [reference])
    assert client.register_schema("tops", top) == 0


@pytest.mark.parametrize("version", [0, "0", -1, True, 1.0, None, "one", "", " 1", "1_0", "٣", "9" * 30])
def test_a_version_other_than_a_number_from_1_on_is_an_error_before_any_request(
    client: SchemaRegistryClient, registry: LocalRegistry, version: Any
) -> None:
    top = Schema(json.dumps(record("Top", ("a", "A"))), "AVRO", [SchemaReference("A", "t-value", version)])
    for ask in (lambda: client.get_version("t-value", version), lambda: client.register_schema("tops", top)):
        with pytest.raises(SchemaRegistryError, match=r'^topic t: expected a version from 1 on, or "latest"') as caught:
            ask()
        assert f"got {version!r} (hint: " in str(caught.value)
        assert "Pulsar's + 1" in str(caught.value)
        assert (caught.value.http_status_code, caught.value.error_code) == (422, 42202)
        assert pickle.loads(pickle.dumps(caught.value)).error_code == 42202
    assert registry.calls.total() == 0


def test_errors_about_a_version_have_the_number_that_was_asked_for(client: SchemaRegistryClient) -> None:
    client.register_schema("t", A)
    with pytest.raises(SchemaNotFoundError, match=r"^topic t, schema version 2: cannot read the schema") as caught:
        client.get_version("t-value", 2)
    assert (caught.value.version, caught.value.error_code) == (2, 40402)
    with pytest.raises(SchemaNotFoundError, match=r"^topic t, schema version 1: ") as caught:
        client.get_schema(1, "t-value")  # an id is Pulsar's version
    assert caught.value.error_code == 40403
    with pytest.raises(SchemaNotFoundError, match=r"^topic none: ") as caught:
        client.get_latest_version("none")
    assert caught.value.version is None


@pytest.mark.parametrize("number", ["latest", None, True, 1.5, -1])
def test_an_id_other_than_a_number_is_an_error(client: SchemaRegistryClient, number: Any) -> None:
    with pytest.raises(SchemaRegistryError, match=r"^topic t: expected an id, from 0, got ") as caught:
        client.get_schema(number, "t-value")
    assert caught.value.error_code == 42202


def test_a_full_response_has_confluents_attributes(client: SchemaRegistryClient) -> None:
    made = client.register_schema_full_response("t-value", A)
    assert (made.subject, made.version, made.schema_id, made.guid) == ("t-value", 1, 0, None)
    assert (made.schema.schema_str, made.schema.schema_type, made.schema.references) == (A.schema_str, "AVRO", [])


def test_a_schema_as_a_dict_has_its_references_as_confluents_has() -> None:
    references = [SchemaReference("One", "one-value", 1), SchemaReference("Two", "two-value", 2)]
    found = Schema("{}", "AVRO", references).to_dict()
    assert found == {
        "schema": "{}",
        "schemaType": "AVRO",
        "references": [
            {"name": "One", "subject": "one-value", "version": 1},
            {"name": "Two", "subject": "two-value", "version": 2},
        ],
    }
    assert Schema("{}", "AVRO").to_dict()["references"] == []


def test_schemas_are_read_from_dicts_as_confluents_are() -> None:
    schema = Schema("{}", "AVRO", [SchemaReference("One", "one-value", 1)])
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict({"schema": "{}"}) == Schema("{}")
    registered = RegisteredSchema("t-value", 1, 0, None, schema)
    assert registered.to_dict() == {**schema.to_dict(), "id": 0, "subject": "t-value", "version": 1}
    assert RegisteredSchema.from_dict(registered.to_dict()) == registered
    assert RegisteredSchema.from_dict({"schema": "{}", "id": 3}).schema_id == 3, "the answer of /schemas/ids/3"


def test_an_error_can_be_made_as_confluents() -> None:
    made = SchemaRegistryError(404, 40401, "x")
    for error in (made, pickle.loads(pickle.dumps(made))):
        assert (error.http_status_code, error.error_code, error.error_message, str(error)) == (404, 40401, "x", "x")


def test_the_configuration_is_a_dict_of_the_callers(client: SchemaRegistryClient, registry: LocalRegistry) -> None:
    client.config()["url"] = "changed"
    assert json.dumps(client.config()) == json.dumps({"url": registry.url})


def test_a_schema_is_looked_up_as_parsed(client: SchemaRegistryClient) -> None:
    client.register_schema("t", A)
    client.register_schema("t", B)
    spaced = Schema(json.dumps(json.loads(A.schema_str), indent=4))
    assert client.lookup_schema("t-value", spaced).version == 1
    with pytest.raises(SchemaRegistryError, match="does not have this schema") as caught:
        client.lookup_schema("t", TEXTS)
    assert (caught.value.http_status_code, caught.value.error_code) == (404, 40403)


def test_references_are_resolved_for_registration_and_lookup(client: SchemaRegistryClient) -> None:
    client.register_schema("a", A)
    top = Schema(json.dumps(record("Top", ("a", "A"))), "AVRO", [SchemaReference("A", "a", 1)])
    assert client.register_schema("t", top) == 0
    assert json.loads(client.get_latest_version("t").schema.schema_str)["fields"][0]["type"]["name"] == "A"
    assert client.lookup_schema("t", top).schema_id == 0


def test_a_reference_to_a_missing_subject_is_the_registrys_error(client: SchemaRegistryClient) -> None:
    top = Schema(json.dumps(record("Top", ("a", "A"))), "AVRO", [SchemaReference("A", "none", 3)])
    with pytest.raises(SchemaRegistryError, match="topic none, schema version 3"):
        client.register_schema("t", top)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (Schema("{}", "PROTOBUF"), "schema_type: expected 'AVRO', .*got 'PROTOBUF'"),
        (Schema("{}", "JSON"), "schema_type: expected 'AVRO', .*got 'JSON'"),
        (Schema("{}", references=[{"name": "A"}]), "references: expected a SchemaReference, got dict"),  # type: ignore[list-item]
        (Schema("{}", metadata={}), "metadata is not supported"),
        (Schema("{}", rule_set=[]), "rule_set is not supported"),
    ],
)
def test_what_pulsar_cannot_store_is_refused(client: SchemaRegistryClient, schema: Schema, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        client.register_schema("t", schema)
    assert isinstance(caught.value, SchemaRegistryError)
    assert caught.value.error_code == 42201


def test_a_reference_to_a_type_that_is_not_there_is_the_registrys_error(client: SchemaRegistryClient) -> None:
    client.register_schema("a", Schema('"int"'))
    top = Schema(json.dumps(record("Top", ("a", "Missing"))), "AVRO", [SchemaReference("Missing", "a", 1)])
    with pytest.raises(SchemaRegistryError, match="a version 1 does not define 'Missing'") as caught:
        client.register_schema("t", top)
    assert caught.value.error_code == 42201


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        *((subject, "^expected a subject, got ") for subject in ("", None, b"t-value", 5)),
        ("a/b-value", "^topic a/b: invalid topic name"),
        ("-value", "^expected a topic name, got ''"),
    ],
)
def test_a_subject_that_is_not_a_topic_is_refused(client: SchemaRegistryClient, subject: Any, words: str) -> None:
    with pytest.raises(SchemaRegistryError, match=words) as caught:
        client.get_versions(subject)
    assert (caught.value.http_status_code, caught.value.error_code) == (422, 42208)


@pytest.mark.parametrize(("offset", "limit"), [(-1, -1), ("x", -1), (None, -1), (0, "x"), (0, None), (True, -1)])
def test_a_bad_range_of_versions_is_refused(client: SchemaRegistryClient, offset: Any, limit: Any) -> None:
    with pytest.raises(SchemaRegistryError, match="expected whole numbers from 0 as offset and limit, got"):
        client.get_versions("t", offset=offset, limit=limit)


def test_a_range_of_versions_may_be_given_as_text(client: SchemaRegistryClient) -> None:
    for schema in (A, B):
        client.register_schema("t", schema)
    assert client.get_versions("t", offset="1") == client.get_versions("t", offset=1, limit=-5) == [2]  # type: ignore[arg-type]
    assert client.get_versions("t", limit="1") == [1]  # type: ignore[arg-type]


def test_compatibility_is_as_the_topics_strategy_says(client: SchemaRegistryClient) -> None:
    client.register_schema("t", A)
    assert client.test_compatibility("t-value", B) is True
    assert client.test_compatibility("t-value", TEXTS) is False
    with pytest.raises(IncompatibleSchemaError) as caught:
        client.register_schema("t", TEXTS)
    assert (caught.value.http_status_code, caught.value.error_code) == (409, 409)
    assert "topic t" in caught.value.error_message


def test_deleting_a_subject_returns_its_versions_and_later_ones_continue_the_count(
    client: SchemaRegistryClient,
) -> None:
    client.register_schema("t", A)
    assert client.delete_subject("t-value") == [1]
    assert client.get_versions("t") == []
    assert client.register_schema("t", B) > 0
    client.delete_subject("t-value", permanent=True)
    assert client.register_schema("t", A) == 0


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda client: client.get_latest_version("t"), 40401),
        (lambda client: client.lookup_schema("t", A), 40401),
        (
            lambda client: [client.register_schema("t", A), client.delete_subject("t"), client.lookup_schema("t", A)],
            40401,
        ),
        (lambda client: client.get_version("t", 7), 40402),
        (lambda client: client.register_schema("t", Schema('{"type": "recrod"}')), 42201),
    ],
)
def test_errors_have_confluents_attributes(
    client: SchemaRegistryClient, ask: Callable[[SchemaRegistryClient], Any], code: int
) -> None:
    with pytest.raises(SchemaRegistryError) as caught:
        ask(client)
    assert (caught.value.http_status_code, caught.value.error_code) == (code // 100, code)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda client: client.get_schema(5), r"no global schema ids.*get_version\(subject, version\)"),
        (lambda client: client.get_subjects(), "cannot list"),
        (lambda client: client.delete_version("t", 1), "all schemas of a topic at once"),
        (lambda client: client.get_compatibility("t"), "policy of the namespace"),
        (lambda client: client.set_compatibility("t", "FULL"), "pulsar-admin"),
        (lambda client: client.test_compatibility("t", A, version=1), "strategy"),
        (lambda client: client.get_version("t", fmt="resolved"), "format"),
        (lambda client: client.get_versions("t", deleted=True), "does not keep deleted schemas"),
        (lambda client: client.register_schema("t-key", A), "describes its values"),
    ],
)
def test_unsupported_methods_are_refused_with_the_reason(
    client: SchemaRegistryClient, registry: LocalRegistry, ask: Callable[[SchemaRegistryClient], Any], words: str
) -> None:
    with pytest.raises(SchemaRegistryError, match=words) as caught:
        ask(client)
    assert caught.value.http_status_code == -1
    assert registry.calls.total() == 0


@pytest.mark.parametrize("kind", [SchemaRegistryClient, AsyncSchemaRegistryClient])
def test_confluents_other_methods_are_missing_with_the_reason(kind: Any) -> None:
    client = kind({"url": "http://p:8080"})
    assert not hasattr(client, "get_mode")
    with pytest.raises(AttributeError, match=f"^{kind.__name__}.get_referenced_by: Pulsar's registry has no"):
        client.get_referenced_by("t")


@pytest.mark.promise("bad-schemas")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "topic t: the schema is not JSON"),
        ('{"type": "recrod"}', "topic t: .*recrod"),
        ('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "Nope"}]}', "topic t.*field a.*Nope"),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": "x"}]}',
            "topic t.*field a",
        ),
    ],
)
def test_a_bad_schema_is_refused_before_it_is_sent(
    client: SchemaRegistryClient, registry: LocalRegistry, text: str, words: str
) -> None:
    for ask in (client.register_schema, client.test_compatibility, client.lookup_schema):
        with pytest.raises(SchemaRegistryError, match=words) as caught:
            ask("t-value", Schema(text))
        assert isinstance(caught.value, SchemaError)
        assert (caught.value.http_status_code, caught.value.error_code) == (422, 42201)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert {line.method for line in registry.requests} <= {"GET"}


def test_a_default_that_brokers_cannot_handle_is_looked_up_but_not_registered(client: SchemaRegistryClient) -> None:
    field = {"name": "a", "type": ["null", "string"], "default": "x"}
    schema = Schema(json.dumps({"type": "record", "name": "R", "fields": [field]}))
    with pytest.raises(SchemaRegistryError, match="first branch of the union"):
        client.register_schema("t-value", schema)
    client.register_schema("t-value", A)
    with pytest.raises(SchemaRegistryError, match="the topic does not have this schema"):
        client.lookup_schema("t-value", schema)


def test_a_schema_is_sent_as_it_was_written(client: SchemaRegistryClient) -> None:
    text = '{"type": "record",\n "name": "R", "fields": [],  "custom": "kept"}'
    assert client.register_schema_full_response("t", Schema(text)).schema.schema_str == text
    assert client.get_version("t", 1).schema.schema_str == text


def test_confluents_keys_have_confluents_meaning() -> None:
    conf = {"url": "http://p:8080", "timeout": 2.5, "retries.wait.ms": 7, "cache.capacity": 3, "pulsar.tenant": "a"}
    options = SchemaRegistryClient(conf).options
    assert (options["schema.registry.url"], options["pulsar.tenant"]) == ("http://p:8080", "a")
    assert (options["http.connect.timeout.ms"], options["http.read.timeout.ms"]) == (2500, 2500)
    assert (options["retries.wait.ms"], options["cache.capacity"]) == (7, 3)


@pytest.mark.promise("never-ignored", "unknown-keys")
@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ({}, "schema.registry.url is missing"),
        ({"urls": "http://p"}, "unknown option urls .*did you mean url[?]"),
        ({"ulr": "http://p"}, "unknown option ulr .*did you mean url[?]"),
        ({"url": "http://p", "timeot": 1}, "unknown option timeot .*did you mean timeout[?]"),
        ({"url": "http://p", "ssl.ca.loction": "x"}, "unknown option .*did you mean ssl.ca.location[?]"),
        ({"url": "http://p", "cache.capcity": 1}, "unknown option .*did you mean cache.capacity[?]"),
        ({"basic.auth.user.info": "secret'"}, "^basic.auth.user.info: expected USER:PASSWORD, got a value of type str"),
        ({"max.retries": 0}, "^max.retries is not supported"),
        ({"max.retries": 5}, "^max.retries is not supported: .*retries.total.ms"),
        ({"ssl.ca.location": False}, "^ssl.ca.location=False is not supported: certificates are always verified"),
        ({"ssl.key.location": "key.pem"}, "^schema.registry.ssl.key.location needs .*certificate.location"),
        (
            {"bearer.auth.credentials.source": "CUSTOM"},
            "^bearer.auth.credentials.source 'CUSTOM' is not supported: set",
        ),
        (
            {"bearer.auth.custom.provider.function": print},
            "^bearer.auth.custom.provider.function is not supported: set",
        ),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "^OAuth needs bearer.auth.client.id and"),
        ({"bearer.auth.client.secret": "secret'"}, "^OAuth needs bearer.auth.client.id and"),
        ({"url": "http://me:secret'@p:8080", "basic.auth.user.info": "me:secret'"}, "both contain user and password"),
        ({"url": "http://me:secret'@p,http://you:secret'@q"}, "different users or passwords"),
        *(({"timeout": seconds}, "timeout: expected seconds") for seconds in ("soon", 10**400)),
        ({"cache.latest.ttl.sec": 10**400}, "^cache.latest.ttl.sec: expected"),
        ({"timeout": 1, "http.read.timeout.ms": 9000}, "timeout and http.read.timeout.ms set the same option"),
        ({"timeout": 1, "http.connect.timeout.ms": 9000}, "timeout and http.connect.timeout.ms set the same option"),
        ({"schema.registry.url": "http://q"}, "url and schema.registry.url set the same option"),
        (
            {"ssl.ca.location": "a.pem", "schema.registry.ssl.ca.location": "b.pem"},
            "ssl.ca.location and schema.registry.ssl.ca.location set the same option",
        ),
    ],
)
def test_unsupported_keys_are_refused_by_name(conf: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        SchemaRegistryClient({"url": "http://p:8080", **conf} if conf else {})
    assert isinstance(caught.value, ValueError)
    assert "secret'" not in str(caught.value)


def test_confluents_keys_for_tls_and_authentication_have_confluents_meaning() -> None:
    tls = {"ca.location": "ca.pem", "certificate.location": "me.pem", "key.location": "me.key", "key.password": "p"}
    conf = {"url": "https://p", "basic.auth.user.info": "me:x", **{f"ssl.{key}": value for key, value in tls.items()}}
    options = SchemaRegistryClient(conf).options
    assert {key: options[f"schema.registry.ssl.{key}"] for key in tls} == tls
    assert options["basic.auth.user.info"] == "me:x"


def test_user_and_password_are_removed_from_the_address() -> None:
    client = SchemaRegistryClient(
        {"url": "https://me:a%40b@p:8443/x, https://q", "basic.auth.credentials.source": "URL"}
    )
    assert client.options["schema.registry.url"] == "https://p:8443/x,https://q"
    assert client.options["basic.auth.user.info"] == "me:a@b"


@pytest.mark.parametrize(
    ("url", "address"), [("http://p:8080/x@y", "http://p:8080/x@y"), ("http://@p:8080", "http://p:8080")]
)
def test_an_address_with_an_at_sign_may_have_no_user(url: str, address: str) -> None:
    options = SchemaRegistryClient({"url": url, "basic.auth.user.info": "me:x"}).options
    assert (options["schema.registry.url"], options["basic.auth.user.info"]) == (address, "me:x")
    assert SchemaRegistryClient({"url": url}).options["basic.auth.user.info"] is None


def test_the_kafka_clients_credentials_are_used_on_request() -> None:
    sasl = {"sasl.username": "public/default", "sasl.password": "token:t"}
    with LocalRegistry(token="t") as registry:
        conf = {"url": registry.url, "basic.auth.credentials.source": "SASL_INHERIT", **sasl}
        assert SchemaRegistryClient(conf).get_versions("orders") == []


def test_empty_values_of_unsupported_keys_are_accepted() -> None:
    SchemaRegistryClient(
        {
            "url": "http://p:8080",
            "ssl.ca.location": None,
            "timeout": None,
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": "t",
            "bearer.auth.logical.cluster": "lsrc-1",
            "bearer.auth.identity.pool.id": "pool-1",
        }
    )


@pytest.mark.promise("pickles")
def test_a_client_can_be_pickled(client: SchemaRegistryClient) -> None:
    client.register_schema("t", A)
    assert pickle.loads(pickle.dumps(client)).get_latest_version("t").schema == A
