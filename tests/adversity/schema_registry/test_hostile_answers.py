"""Hostile responses: the registry client raises only our errors, and in bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from oauth_issuer import client
from raw_server import RawServer
from scripted_registry import CONF, FOUND, Answer, Clock, Connect, ScriptedRegistry
from waiting import until

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._call_path import policy_of
from streamnative_serdes._http import exchange
from streamnative_serdes._http.reply import MAX_WORDS
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.errors import SchemaRegistryError, SerdesError
from streamnative_serdes.schema_registry import SchemaRegistryClient, TopicName
from streamnative_serdes.testing import LocalRegistry

LONG = "9" * 5000  # more digits than Python converts to an int
DEEP = b"[" * 200_000
MEGABYTES = 12 << 20


def http(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return an HTTP response; ``_`` in the name of a header stands for ``-``."""
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def found(**members: str) -> bytes:
    """Return the body of a schema, with additional members as JSON."""
    given = {"version": "0", "type": '"AVRO"', "timestamp": "1", "data": '"\\"int\\""', "properties": "{}", **members}
    return http(("{" + ",".join(f'"{name}":{value}' for name, value in given.items()) + "}").encode())


ANSWERS = {
    # Bodies of successful responses
    "a number of many digits": http(LONG.encode()),
    "a version of many digits": found(version=LONG),
    "a version of as many digits as can be read": found(version=LONG[:4300]),
    "a time of as many digits as can be read": found(timestamp=LONG[:4300]),
    "a time that is infinite": found(timestamp="1e999"),
    "deep": http(DEEP),
    "deep inside": found(properties='{"a":' * 100_000 + "1" + "}" * 100_000),
    "half a surrogate pair for a type": found(type='"\\ud800"'),
    "half a surrogate pair for a schema": found(data='"\\ud800"'),
    "half a surrogate pair in a schema": found(data='"\\"\\\\ud800\\""'),
    "half a surrogate pair in properties": found(properties='{"\\ud800":1}'),
    "a type of megabytes": found(type=f'"{"A" * MEGABYTES}"'),
    "not UTF-8": http(b'{"a": "\xff\xfe"}'),
    "UTF-16 with a NUL": http('"int"\0'.encode("utf-16")),
    # Refusals
    "a character's number of many digits": http(b'{"message":"&#' + LONG.encode() + b';"}', "409 Conflict"),
    "the same in hexadecimal": http(b'{"message":"&#x' + LONG.encode() + b';"}', "409 Conflict"),
    "numbers that do not stand for a character": http(b'{"message":"&#xd800; &#1114112; &#0;"}', "409 Conflict"),
    "a deep refusal": http(DEEP, "409 Conflict"),
    "half a surrogate pair in a refusal": http(b'{"reason":"\\ud800"}', "500 Server Error"),
    "a reason that is a number": http(b'{"reason":1}', "500 Server Error"),
    "a refusal of megabytes": http(b'{"message":"' + b"&quot;" * (MEGABYTES // 6) + b'"}', "409 Conflict"),
    "plain text of megabytes": http(b"Message: x\n" * (MEGABYTES // 11), "500 No", Content_Type="text/plain"),
    "an endless line of lines": http(b"Message:\n" * 100_000, "500 No", Content_Type="text/plain"),
    # Headers and status lines
    "Retry-After of many digits": http(b"", "503 Busy", Retry_After=LONG),
    "Retry-After in no digits of ours": http(b"", "503 Busy", Retry_After="\xb2"),
    "Location of nothing": http(b"", "307 To"),
    "Location of many digits": http(b"", "307 To", Location=f"http://127.0.0.1:{LONG}/"),
    "Location with half an address": http(b"", "307 To", Location="//["),
    "Location that no host may have": http(b"", "307 To", Location="http://a\xb2b..c/admin/v2"),
    "Location with odd bytes": http(b"", "307 To", Location="/admin/\xff\x00\x7f"),
    "Location that is a port": http(b"", "307 To", Location=":99999"),
    "Content-Length of many digits": http(b"{}", "200 OK", Content_Length=LONG),
    "Content-Length below nothing": http(b"{}", "200 OK", Content_Length="-1"),
    "Content-Length in words": http(b"{}", "200 OK", Content_Length="two"),
    "two Content-Lengths": http(b"{}", "200 OK", Content_Length="2, 3"),
    "a chunk of many digits": http(f"{LONG}\r\n".encode(), "200 OK", Transfer_Encoding="chunked"),
    "a chunk below nothing": http(b"-5\r\nabcde\r\n0\r\n\r\n", "200 OK", Transfer_Encoding="chunked"),
    "a body that is not gzip": http(b"no gzip", "200 OK", Content_Encoding="gzip"),
    "an unknown encoding": http(b"{}", "200 OK", Content_Encoding="br, zstd, what"),
    "a status of many digits": http(b"", f"{LONG} OK"),
    "a status below nothing": http(b"", "-1 OK"),
    "a status that does not exist": http(b"", "999 What"),
    "no status": b"HTTP/1.1\r\n\r\n",
    "no version": b"HTTP/" + LONG.encode() + b" 200 OK\r\n\r\n",
    "a long line": b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    "a header without a name": b"HTTP/1.1 200 OK\r\n: b\r\nC\r\n\r\n{}",
    "no HTTP": b"\x15\x03\x03\x00\x02\x02F",
    "nothing": b"",
    "a cookie that never ends": http(b"{}", "200 OK", Set_Cookie="a=b; Expires=" + "1 " * 30_000),
}
HASTE = {"retries.total.ms": 100.0, "retries.wait.ms": 50.0}
IN_SECONDS = 20.0  # enough for a busy machine; unbounded work takes minutes


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    with RawServer(lambda *_: [answer]) as server:
        yield server.url


@pytest.mark.parametrize("name", ANSWERS)
def test_client_methods_raise_only_our_errors(name: str) -> None:
    conf = {**CONF, **HASTE}
    calls: list[Callable[[SchemaRegistryClient], object]] = [
        lambda registry: registry.latest("t"),
        lambda registry: registry.all_versions("t"),
        lambda registry: registry.register("t", '"int"'),
        lambda registry: registry.compatibility("t", '"int"'),
    ]
    began = time.monotonic()
    with answering(ANSWERS[name]) as url, closing(SchemaRegistryClient({**conf, "schema.registry.url": url})) as asking:
        for call in calls:
            try:
                call(asking)
            except SerdesError as error:
                str(error).encode()  # can be logged and sent
                assert len(str(error)) < 5_000
                assert len(getattr(error, "reason", None) or "") <= MAX_WORDS
    assert time.monotonic() - began < IN_SECONDS


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("discovered", [False, True])
def test_a_hostile_response_of_an_issuer_is_one_of_our_errors(name: str, discovered: bool) -> None:
    began = time.monotonic()
    with answering(ANSWERS[name]) as url, ScriptedRegistry(FOUND) as registry:
        options = {"bearer.auth.client.id": "c", "bearer.auth.client.secret": "s"}
        options["bearer.auth.issuer.url" if discovered else "bearer.auth.issuer.endpoint.url"] = url
        with (
            closing(client(registry.url, options, **HASTE)) as asking,
            pytest.raises(SerdesError) as caught,
        ):
            asking.latest("t")
    str(caught.value).encode()
    assert time.monotonic() - began < IN_SECONDS
    assert registry.asked == []


@pytest.mark.parametrize(
    "members",
    ['"expires_in":' + LONG[:4300], '"expires_in":"' + LONG + '"', '"expires_in":1e999', '"expires_in":-1e999'],
)
def test_a_token_with_an_invalid_expiry_is_used(members: str) -> None:
    answer = http(('{"access_token":"a",' + members + "}").encode())
    with answering(answer) as url, ScriptedRegistry(Answer(body={"getSchemaResponses": []})) as registry:
        options = {"bearer.auth.client.id": "c", "bearer.auth.client.secret": "s"}
        with closing(client(registry.url, {**options, "bearer.auth.issuer.endpoint.url": url})) as asking:
            assert asking.all_versions("t") == []


@pytest.mark.parametrize("kind", ["[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, "1", "null"])
def test_a_token_type_other_than_bearer_is_refused(kind: str) -> None:
    answer = http(('{"access_token":"a","token_type":' + kind + "}").encode())
    with answering(answer) as url, ScriptedRegistry(FOUND) as registry:
        options = {"bearer.auth.client.id": "c", "bearer.auth.client.secret": "s"}
        with (
            closing(client(registry.url, {**options, "bearer.auth.issuer.endpoint.url": url})) as asking,
            pytest.raises(SchemaRegistryError, match="expected a bearer token"),
        ):
            asking.latest("t")


def test_only_the_beginning_of_a_huge_refusal_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = exchange.Exchange._body
    monkeypatch.setattr(
        exchange.Exchange, "_body", lambda self, response: read.append(len(body := real(self, response))) or body
    )
    with (
        answering(ANSWERS["a refusal of megabytes"]) as url,
        closing(SchemaRegistryClient({**CONF, "schema.registry.url": url})) as asking,
        pytest.raises(SchemaRegistryError, match="Conflict") as caught,
    ):
        asking.latest("t")
    assert caught.value.status == 409
    assert exchange.MAX_REFUSAL < read[0] < 2 * exchange.MAX_REFUSAL


def test_the_longest_refusal_that_pulsar_can_send_is_read_whole(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    """Two schemas with thousands of fields, HTML-escaped."""
    words = "Unable to read schema: " + "&quot;name&quot;: " * 50_000
    server.script(Answer(409, {"message": words}))
    with pytest.raises(SchemaRegistryError) as caught:
        connect(server, clock).latest("t")
    assert (caught.value.reason or "").startswith('Unable to read schema: "name": "name": ')
    assert 20_000 < len(caught.value.reason or "") <= MAX_WORDS


def test_a_hostile_response_during_deserialize_many_is_one_of_our_errors() -> None:
    with answering(ANSWERS["a character's number of many digits"]) as url:
        reader = KafkaAvroDeserializer({"schema.registry.url": url})
        with pytest.raises(SchemaRegistryError, match="HTTP 409"):
            list(reader.deserialize_many("t", [b"\3\4" + bytes(8) + b"\2"]))


class _Unforeseen(Exception):
    pass


@pytest.mark.parametrize("error", [_Unforeseen("by nobody"), RecursionError("deep"), MemoryError()])
def test_errors_of_libraries_become_our_errors(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def send(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)
    with pytest.raises(SchemaRegistryError, match=f"{type(error).__name__}"):
        connect(server, clock).latest("t")


def test_an_error_for_one_topic_does_not_stop_the_watch_of_others(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Binding.forget()
    serializer = KafkaAvroSerializer({"schema.registry.url": registry.url, "cache.latest.ttl.sec": 1}, '"int"')
    for topic in ("a", "b"):
        serializer.serialize(topic, 1)
    binding, failed, looked = policy_of(serializer).binding, set(), set()
    real = binding.client.latest

    def latest(topic: TopicName, **more: Any) -> Any:
        if topic.given not in failed:
            failed.add(topic.given)
            raise _Unforeseen(topic)
        looked.add(topic.given)
        return real(topic, **more)

    monkeypatch.setattr(binding.client, "latest", latest)
    until(lambda: [serializer.serialize(topic, 1) for topic in "ab"] and looked == {"a", "b"}, "both are checked")
    told = [record for record in caplog.records if record.exc_info and record.exc_info[0] is _Unforeseen]
    assert len(told) == 1
    serializer.close()
