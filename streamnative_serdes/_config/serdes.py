"""All options of the serializers and the deserializers: their own, and those of registry and codec."""

from __future__ import annotations

from . import checks
from .codec import READ_OPTIONS, WRITE_OPTIONS
from .confluent import CONFLUENT_OPTIONS, FOREIGN_OPTIONS
from .framings import CONFLUENT, FRAMINGS
from .option import Option
from .registry import REGISTRY_OPTIONS

SNIP_42, HEADERLESS = "snip42", "headerless"
COMPILED, FASTAVRO = "compiled", "fastavro"
WRITER, LATEST_SEEN, LATEST, FIXED = "writer", "latest.seen", "latest", "fixed"  # policies for the reader's schema

BARE, VALUE = "bare", "value"
_KEY_VALUE_FRAMING = Option(
    "key.value.framing",
    BARE,
    checks.one_of(BARE, VALUE),
    "What to write in front of the values of KEY_VALUE topics: `bare`, nothing, so that Pulsar's own consumers can "
    "read them; or `value`, the header with the version of the pair, so that consumers of this package know which "
    "version a value was written by. Keys never have a header.",
)

_ALLOW_NULL = Option(
    "allow.null",
    True,
    checks.flag,
    "With true, the schema of a class is the one that Pulsar's Java client derives with `alwaysAllowNull`: fields "
    'sorted by name, each `["null", T]` with default null. With false, fields keep their order and the defaults of the '
    "class, and are nullable only if the class says so. A schema that you give, and the schema of a "
    "`pulsar.schema.Record`, is never changed.",
)

_ENGINE = Option(
    "avro.engine",
    COMPILED,
    checks.one_of(COMPILED, FASTAVRO),
    "What encodes and decodes the data of Avro messages: `compiled`, our codec, or `fastavro`, to compare, or to go on "
    "where our codec has a fault. It is slower and less strict, see "
    "[avro-conformance.md](avro-conformance.md#the-second-engine).",
)

_KEY_SCHEMA = Option(
    "key.schema",
    None,
    checks.avro_schema,
    "Avro schema of bare keys, in topics that are not of type KEY_VALUE: a dict, JSON text, or the path of a `.avsc` "
    "file. It is registered nowhere: whoever reads the keys has to be given it too, and it must never change. For "
    "SerDes of keys (`is_key`), and for those of values where a context says that the data is a key. See "
    "[keys.md](keys.md#keys-in-other-topics).",
)

SERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *CONFLUENT_OPTIONS,
    *WRITE_OPTIONS,
    Option(
        "auto.register.schemas",
        True,
        checks.flag,
        "Register the serializer's schema if the topic does not have it. With false, schemas are only looked up, and "
        "an unknown schema is an error; the permission to consume is then enough. Pulsar's policy "
        "`isAllowAutoUpdateSchema=false` does not stop a serializer, since it registers over REST: set this option to "
        "false, or the compatibility strategy to `ALWAYS_INCOMPATIBLE`.",
    ),
    Option(
        "use.latest.version",
        False,
        checks.flag,
        "Write with the topic's latest schema instead of the serializer's. Requires `auto.register.schemas=false`.",
    ),
    Option(
        "use.schema.version",
        None,
        checks.version,
        "Write with this version of the topic's schema instead of the serializer's. Requires "
        "`auto.register.schemas=false`.",
    ),
    Option(
        "framing",
        SNIP_42,
        checks.one_of(SNIP_42, CONFLUENT),
        "What to write in front of the datum: `snip42`, the header with the version in Pulsar's registry, or "
        "`confluent`, `0x00` and the schema id in `confluent.schema.registry.url`, where the schema is registered as "
        "`TOPIC-value`, or that of keys as `TOPIC-key`. Pulsar's registry is not used then. For the time when old "
        "consumers still read the topic, and for going back.",
    ),
    _KEY_SCHEMA,
    _KEY_VALUE_FRAMING,
    _ALLOW_NULL,
    _ENGINE,
)

DESERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *CONFLUENT_OPTIONS,
    *FOREIGN_OPTIONS,
    *READ_OPTIONS,
    Option(
        "auto.register.schemas",
        True,
        checks.flag,
        "No effect: a deserializer never registers schemas, but often shares its options with a serializer.",
    ),
    Option(
        "use.latest.version",
        False,
        checks.flag,
        "Use the topic's latest schema as the reader's schema, like `reader.schema.policy=latest`. A schema given to "
        "the deserializer takes precedence.",
    ),
    Option(
        "reader.schema.policy",
        None,
        checks.one_of(WRITER, LATEST_SEEN, LATEST, FIXED),
        "The reader's schema, which messages are converted to: `writer`, none: each message is read as it was written; "
        "`latest.seen`, the highest version of the topic that this deserializer has read; `latest`, the topic's latest "
        "version; or `fixed`, the schema given to the deserializer, or that of `value.type`. By default, it is `fixed` "
        "if there is such a schema, else `latest` if `use.latest.version` is true, and else `writer` for objects and "
        "`latest` for columns. See [messages.md](messages.md#the-readers-schema).",
    ),
    Option(
        "reader.schema.incompatible",
        "error",
        checks.one_of("error", WRITER),
        "What to do with a message that cannot be converted to the reader's schema: `error` raises an error that names "
        "the field; `writer` returns the message as it was written. Columns always need one schema, so there it is an "
        "error.",
    ),
    Option(
        "framings",
        (SNIP_42, HEADERLESS),
        checks.several_of(SNIP_42, *(framing.name for framing in FRAMINGS), HEADERLESS, first=SNIP_42),
        "Which framings are read, and which of them is tried first if a message may have several: `snip42` (always the "
        "first), `confluent` (`0x00` and a schema id), `confluent-header` (the header `__value_schema_id`, or of keys "
        "`__key_schema_id`), `apicurio`, `apicurio-v3`, `apicurio-header`, `glue`, `azure`, `azure-content-type`, "
        "`azure-header` and `headerless`. Those of Confluent need `confluent.schema.registry.url`, and the others the "
        "address of their registry: [which-registry.md](which-registry.md). See [messages.md](messages.md).",
    ),
    _KEY_SCHEMA,
    Option(
        "fallback.to.latest",
        True,
        checks.flag,
        "Read messages without a schema version, or with one that the registry does not have, with the topic's latest "
        "schema. With false, such messages are errors.",
    ),
    Option(
        "value.type",
        None,
        checks.a_class,
        "Class of the returned objects: a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a "
        "`pulsar.schema.Record`. Its schema is the reader's schema, unless the deserializer is given another one. By "
        "default, records are returned as dicts.",
    ),
    Option(
        "value.validate",
        False,
        checks.flag,
        "Let pydantic validate each record of `value.type`, also where the schema proves that its values are valid: "
        "[typed.md](typed.md#how-objects-are-created).",
    ),
    _ALLOW_NULL,
    _ENGINE,
)


# There is no reader's schema to convert to.
_NOT_READING = {
    "allow.null",
    "avro.engine",
    "key.schema",
    "reader.schema.incompatible",
    "reader.schema.policy",
    "schema.resolution",
    "use.latest.version",
    "value.type",
    "value.validate",
}
_NOT_WRITING = {option.key for option in CONFLUENT_OPTIONS} | {"avro.engine", "framing", "key.schema"}

AUTO_CONSUME_OPTIONS = tuple(option for option in DESERIALIZER_OPTIONS if option.key not in _NOT_READING)
PULSAR_SERIALIZER_OPTIONS = tuple(option for option in SERIALIZER_OPTIONS if option.key not in _NOT_WRITING)
