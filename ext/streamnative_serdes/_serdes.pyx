# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
# cython: embedsignature=True
"""The call path of the SerDes: context, cache, header and codec in one go.

A hit takes one look-up and no lock. On a miss the Python class on top is asked: it overrides ``_bind`` (what to read or
write a topic with), ``_recover`` (what to do with a message that cannot be read) and ``_context``.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

from streamnative_serdes._cache cimport TopicCache
from streamnative_serdes._codec cimport Codec
from streamnative_serdes._header cimport HEADER_SIZE, NO_VERSION, version_of

from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError

cdef extern from "codec/wire.h":
    int sns_same_text(PyObject*, PyObject*) noexcept

cdef extern from "clock.h":
    double sns_monotonic() noexcept nogil

# What a message without a header is read with: the key of a topic's latest schema. No version is negative.
LATEST = NO_VERSION

cdef object ONE = 1


cdef class Bound:
    """What a topic is read or written with, under one key: header, codec and how long that holds. Never changes."""

    cdef readonly str topic
    cdef readonly object key            # reading: a version or LATEST; writing: a type, or None for any
    cdef readonly int64_t version
    cdef readonly bytes header
    cdef readonly Codec codec           # None: the registry knows no such version
    cdef int64_t number                 # reading: the key as a number
    cdef double expires                 # seconds, by sns_monotonic alone; infinite for what cannot change

    def __cinit__(self, str topic not None, key, int64_t version, bytes header, Codec codec, double lifetime=INFINITY):
        if header is not None and len(header) != HEADER_SIZE:
            raise ValueError(f"expected a header of {HEADER_SIZE} bytes, got {len(header)}")
        self.topic, self.key, self.version = topic, key, version
        self.number = key if type(key) is int else LATEST
        self.header, self.codec = header, codec
        self.expires = sns_monotonic() + lifetime

    cdef bint holds(self) noexcept:
        return self.expires == INFINITY or sns_monotonic() < self.expires


cdef object topic_of(object context, type error):
    if context is None:
        raise error("expected a SerializationContext, got None", hint="pass one that names the topic")
    topic = getattr(context, "topic", None)
    if not PyUnicode_Check(topic):
        raise error(f"expected a topic as str, got {type(topic).__name__}")
    return topic


cdef str plain(object topic, type error):
    """``topic`` as a str proper, so that no subclass has a say in what it equals, or in what it is called."""
    if not PyUnicode_Check(topic):
        raise error(f"expected a topic as str, got {type(topic).__name__}")
    return <str>(topic if type(topic) is str else str.__str__(topic))


cdef class _Serdes:
    """What both directions share: the cache, the last hit, and counters."""

    cdef TopicCache cache
    cdef Bound last                     # replaced as a whole, so that a reader sees the old one or the new one
    cdef int64_t messages, misses

    cpdef _reset(self, Py_ssize_t capacity):
        self.last = None
        self.cache = TopicCache(capacity)

    def _bound(self):
        """All that is bound at the moment."""
        return [] if self.cache is None else [entry for _topic, _key, entry in self.cache.items()]

    cdef Bound remember(self, TopicCache cache, Bound bound):
        """Put ``bound`` where it was looked for: after a configure() in between, that cache is nobody's any more."""
        if bound is None:
            raise TypeError("_bind returned None")
        self.misses += 1
        cache.put(bound.topic, bound.key, bound)
        if self.cache is cache:
            self.last = bound
        return bound

    cdef int require_configured(self) except -1:
        if self.cache is None:
            raise ConfigError("schema.registry.url is missing", hint="configure the SerDes before its first use")
        return 0


cdef class Serializer(_Serdes):
    cdef object to_dict
    cdef bint by_type                   # no schema was given: what is bound depends on the type of the datum

    def _setup(self, Py_ssize_t capacity, to_dict, bint by_type):
        self._reset(capacity)
        self.to_dict = to_dict
        self.by_type = by_type

    def __call__(self, obj, ctx=None):
        if obj is None:
            return None
        topic = topic_of(ctx, EncodeError)
        if self.to_dict is not None:
            obj = self.to_dict(obj, ctx)
        return self.write(topic, obj, ctx)

    def serialize(self, topic, obj, headers=None):
        """``obj`` as a framed message for ``topic``; None for None. ``headers`` only reach ``to_dict``."""
        if obj is None:
            return None
        if self.to_dict is None:
            return self.write(topic, obj, None)
        context = self._context(topic, headers)
        return self.write(topic, self.to_dict(obj, context), context)

    cdef bytes write(self, object topic, object obj, object context):
        cdef Bound bound = self.last
        cdef object key = type(obj) if self.by_type else None
        if bound is None or not (sns_same_text(<PyObject*>topic, <PyObject*>bound.topic) and bound.key is key
                                 and bound.holds()):
            bound = self.look_up(topic, key, context)
        self.messages += 1
        try:
            return bound.codec.write(obj, PyBytes_AS_STRING(bound.header), HEADER_SIZE)
        except EncodeError as error:
            error.at(topic=topic, version=bound.version)
            raise

    cdef Bound look_up(self, object topic, object key, object context):
        cdef Bound bound
        cdef TopicCache cache = self.cache
        cdef str name = plain(topic, EncodeError)
        self.require_configured()
        bound = cache.find(name, key)
        if bound is not None and bound.key is key and bound.holds():
            if self.cache is cache:
                self.last = bound
            return bound
        bound = self._bind(name, key, context)
        if bound is not None and (bound.codec is None or bound.header is None):
            raise TypeError("_bind returned nothing to write with")
        return self.remember(cache, bound)

    def stats(self):
        return {"messages": self.messages, "misses": self.misses}


cdef class Deserializer(_Serdes):
    cdef object from_dict
    cdef int64_t headerless, fallbacks

    def _setup(self, Py_ssize_t capacity, from_dict):
        self._reset(capacity)
        self.from_dict = from_dict

    def __call__(self, data, ctx=None):
        if data is None:
            return None
        obj = self.read(topic_of(ctx, DecodeError), data, ctx, None)
        return obj if self.from_dict is None else self.from_dict(obj, ctx)

    def deserialize(self, topic, data, version=None):
        """What the message ``data`` of ``topic`` holds; None for None.

        ``version`` is the schema version of a message without a header, where the caller knows it (from Pulsar's
        metadata, say); None or -1 where not.
        """
        if data is None:
            return None
        obj = self.read(topic, data, None, None if version is None else number_of(version))
        return obj if self.from_dict is None else self.from_dict(obj, self._context(topic, None))

    cdef object read(self, object topic, object data, object context, object version):
        cdef Py_buffer view
        if PyBytes_CheckExact(data):
            return self.read_bytes(topic, <uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), data, context,
                                   version)
        if not PyObject_CheckBuffer(data):
            raise DecodeError(f"expected bytes, bytearray or memoryview, got {type(data).__name__}", topic=topic)
        try:
            PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)   # a bytearray cannot change its size while it is held
        except (BufferError, ValueError) as error:          # in pieces, or released
            raise DecodeError(f"expected bytes that can be read: {error}", topic=topic) from None
        try:
            return self.read_bytes(topic, <uint8_t*>view.buf, view.len, data, context, version)
        finally:
            PyBuffer_Release(&view)

    cdef object read_bytes(self, object topic, const uint8_t* start, Py_ssize_t size, object data, object context,
                           object version):
        """The datum in a message; ``version`` is what the caller knows of a message without a header."""
        cdef int64_t number = version_of(start, size)
        cdef Py_ssize_t offset = HEADER_SIZE if number != NO_VERSION else 0
        cdef Bound bound = self.last
        self.messages += 1
        if offset == 0:
            self.headerless += 1
            if version is not None:
                number = version
        if bound is None or not (bound.number == number and sns_same_text(<PyObject*>topic, <PyObject*>bound.topic)
                                 and bound.holds()):
            bound = self.look_up(topic, number, context)
        if bound.codec is None:
            return self._recover(topic, data, bound, version, context, None)
        try:
            return bound.codec.read(start, size, offset)
        except DecodeError as error:
            return self._recover(topic, data, bound, version, context, error)

    cdef Bound look_up(self, object topic, int64_t number, object context):
        cdef Bound bound
        cdef TopicCache cache = self.cache
        cdef str name = plain(topic, DecodeError)
        self.require_configured()
        bound = cache.find(name, number)
        if bound is not None and bound.holds():
            if self.cache is cache:
                self.last = bound
            return bound
        return self.remember(cache, self._bind(name, number, context))

    def _look_up(self, topic, number, context):
        return self.look_up(topic, number, context)

    def _count_fallback(self):
        self.fallbacks += 1

    def stats(self):
        return {
            "messages": self.messages,
            "misses": self.misses,
            "headerless": self.headerless,
            "fallbacks": self.fallbacks,
        }


cdef int64_t number_of(object version) except? -2:
    """A version that the caller gives; pulsar-client says -1 for none."""
    if type(version) is not int or version >= ONE << 63:
        raise DecodeError(f"expected a schema version as int of 64 bits, got {type(version).__name__} {version!r:.40}")
    return version if version >= 0 else NO_VERSION


def read_by(Bound bound not None, data, Py_ssize_t offset):
    """The datum in ``data[offset:]`` by the codec of ``bound``."""
    cdef Py_buffer view
    if bound.codec is None:
        raise DecodeError("the registry knows no such schema version", topic=bound.topic, version=bound.version)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= offset <= view.len:
            raise DecodeError(f"expected at least {offset} bytes, got {view.len}")
        return bound.codec.read(<uint8_t*>view.buf, view.len, offset)
    finally:
        PyBuffer_Release(&view)
