"""Validates a user's configuration: checks all values, and refuses unknown keys and contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from streamnative_serdes._nearest import nearest
from streamnative_serdes.errors import ConfigError

from . import confluent, credentials
from .framings import ALIKE, APICURIO, APICURIO_V3, BY_NAME
from .kafka_client import LIBRDKAFKAS
from .option import Option, checked
from .registry import refuse_other_tenant
from .serdes import DESERIALIZER_OPTIONS, FASTAVRO, SERIALIZER_OPTIONS

# Keys known from Confluent's and Pulsar's clients that are not supported yet, with the text of a harmless value.
NOT_THERE: Mapping[str, str | None] = {
    "use.schema.id": "-1",
    "normalize.schemas": "false",
    "subject.name.strategy": None,
    "subject.name.strategy.type": "topic",
    "schema.id.serializer": None,
    "schema.id.deserializer": None,
}

_MISSPELT = 0.9  # as much alike, of 1, as the names of an option of the serializer and one of the deserializer
_ALIKE = 0.75  # below it, the nearest name is probably not what was meant
_ELSEWHERE: Mapping[str, str] = {
    **{option.key: "KafkaAvroSerializer" for option in SERIALIZER_OPTIONS},
    **{option.key: "KafkaAvroDeserializer" for option in DESERIALIZER_OPTIONS},
}
_SECOND = "confluent.schema.registry.url"
_USE_ID = "apicurio.registry.use-id"


def parse(options: tuple[Option, ...], conf: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """Return all ``options`` with their checked values.

    Args:
        options: the table of the class being configured.
        conf: the user's configuration; None means "not given".
        strict: whether an unknown key is an error. A constructor is strict; ``configure`` is not, since clients
            pass their whole configuration through it.

    Raises:
        ConfigError: unknown key (names a similar known one), invalid value, missing ``schema.registry.url``,
            contradicting options, or a key of NOT_THERE with a value that would need support: ignoring it would not
            do what the user asked for.
    """
    known = {option.key: option for option in options}
    _refuse_not_there(conf)
    if strict:
        _refuse_unknown(known, conf)
        _refuse_idle(options, conf)
    # The client's own options are read only when asked for, so that their secrets are not copied without need.
    read = [option for option in options if not option.shared or confluent.inherits(conf)]
    values = dict.fromkeys(known) | {option.key: checked(option, conf.get(option.key)) for option in read}
    if values["schema.registry.url"] is None:
        raise ConfigError(
            "schema.registry.url is missing", hint="set it to Pulsar's HTTP address: http://localhost:8080"
        )
    credentials.refuse_contradictions(values)
    confluent.refuse_contradictions(values)
    refuse_other_tenant(conf, values)
    _refuse_contradictions(values)
    return values


def chosen(options: tuple[Option, ...], client: Mapping[str, Any], conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``conf`` has of ``options``, and the Kafka client's user and password if a registry inherits them.

    Raises:
        ConfigError: the Kafka user belongs to another tenant.
    """
    refuse_other_tenant(client, conf)
    inherited = ("sasl.username", "sasl.password") if confluent.inherits(conf) else ()
    given = {**conf, **{key: client[key] for key in inherited if key in client}}
    known = {option.key for option in options}
    return {key: value for key, value in given.items() if key in known}


def _refuse_idle(options: tuple[Option, ...], conf: Mapping[str, Any]) -> None:
    idle = [option.key for option in options if option.shared and conf.get(option.key) is not None]
    if idle and not confluent.inherits(conf):
        sources = f"{credentials.SASL_USER.source}=SASL_INHERIT or {credentials.SASL_TOKEN.source}=SASL_INHERIT"
        raise ConfigError(f"{idle[0]} has no effect without SASL_INHERIT", hint=f"set {sources} to sign in with it")


def _refuse_contradictions(values: Mapping[str, Any]) -> None:
    _refuse_half_of_a_registry(values)
    if "use.schema.version" in values:
        _refuse_two_choices(values)
    if "reader.schema.policy" in values:
        _refuse_two_readers_schemas(values)
    if values.get("key.schema") is not None and values.get("framing") == "confluent":
        raise ConfigError(
            "cannot enable both key.schema and framing=confluent: bare keys have no framing",
            hint="give the key's schema to a serializer of its own, with is_key=True: it is registered as TOPIC-key",
        )
    if values.get("value.type") is not None:
        _refuse_no_objects(values)
    if values.get("avro.engine") == FASTAVRO:
        _refuse_more_than_fastavro(values)


_ADDRESSES: Mapping[str, str] = {
    _SECOND: "the address of the registry with Confluent's schemas: http://localhost:8081",
    "apicurio.registry.url": "the address of Apicurio's own API: http://localhost:8080/apis/registry/v2",
    "azure.schema.registry.url": "the address of the namespace: https://NAMESPACE.servicebus.windows.net",
    "glue.registry": "the region of the registry, or to a client of boto3's for Glue",
}


def _refuse_half_of_a_registry(values: Mapping[str, Any]) -> None:
    name, framings = _foreign(values)
    for framing in framings:
        option = BY_NAME[framing].option
        if values.get(option) is None:
            raise ConfigError(f"{name} has {framing}, and {option} is missing", hint=f"set it to {_ADDRESSES[option]}")
    if set(ALIKE) <= set(framings):
        raise ConfigError(
            f"cannot enable both {' and '.join(ALIKE)}: both put 0x00 and an id of four bytes in front of the datum",
            hint="leave one of them out: the registry that its id belongs to has to be known, as one topic has one. "
            "Apicurio's compatible API serves its contentIds to `confluent` too, below /apis/ccompat/v7",
        )


def refuse_idle_registry(values: Mapping[str, Any]) -> None:
    """Raise ConfigError if the checked options of a SerDes have a registry that no framing needs."""
    name, framings = _foreign(values)
    used = {BY_NAME[framing].option for framing in framings}
    idle = next((option for option in _ADDRESSES if values.get(option) is not None and option not in used), None)
    if idle is not None:
        framing = next(each.name for each in BY_NAME.values() if each.option == idle)
        example = f"framings=snip42,{framing},headerless reads" if name == "framings" else "framing=confluent writes"
        raise ConfigError(
            f"{idle} has no effect with {name}={_joined(values[name])}", hint=f"{example} messages with its schema ids"
        )
    if values.get(_USE_ID) is not None and not {APICURIO, APICURIO_V3} & {*framings}:
        raise ConfigError(
            f"{_USE_ID} has no effect with {name}={_joined(values[name])}",
            hint="it is for the prefixes that framings=apicurio and apicurio-v3 read; headers say which ids they hold",
        )


def _foreign(values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The option that names framings, and those of its framings that need a registry beside Pulsar's."""
    name = next((name for name in ("framings", "framing") if name in values), "")
    return name, [framing for framing in (_joined(values[name]).split(",") if name else ()) if framing in BY_NAME]


def _joined(framings: str | tuple[str, ...]) -> str:
    return framings if isinstance(framings, str) else ",".join(framings)


def _refuse_no_objects(values: Mapping[str, Any]) -> None:
    """Refuse options that change decoded values: objects of a class hold values of their type hints."""
    if values["return.record.name"]:
        raise ConfigError("cannot enable both value.type and return.record.name")
    if not values["avro.logical.types"]:
        raise ConfigError("value.type requires avro.logical.types")


def _refuse_more_than_fastavro(values: Mapping[str, Any]) -> None:
    """Refuse options that fastavro, or what binds it, cannot fulfil."""
    name, framings = _foreign(values)
    asked = f"{name}={_joined(values[name])}" if framings else ""
    if values.get("value.type") is not None:
        asked = "value.type"
    elif not values["avro.logical.types"]:
        asked = "avro.logical.types=false"
    if asked:
        raise ConfigError(f"cannot enable both avro.engine=fastavro and {asked}", hint="leave out avro.engine")


def _refuse_two_choices(values: Mapping[str, Any]) -> None:
    asked = {"use.latest.version": values["use.latest.version"], "use.schema.version": values["use.schema.version"]}
    chosen = [key for key, value in asked.items() if value is not None and value is not False]
    if len(chosen) == 2:
        raise ConfigError(f"cannot enable both {' and '.join(chosen)}")
    if chosen and values.get("framing", "snip42") != "snip42":
        raise ConfigError(f"cannot enable both {chosen[0]} and framing={values['framing']}", hint="give it a schema")
    if chosen and values["auto.register.schemas"]:
        raise ConfigError(f"cannot enable both {chosen[0]} and auto.register.schemas", hint="set the latter to false")


def _refuse_two_readers_schemas(values: Mapping[str, Any]) -> None:
    policy = values["reader.schema.policy"]
    if values["use.latest.version"] and policy not in (None, "latest"):
        raise ConfigError(
            f"cannot enable both use.latest.version and reader.schema.policy={policy}",
            hint="use.latest.version=true is reader.schema.policy=latest",
        )
    if values["value.type"] is None:
        return
    if policy not in (None, "fixed"):
        raise ConfigError(
            f"cannot enable both value.type and reader.schema.policy={policy}",
            hint="the schema of the class is the reader's schema: reader.schema.policy=fixed",
        )
    if values["reader.schema.incompatible"] != "error":
        raise ConfigError(
            "cannot enable both value.type and reader.schema.incompatible=writer",
            hint="a message that does not fit the class cannot be returned as an object of it",
        )


def _refuse_not_there(conf: Mapping[str, Any]) -> None:
    for key, harmless in NOT_THERE.items():
        value = conf.get(key)
        text = value.value if isinstance(value, Enum) else value  # confluent_kafka's SubjectNameStrategyType
        if value is not None and str(text).strip().lower() != harmless:
            raise ConfigError(f"{key}={conf[key]!r:.80} is not supported yet", hint="leave it out")


def _refuse_unknown(known: Mapping[str, Option], conf: Mapping[str, Any]) -> None:
    unknown = [str(key) for key in conf if key not in known and key not in NOT_THERE]
    if not unknown:
        return
    raise ConfigError(f"unknown option {', '.join(unknown)}", hint=_instead(unknown[0], known))


def _instead(key: str, known: Mapping[str, Option]) -> str:
    """The hint about an unknown option: the option that was probably meant, or the owner of the option."""
    owner = None if nearest(key, known, alike=_MISSPELT) else _ELSEWHERE.get(key)
    if owner is not None:
        return f"it is an option of {owner}, and has no effect here"
    for same in (f"schema.registry.{key}", key.removeprefix("schema.registry.")):  # as other clients call it
        if same in known:
            return f"did you mean {same}?"
    if key in LIBRDKAFKAS:
        return "it is an option of the Kafka client, which does not belong here: give it to the client"
    near = nearest(key, known, alike=_ALIKE)
    return f"did you mean {near}?" if near else "docs/config.md lists the options"
