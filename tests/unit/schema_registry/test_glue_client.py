"""AWS Glue's registry through boto3, whose client is stubbed: what is asked, and what each refusal becomes."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import exit_code, join

from streamnative_serdes import _config as config
from streamnative_serdes._topics.confluent_ids import ConfluentSchemas
from streamnative_serdes.errors import (
    AuthorizationError,
    ConfigError,
    RegistryUnavailableError,
    SchemaNotFoundError,
    SchemaRegistryError,
)
from streamnative_serdes.schema_registry.foreign import GlueClient

VERSION = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"
KEY = ("glue.", "schema version", VERSION)


@pytest.fixture
def boto() -> Any:
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    return boto3.client("glue", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")


def test_boto3_is_asked_for_the_version_of_the_schema(boto: Any) -> None:
    from botocore.stub import Stubber

    with Stubber(boto) as stub:
        found = {"SchemaVersionId": VERSION, "SchemaDefinition": '"long"', "DataFormat": "AVRO", "Status": "AVAILABLE"}
        stub.add_response("get_schema_version", found, {"SchemaVersionId": VERSION})
        client = GlueClient({"glue.registry": boto})
        assert client.by_key(KEY).schema_str == '"long"'
        assert client.calls == {"GetSchemaVersion": 1}
        stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("EntityNotFoundException", 400, SchemaNotFoundError),
        ("AccessDeniedException", 400, AuthorizationError),
        ("InvalidInputException", 400, SchemaRegistryError),
        ("InternalServiceException", 500, RegistryUnavailableError),
    ],
)
def test_boto3s_errors_are_typed(boto: Any, code: str, status: int, kind: type[Exception]) -> None:
    from botocore.stub import Stubber

    with Stubber(boto) as stub:
        stub.add_client_error("get_schema_version", code, "why", status)
        with pytest.raises(SchemaRegistryError, match=f"{VERSION}.*why") as caught:
            GlueClient({"glue.registry": boto}).by_key(KEY)
        assert type(caught.value) is kind
        assert caught.value.reason == code


def test_a_region_makes_a_client_of_boto3s_once(boto: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    made: list[str] = []
    monkeypatch.setattr(boto3, "client", lambda _, region_name: made.append(region_name) or boto)
    client = GlueClient({"glue.registry": "eu-west-1"})
    monkeypatch.setattr(boto, "get_schema_version", lambda **_: {"SchemaDefinition": '"long"', "DataFormat": "AVRO"})
    assert client.by_key(KEY).schema_str == client.by_key(KEY).schema_str == '"long"'
    assert made == ["eu-west-1"]
    client.close()
    client.by_key(KEY)
    assert made == ["eu-west-1"] * 2


def test_without_boto3_a_region_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigError, match="boto3 is not installed") as caught:
        GlueClient({"glue.registry": "eu-west-1"}).by_key(KEY)
    assert "install boto3" in str(caught.value.hint)


def test_a_version_without_a_definition_is_not_found() -> None:
    class Empty:
        def get_schema_version(self, **_: Any) -> dict[str, Any]:
            return {"DataFormat": "AVRO", "Status": "PENDING"}

    with pytest.raises(SchemaNotFoundError, match="no definition"):
        GlueClient({"glue.registry": Empty()}).by_key(KEY)


class Answering:
    """An object in place of boto3's client; an answer that is an error is raised."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get_schema_version(self, **_: Any) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def error_with(response: Any) -> Exception:
    error = OSError("why")
    error.response = response  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize("answer", [None, [], "text", 5])
def test_an_answer_of_another_type_is_a_typed_error(answer: Any) -> None:
    with pytest.raises(SchemaRegistryError, match=f"{VERSION} .* expected a dict, got {type(answer).__name__}"):
        GlueClient({"glue.registry": Answering(answer)}).by_key(KEY)


@pytest.mark.parametrize("response", ["text", object(), {"Error": "text"}, {"Error": {"Code": None}}, [1]])
def test_an_error_with_another_response_than_boto3s_is_a_typed_error(response: Any) -> None:
    with pytest.raises(RegistryUnavailableError, match=f"{VERSION} from AWS Glue: why") as caught:
        GlueClient({"glue.registry": Answering(error_with(response))}).by_key(KEY)
    assert caught.value.reason == "OSError"


def test_a_region_that_boto3_refuses_is_an_error_that_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(*_: Any, **__: Any) -> Any:
        raise ValueError("not a valid region")

    monkeypatch.setitem(sys.modules, "boto3", SimpleNamespace(client=client))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"glue\.registry: .* region 'eu west': not a valid region"):
        GlueClient({"glue.registry": "eu west"}).by_key(KEY)


def test_threads_make_one_client_of_boto3s(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def client(*_: Any, **__: Any) -> Any:
        made.append(Answering({"SchemaDefinition": '"long"', "DataFormat": "AVRO"}))
        time.sleep(0.05)
        return made[-1]

    monkeypatch.setitem(sys.modules, "boto3", SimpleNamespace(client=client))  # type: ignore[arg-type]
    glue = GlueClient({"glue.registry": "eu-west-1"})
    threads = [threading.Thread(target=glue.by_key, args=(KEY,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def glue_schemas(monkeypatch: pytest.MonkeyPatch, client: Callable[..., Any]) -> ConfluentSchemas:
    monkeypatch.setitem(sys.modules, "boto3", SimpleNamespace(client=client))  # type: ignore[arg-type]
    given = {"schema.registry.url": "http://pulsar:1", "glue.registry": "eu-west-1"}
    conf = config.other_registries(config.parse(config.DESERIALIZER_OPTIONS, given, strict=True))["glue."]
    ConfluentSchemas.forget()
    return ConfluentSchemas.shared(conf)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_never_uses_its_parents_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(*_: Any, **__: Any) -> Any:
        return Answering({"SchemaDefinition": '"long"' if os.getpid() == parent else '"int"', "DataFormat": "AVRO"})

    parent = os.getpid()
    schemas = glue_schemas(monkeypatch, client)
    assert schemas.by_key(KEY).schema.text == '"long"'
    child = os.fork()
    if child == 0:
        text = schemas.by_key((*KEY[:2], "another")).schema.text
        os._exit(0 if text == '"int"' and schemas.client.calls == {"GetSchemaVersion": 1} else 1)
    assert exit_code(child) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_child_forked_while_a_client_is_made_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, forked = threading.Event(), threading.Event()

    def client(*_: Any, **__: Any) -> Any:
        if os.getpid() == parent:
            inside.set()
            assert forked.wait(60)
        return Answering({"SchemaDefinition": '"long"', "DataFormat": "AVRO"})

    parent = os.getpid()
    schemas = glue_schemas(monkeypatch, client)
    asking = threading.Thread(target=schemas.by_key, args=(KEY,))
    asking.start()
    assert inside.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if schemas.by_key(KEY).schema.text == '"long"' else 1)
    forked.set()
    join(asking)
    assert exit_code(child) == 0
