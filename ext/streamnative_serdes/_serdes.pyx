# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
# cython: embedsignature=True
"""The call path of the SerDes: context, cache, header and codec in one go.

A hit takes one look-up and no lock. On a miss the Python class on top is asked: it overrides ``_bind`` (what to read or
write a topic with), ``_recover`` (what to do with a message that cannot be read) and ``_context``.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF, PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, int64_t, uint8_t

from streamnative_serdes._cache cimport TopicCache
from streamnative_serdes._codec cimport Codec
from streamnative_serdes._header cimport HEADER_SIZE, NO_VERSION, version_of

from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError

cdef extern from "codec/wire.h":
    int sns_same_text(PyObject*, PyObject*) noexcept
    bint likely "SNS_LIKELY" (bint) noexcept
    bint unlikely "SNS_UNLIKELY" (bint) noexcept

cdef extern from *:
    """
    /* An exception is set. */
    static int sns_reraise(void) { return -1; }
    """
    int sns_reraise() except -1

cdef extern from "clock.h":
    double sns_monotonic() noexcept nogil

cdef extern from "Python.h":
    PyObject* Py_None
    ctypedef struct PyTypeObject:
        void* tp_call
    ctypedef struct PyMethodDef:
        pass
    PyTypeObject* Py_TYPE(object) noexcept
    bint Py_EnterRecursiveCall(const char*) noexcept
    void Py_LeaveRecursiveCall() noexcept
    Py_ssize_t PyVectorcall_NARGS(size_t) noexcept

cdef extern from "calls.h":
    void sns_set_vectorcall(PyTypeObject*, Py_ssize_t) noexcept
    void sns_inherit_vectorcall(object, PyTypeObject*) noexcept
    object sns_tuple_call(object, PyObject* const*, size_t, PyObject*)
    ctypedef object (*sns_method)(object, PyObject* const*, Py_ssize_t, PyObject*)
    int sns_quicken(PyTypeObject*, const char*, PyMethodDef*, sns_method, sns_method*) except -1

# The key of a topic's latest schema: what a message without a known header is read with. No version is negative.
LATEST = NO_VERSION

cdef object MOST_VERSION = INT64_MAX        # that a caller gives: keys have one number less than there are versions


cpdef int64_t without_header(int64_t version) noexcept:
    """The key of ``version`` for messages without a header, and back: -2, -3, ... for 0, 1, ..., and LATEST for -1.

    Such messages are read whole, while bytes may follow the datum behind a header: so each has a codec of its own.
    """
    return -2 - version


@cython.final
cdef class Bound:
    """What a topic is read or written with, under one key: header, codec and how long that holds. Never changes."""

    cdef readonly str topic
    cdef readonly object key            # reading: see Deserializer; writing: a type, or None for any
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

    cdef inline bint serves(self, object topic) noexcept:
        """Whether it is for ``topic``, and still holds."""
        return (sns_same_text(<PyObject*>topic, <PyObject*>self.topic)
                and (likely(self.expires == INFINITY) or sns_monotonic() < self.expires))


cdef inline object topic_of(object context, bint writing):
    topic = getattr(context, "topic", None)
    if unlikely(not PyUnicode_Check(topic)):
        no_topic(context, topic, writing)
    return topic


cdef int no_topic(object context, object topic, bint writing) except -1:
    error = EncodeError if writing else DecodeError
    if context is None:
        raise error("expected a SerializationContext, got None", hint="pass one that names the topic")
    if isinstance(context, str):
        call = "serialize(topic, obj)" if writing else "deserialize(topic, data)"
        raise error(f"expected a SerializationContext, got str {context!r:.80}",
                    hint=f"pass SerializationContext({context!r:.80}, MessageField.VALUE), or call {call}")
    if not hasattr(context, "topic"):
        raise error(f"expected a SerializationContext, got {type(context).__name__}",
                    hint="pass one that names the topic")
    raise error(f"expected a topic as str, got {type(topic).__name__}")


cdef inline object given(PyObject* made):
    """The object of a reference that is ours to give up."""
    out = <object>made
    Py_DECREF(out)
    return out


cdef str plain(object topic, type error):
    """``topic`` as a str proper, so that no subclass has a say in what it equals, or in what it is called."""
    if not PyUnicode_Check(topic):
        raise error(f"expected a topic as str, got {type(topic).__name__}", hint="the topic goes first")
    return <str>(topic if type(topic) is str else str.__str__(topic))


cdef object converted(object function, object obj, object context):
    """By to_dict or from_dict. A SerDes may be one, and with no frame of Python between nobody counts the calls."""
    if Py_EnterRecursiveCall(" in to_dict or from_dict"):       # not -1 in all versions
        sns_reraise()
    try:
        return function(obj, context)
    finally:
        Py_LeaveRecursiveCall()


cdef class _Serdes:
    """What both directions share: the cache, the last hit, and counters."""

    cdef void* vectorcall               # what a call of the instance is, without a tuple of arguments (calls.h)
    cdef TopicCache cache
    cdef Bound last                     # replaced as a whole, so that a reader sees the old one or the new one
    cdef int64_t messages, misses, errors

    cpdef _reset(self, Py_ssize_t capacity):
        cache = TopicCache(capacity)
        self.cache = cache                  # nothing runs between these two: what is bound now is forgotten for sure
        self.last = None

    def _bound(self):
        """All that is bound at the moment."""
        return [] if self.cache is None else [entry for _topic, _key, entry in self.cache.items()]

    cdef Bound remember(self, TopicCache cache, Bound bound):
        """Put ``bound`` where it was looked for: after a configure() in between, that cache is nobody's any more."""
        if bound is None:
            raise TypeError("_bind returned None")
        cache.put(bound.topic, bound.key, bound)
        if self.cache is cache:
            self.last = bound
        return bound

    cdef object ask(self, str topic, object key, object context):
        """What ``_bind`` says: a miss."""
        self.misses += 1
        try:
            return self._bind(topic, key, context)
        except Exception:
            self.errors += 1
            raise

    cdef dict counts(self):
        return {"messages": self.messages, "hits": max(self.messages - self.misses, 0), "misses": self.misses,
                "errors": self.errors}

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

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <void*>call_serializer
        sns_inherit_vectorcall(self, <PyTypeObject*>Serializer)

    def __call__(self, obj, ctx=None):
        return serialize(self, obj, ctx)

    def serialize(self, topic, obj, headers=None):
        """``obj`` as a framed message for ``topic``; None for None. ``headers`` only reach ``to_dict``."""
        if obj is None:
            return None
        if self.to_dict is None:
            return write(self, topic, obj, None)
        context = self._context(topic, headers)
        return write(self, topic, converted(self.to_dict, obj, context), context)

    cdef Bound look_up(self, object topic, object key, object context):
        cdef Bound bound
        cdef TopicCache cache = self.cache
        cdef str name = plain(topic, EncodeError)
        self.require_configured()
        bound = cache.find(name, key)
        if bound is not None and bound.key is key and bound.serves(name):
            if self.cache is cache:
                self.last = bound
            return bound
        bound = self.ask(name, key, context)
        if bound is not None and (bound.codec is None or bound.header is None):
            raise TypeError("_bind returned nothing to write with")
        return self.remember(cache, bound)

    def _count_batch(self, int64_t messages, int64_t errors):
        self.messages += messages
        self.errors += errors

    def stats(self):
        return self.counts()


cdef inline object serialize(Serializer self, object obj, object context):
    if obj is None:
        return None
    topic = topic_of(context, True)
    if self.to_dict is not None:
        obj = converted(self.to_dict, obj, context)
    return write(self, topic, obj, context)


# The quick way is free of try: at each message it costs as much as the look-up. What fails is looked at afterwards.

cdef inline object write(Serializer self, object topic, object obj, object context):
    cdef Bound bound = self.last
    cdef object key = type(obj) if self.by_type else None
    cdef PyObject* message
    self.messages += 1
    if unlikely(bound is None or bound.key is not key or not bound.serves(topic)):
        bound = self.look_up(topic, key, context)
    message = bound.codec.try_write(obj, PyBytes_AS_STRING(bound.header), HEADER_SIZE)
    if unlikely(message is NULL):
        explain(self, bound)
    return given(message)


cdef int explain(Serializer self, Bound bound) except -1:
    """Say in the exception that is set which topic and version could not be written."""
    self.errors += 1
    try:
        return sns_reraise()
    except EncodeError as error:
        error.at(topic=bound.topic, version=bound.version)
        raise


cdef class Deserializer(_Serdes):
    # Keys: the version in the header, LATEST, or without_header(version)
    cdef object from_dict
    cdef int64_t headerless, fallbacks

    def _setup(self, Py_ssize_t capacity, from_dict):
        self._reset(capacity)
        self.from_dict = from_dict

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <void*>call_deserializer
        sns_inherit_vectorcall(self, <PyTypeObject*>Deserializer)

    def __call__(self, data, ctx=None):
        return deserialize(self, data, ctx)

    def deserialize(self, topic, data, version=None):
        """What the message ``data`` of ``topic`` holds; None for None.

        ``version`` is the schema version of a message without a header, where the caller knows it (from Pulsar's
        metadata, say); None or -1 where not.
        """
        if data is None:
            return None
        obj = read(self, topic, data, None, None if version is None else number_of(version))
        return obj if self.from_dict is None else converted(self.from_dict, obj, self._context(topic, None))

    cdef Bound look_up(self, object topic, int64_t number, object context, bint counted):
        cdef Bound bound
        cdef TopicCache cache = self.cache
        cdef str name = plain(topic, DecodeError)
        self.require_configured()
        bound = cache.find(name, number)
        if bound is not None and bound.serves(name):
            if self.cache is cache:
                self.last = bound
            return bound
        return self.remember(cache, self.ask(name, number, context) if counted else self._bind(name, number, context))

    cdef object rescue(self, object topic, object data, Bound bound, object version, object context, object error):
        try:
            return self._recover(topic, data, bound, version, context, error)
        except Exception:
            self.errors += 1
            raise

    def _look_up(self, topic, number, context):
        """For ``_recover``: its message is counted already, and so is its failure."""
        return self.look_up(topic, number, context, False)

    def _count_fallback(self):
        self.fallbacks += 1

    def _count_batch(self, int64_t messages, int64_t headerless, int64_t fallbacks, int64_t errors):
        self.messages += messages
        self.headerless += headerless
        self.fallbacks += fallbacks
        self.errors += errors

    def stats(self):
        return {**self.counts(), "headerless": self.headerless, "fallbacks": self.fallbacks}


cdef inline object deserialize(Deserializer self, object data, object context):
    if data is None:
        return None
    obj = read(self, topic_of(context, False), data, context, None)
    return obj if self.from_dict is None else converted(self.from_dict, obj, context)


cdef inline object read(Deserializer self, object topic, object data, object context, object version):
    if likely(PyBytes_CheckExact(data)):
        return read_bytes(self, topic, <uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), data, context,
                          version)
    return read_buffer(self, topic, data, context, version)


cdef object read_buffer(Deserializer self, object topic, object data, object context, object version):
    cdef Py_buffer view
    if not PyObject_CheckBuffer(data):
        raise DecodeError(f"expected bytes, bytearray or memoryview, got {type(data).__name__}",
                          topic=plain(topic, DecodeError))
    try:
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)   # a bytearray cannot change its size while it is held
    except (BufferError, ValueError) as error:          # in pieces, or released
        raise DecodeError(f"expected bytes that can be read: {error}", topic=topic) from None
    try:
        return read_bytes(self, topic, <uint8_t*>view.buf, view.len, data, context, version)
    finally:
        PyBuffer_Release(&view)


cdef inline object read_bytes(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object data,
                              object context, object version):
    """The datum in a message; ``version`` is what the caller knows of a message without a header."""
    cdef int64_t number = version_of(start, size)
    cdef Py_ssize_t offset = HEADER_SIZE
    cdef Bound bound = self.last
    cdef PyObject* datum
    self.messages += 1
    if unlikely(number == NO_VERSION):
        self.headerless += 1
        offset = 0
        if version is not None:
            number = without_header(version)
    if unlikely(bound is None or bound.number != number or not bound.serves(topic)):
        bound = self.look_up(topic, number, context, True)
    if unlikely(bound.codec is None):
        return self.rescue(topic, data, bound, version, context, None)
    datum = bound.codec.try_read(start, size, offset)
    if unlikely(datum is NULL):
        return recover(self, topic, data, bound, version, context)
    return given(datum)


cdef object recover(Deserializer self, object topic, object data, Bound bound, object version, object context):
    """What becomes of a message for which an exception is set."""
    try:
        sns_reraise()
    except DecodeError as error:
        return self.rescue(topic, data, bound, version, context, error)


cdef int64_t number_of(object version) except? -2:
    """A version that the caller gives; pulsar-client says -1 for none."""
    if type(version) is not int or version >= MOST_VERSION:
        raise DecodeError(f"expected a schema version as int below 2**63 - 1, got "
                          f"{type(version).__name__} {version!r:.40}")
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


# --- calls without a tuple of arguments -------------------------------------------------------------------------------
#
# What comes with keywords, in another number, or to a class whose __call__ was replaced, goes the usual way.

cdef object call_serializer(object self, PyObject* const* args, size_t nargsf, PyObject* names):
    if unlikely(names is not NULL or PyVectorcall_NARGS(nargsf) != 2 or Py_TYPE(self).tp_call is not SERIALIZER_CALL):
        return sns_tuple_call(self, args, nargsf, names)
    return serialize(<Serializer>self, <object>args[0], <object>args[1])


cdef object call_deserializer(object self, PyObject* const* args, size_t nargsf, PyObject* names):
    if unlikely(names is not NULL or PyVectorcall_NARGS(nargsf) != 2 or Py_TYPE(self).tp_call is not DESERIALIZER_CALL):
        return sns_tuple_call(self, args, nargsf, names)
    return deserialize(<Deserializer>self, <object>args[0], <object>args[1])


cdef void* SERIALIZER_CALL = (<PyTypeObject*>Serializer).tp_call
cdef void* DESERIALIZER_CALL = (<PyTypeObject*>Deserializer).tp_call
# An instance made before its type is set up tells where the field is.
cdef _Serdes specimen = _Serdes.__new__(_Serdes)
cdef Py_ssize_t OFFSET = <char*>&specimen.vectorcall - <char*><PyObject*>specimen
sns_set_vectorcall(<PyTypeObject*>Serializer, OFFSET)
sns_set_vectorcall(<PyTypeObject*>Deserializer, OFFSET)


# --- methods without the unpacking of arguments -----------------------------------------------------------------------

cdef object quick_serialize(object self, PyObject* const* args, Py_ssize_t count, PyObject* names):
    cdef Serializer serializer = <Serializer>self
    if unlikely(names is not NULL or count != 2 or args[1] is Py_None or serializer.to_dict is not None):
        return slow_serialize(self, args, count, names)
    return write(serializer, <object>args[0], <object>args[1], None)


cdef object quick_deserialize(object self, PyObject* const* args, Py_ssize_t count, PyObject* names):
    cdef Deserializer deserializer = <Deserializer>self
    if unlikely(names is not NULL or count != 2 or args[1] is Py_None or deserializer.from_dict is not None):
        return slow_deserialize(self, args, count, names)
    return read(deserializer, <object>args[0], <object>args[1], None, None)


cdef sns_method slow_serialize, slow_deserialize
cdef PyMethodDef serialize_method, deserialize_method
sns_quicken(<PyTypeObject*>Serializer, "serialize", &serialize_method, quick_serialize, &slow_serialize)
sns_quicken(<PyTypeObject*>Deserializer, "deserialize", &deserialize_method, quick_deserialize, &slow_deserialize)
