# A message, as both Kafka's and Pulsar's clients know it.

@cython.final
@cython.no_gc  # it holds bytes, text and tuples of them, which refer to nothing
@cython.freelist(32)
cdef class Message:
    """A message, as Kafka's and Pulsar's clients both know it. It cannot be changed.

    Args:
        value: without a schema version header; None is a tombstone.
        key: its exact bytes, or None.
        headers: Kafka's headers or Pulsar's properties: names, and exact bytes or None. A name that is not UTF-8 has
            surrogates (``surrogateescape``).
        timestamp: milliseconds since 1970; -1 if the message has none.
        offset: Kafka's offset; -1 if it is not known.
        schema_version: in Pulsar's registry; None if the message does not name one.
        producer_id: of Kafka's idempotent or transactional producer; -1 for any other producer.
        transactional: whether the record is part of a transaction.
    """

    cdef readonly object value
    cdef readonly object key
    cdef readonly tuple headers
    cdef readonly int64_t timestamp
    cdef readonly int64_t offset
    cdef readonly int64_t producer_id
    cdef readonly bint transactional
    cdef int64_t version

    def __init__(
        self, value, *, key=None, headers=(), int64_t timestamp=-1, int64_t offset=-1, schema_version=None,
        int64_t producer_id=-1, bint transactional=False,
    ):
        self.value = value
        self.key = key
        self.headers = tuple(headers)
        self.timestamp = timestamp
        self.offset = offset
        self.version = NO_VERSION if schema_version is None else schema_version
        self.producer_id = producer_id
        self.transactional = transactional

    @property
    def schema_version(self):
        return None if self.version == NO_VERSION else self.version

    def __eq__(self, other):
        return state_of(self) == state_of(other) if isinstance(other, Message) else NotImplemented

    def __hash__(self):
        return hash(state_of(self))

    def __repr__(self):
        names = ("value", "key", "headers", "timestamp", "offset", "schema_version", "producer_id", "transactional")
        parts = (f"{name}={part!r:.80}" for name, part in zip(names, state_of(self)))
        return f"Message({', '.join(parts)})"

    def __reduce__(self):
        return rebuild, state_of(self)


cdef tuple state_of(Message message):
    return (
        message.value, message.key, message.headers, message.timestamp, message.offset, message.schema_version,
        message.producer_id, message.transactional,
    )


def rebuild(value, key, headers, timestamp, offset, schema_version, producer_id, transactional):
    return Message(
        value, key=key, headers=headers, timestamp=timestamp, offset=offset, schema_version=schema_version,
        producer_id=producer_id, transactional=transactional,
    )
