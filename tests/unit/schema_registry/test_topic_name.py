"""Topic names: their tenant and namespace in Pulsar, and errors that list the allowed forms."""

import pytest

from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.schema_registry import TopicName


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("orders", "public/default/orders"),
        ("a/b/orders", "a/b/orders"),
        ("persistent://a/b/orders", "a/b/orders"),
        ("my-topic_1.x", "public/default/my-topic_1.x"),
        ("a b", "public/default/a%20b"),
        ("a+b", "public/default/a%2Bb"),
        ("50%", "public/default/50%25"),
        ("what?#now", "public/default/what%3F%23now"),
        ("käse", "public/default/k%C3%A4se"),
        ("...", "public/default/..."),
    ],
)
def test_every_form_of_a_name_has_its_tenant_namespace_and_topic(topic: str, path: str) -> None:
    assert TopicName.parse(topic, "public", "default").path == path


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("a b+käse", "public/default/a%20b%252Bk%C3%A4se"),
        ("50%", "public/default/50%2525"),
        ("a%2Bb%20c", "public/default/a%25252Bb%252520c"),
    ],
)
def test_what_pulsar_would_decode_a_second_time_is_encoded_twice_for_schemas(topic: str, path: str) -> None:
    assert TopicName.parse(topic).schema_path == path


def test_a_name_keeps_the_form_that_the_user_wrote_and_equals_its_other_forms() -> None:
    short, full = TopicName.parse("t-partition-3"), TopicName.parse("persistent://public/default/t")
    assert (short.given, full.given) == ("t-partition-3", "persistent://public/default/t")
    assert short == full == TopicName("public", "default", "t")
    assert hash(short) == hash(full)
    assert TopicName("public", "default", "t").given == "persistent://public/default/t"


def test_short_names_are_in_the_configured_tenant_and_namespace() -> None:
    name = TopicName.parse("orders", "shop", "sales")
    assert str(name) == "persistent://shop/sales/orders"
    assert TopicName.parse(str(name), "other", "other") == name


@pytest.mark.parametrize(
    ("topic", "local"),
    [
        ("t-partition-0", "t"),
        ("t-partition-12", "t"),
        ("t-partition-2147483647", "t"),
        ("a/b/t-partition-3", "t"),
        ("t-partition-1-partition-2", "t-partition-1"),
        ("t-partition-03", "t-partition-03"),
        ("t-partition--1", "t-partition--1"),
        ("t-partition-+1", "t-partition-+1"),
        ("t-partition-2147483648", "t-partition-2147483648"),
        ("t-partition-", "t-partition-"),
        ("t-partition-1x", "t-partition-1x"),
        ("t-partition-\u0663", "t-partition-\u0663"),  # a digit for Python, but not for Pulsar
        ("-partition-3", "-partition-3"),
    ],
)
def test_only_a_partition_shares_the_schema_of_its_topic(topic: str, local: str) -> None:
    assert TopicName.parse(topic, "public", "default").local == local


@pytest.mark.parametrize(
    "topic",
    [
        "",
        None,
        b"orders",
        "a/b",
        "a/b/c/d",
        "/a/b",
        "a//b",
        "a/b/",
        "persistent://orders",
        "persistent://a/b",
        "persistent://a/b/c/d",
        "non-persistent://a/b/t",
        "http://a/b/t",
        "://a/b/t",
        "..",
        "a/../t",
        "a/b/.",
        "t\ud800",
    ],
)
def test_an_invalid_topic_is_refused_with_the_allowed_forms(topic: str) -> None:
    with pytest.raises(SerdesError) as caught:
        TopicName.parse(topic, "public", "default")
    assert "tenant/namespace/topic" in str(caught.value)


@pytest.mark.parametrize("bad", ["", "a/b", ".", ".."])
def test_the_error_for_a_bad_tenant_or_namespace_names_the_option(bad: str) -> None:
    with pytest.raises(ConfigError, match=r"pulsar\.tenant"):
        TopicName.parse("t", bad, "default")
    with pytest.raises(ConfigError, match=r"pulsar\.namespace"):
        TopicName.parse("t", "public", bad)
