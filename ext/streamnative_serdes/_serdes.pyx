# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
# cython: embedsignature=True
"""The call path of the SerDes: context, cache, header and codec in one go.

A hit takes one look-up and no lock. On a miss the policy is asked, an object that the SerDes was set up with:

    bind(serdes, topic, key, context)                           what to read or write the topic with: a Bound
    recover(serdes, bound, data, in_header, given, error)       the datum of a message that ``bound`` does not read
    context(topic, headers)                                     the context that to_dict or from_dict is called with

The functions of this module are for the classes on top and for policies. They are no methods, so that users see none.
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
    ctypedef struct PyTypeObject:
        void* tp_call
    PyTypeObject* Py_TYPE(object) noexcept
    bint Py_EnterRecursiveCall(const char*) noexcept
    void Py_LeaveRecursiveCall() noexcept
    Py_ssize_t PyVectorcall_NARGS(size_t) noexcept

cdef extern from "calls.h":
    void sns_set_vectorcall(PyTypeObject*, Py_ssize_t) noexcept
    void sns_inherit_vectorcall(object, PyTypeObject*) noexcept
    object sns_tuple_call(object, PyObject* const*, size_t, PyObject*)

# The key of a topic's latest schema: what a message without a known header is read with. No version is negative.
LATEST = NO_VERSION

# What serialize_bound and deserialize_bound return instead of asking the policy.
MISS = object()

cdef object MOST_VERSION = INT64_MAX        # that a caller gives: keys have one number less than there are versions


cpdef int64_t without_header(int64_t version) noexcept:
    """The key of ``version`` for messages without a header, and back: -2, -3, ... for 0, 1, ....

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
    cdef readonly Codec codec           # None: the registry does not have this version
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


cdef inline object owned(PyObject* made):
    """The object of a reference that is ours to give up."""
    out = <object>made
    Py_DECREF(out)
    return out


cdef str plain(object topic, type error):
    """Return ``topic`` as a plain str, so that methods of a subclass cannot change how it compares or is shown."""
    if not PyUnicode_Check(topic):
        raise error(f"expected a topic as str, got {type(topic).__name__}", hint="pass the topic first")
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
    """What both directions share: the policy, the cache, the last hit, and counters."""

    cdef void* vectorcall               # what a call of the instance is, without a tuple of arguments (calls.h)
    cdef TopicCache cache
    cdef Bound last                     # replaced as a whole, so that a reader sees the old one or the new one
    cdef object policy, convert         # convert: to_dict or from_dict
    cdef int64_t messages, misses, errors

    def rebind(self):
        """Look up what topics are bound to again, each with its next message; the registry is asked for news alone."""
        if self.cache is not None:
            cache = TopicCache(self.cache.capacity)
            self.cache = cache              # no other thread runs between these two lines
            self.last = None

    cdef Bound find(self, TopicCache cache, str topic, object key):
        """What is bound in ``cache`` and still holds, or None."""
        cdef Bound bound = cache.find(topic, key)
        if bound is None or not bound.serves(topic):
            return None
        if self.cache is cache:
            self.last = bound
        return bound

    cdef Bound remember(self, TopicCache cache, Bound bound):
        """Put ``bound`` where it was looked for. After configure() in between, nobody uses that cache any more."""
        if bound is None:
            raise TypeError("the policy bound None")
        cache.put(bound.topic, bound.key, bound)
        if self.cache is cache:
            self.last = bound
        return bound

    cdef Bound ask(self, str topic, object key, object context):
        """What the policy binds: a miss."""
        self.misses += 1
        try:
            return self.policy.bind(self, topic, key, context)
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


def set_up(_Serdes serdes not None, policy, convert, Py_ssize_t capacity):
    """Let ``serdes`` ask ``policy`` from now on, with nothing bound. ``convert`` is to_dict, from_dict or None."""
    cache = TopicCache(capacity)
    serdes.policy, serdes.convert = policy, convert
    serdes.cache = cache                # last: a thread at work with the new cache has asked the new policy
    serdes.last = None


def policy_of(_Serdes serdes not None):
    """The policy, or None before :func:`set_up`."""
    return serdes.policy


def bound_of(_Serdes serdes not None):
    """All that is bound at the moment."""
    return [] if serdes.cache is None else [entry for _topic, _key, entry in serdes.cache.items()]


cdef class Serializer(_Serdes):
    # Keys: the type of the datum

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <void*>call_serializer
        sns_inherit_vectorcall(self, <PyTypeObject*>Serializer)

    def __call__(self, obj, ctx=None):
        return serialize(self, obj, ctx)

    def serialize(self, topic, obj, headers=None):
        """``obj`` as a framed message for ``topic``; None for None. ``headers`` only reach ``to_dict``."""
        if obj is None:
            return None
        if self.convert is None:
            return write(self, topic, obj, None)
        self.require_configured()
        context = self.policy.context(topic, headers)
        return write(self, topic, converted(self.convert, obj, context), context)

    cdef Bound look_up(self, object topic, object key, object context):
        cdef Bound bound
        cdef TopicCache cache
        cdef str name = plain(topic, EncodeError)
        self.require_configured()
        cache = self.cache
        bound = self.find(cache, name, key)
        if bound is not None and bound.key is key:
            return bound
        bound = self.ask(name, key, context)
        if bound is not None and (bound.codec is None or bound.header is None):
            raise TypeError("the policy bound no codec or no header to write with")
        return self.remember(cache, bound)

    def stats(self):
        return self.counts()


cdef inline object serialize(Serializer self, object obj, object context):
    if obj is None:
        return None
    topic = topic_of(context, True)
    if self.convert is not None:
        obj = converted(self.convert, obj, context)
    return write(self, topic, obj, context)


# The quick way is free of try: at each message it costs as much as the look-up. What fails is looked at afterwards.

cdef inline object write(Serializer self, object topic, object obj, object context):
    cdef Bound bound = self.last
    cdef object key = type(obj)
    self.messages += 1
    if unlikely(bound is None or bound.key is not key or not bound.serves(topic)):
        bound = self.look_up(topic, key, context)
    return write_by(self, bound, obj)


cdef inline object write_by(Serializer self, Bound bound, object obj):
    cdef PyObject* message = bound.codec.try_write(obj, PyBytes_AS_STRING(bound.header), HEADER_SIZE)
    if unlikely(message is NULL):
        explain(self, bound)
    return owned(message)


cdef int explain(Serializer self, Bound bound) except -1:
    """Say in the exception that is set which topic and version could not be written."""
    self.errors += 1
    try:
        return sns_reraise()
    except EncodeError as error:
        error.at(topic=bound.topic, version=bound.version)
        raise


def serialize_bound(Serializer serializer not None, obj, context):
    """As a call, where that takes no answer of the policy; else MISS, and nothing is counted."""
    cdef Bound bound
    if obj is None:
        return None
    topic = topic_of(context, True)
    if serializer.convert is not None:
        obj = converted(serializer.convert, obj, context)
    serializer.require_configured()
    bound = serializer.find(serializer.cache, plain(topic, EncodeError), type(obj))
    if bound is None or bound.key is not type(obj):
        return MISS
    serializer.messages += 1
    return write_by(serializer, bound, obj)


def count_written(Serializer serializer not None, int64_t messages, int64_t errors):
    """Count a batch."""
    serializer.messages += messages
    serializer.errors += errors


cdef class Deserializer(_Serdes):
    # Keys: the version in the header, LATEST, or without_header(version)
    cdef int64_t headerless, fallbacks

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
        obj = read(self, topic, data, None, None if version is None else given_version(version))
        return obj if self.convert is None else converted(self.convert, obj, self.policy.context(topic, None))

    cdef Bound look_up(self, object topic, int64_t number, object context, bint counted):
        cdef Bound bound
        cdef TopicCache cache
        cdef str name = plain(topic, DecodeError)
        self.require_configured()
        cache = self.cache
        bound = self.find(cache, name, number)
        if bound is None:
            bound = self.ask(name, number, context) if counted else self.policy.bind(self, name, number, context)
            self.remember(cache, bound)
        return bound

    cdef object recover(self, object data, Bound bound, int64_t in_header, object given, object error):
        version = None if in_header == NO_VERSION else in_header
        try:
            return self.policy.recover(self, bound, data, version, given, error)
        except Exception:
            self.errors += 1
            raise

    def stats(self):
        return {**self.counts(), "headerless": self.headerless, "fallbacks": self.fallbacks}


def look_up(Deserializer deserializer not None, topic, int64_t key):
    """What is bound under ``key``, for a policy that recovers: the message and its failure are counted already."""
    return deserializer.look_up(topic, key, None, False)


def count_fallback(Deserializer deserializer not None):
    deserializer.fallbacks += 1


def count_read(Deserializer deserializer not None, int64_t messages, int64_t headerless, int64_t fallbacks,
               int64_t errors):
    """Count a batch."""
    deserializer.messages += messages
    deserializer.headerless += headerless
    deserializer.fallbacks += fallbacks
    deserializer.errors += errors


cdef inline object deserialize(Deserializer self, object data, object context):
    if data is None:
        return None
    obj = read(self, topic_of(context, False), data, context, None)
    return obj if self.convert is None else converted(self.convert, obj, context)


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
    """The datum in a message; ``version`` is what the caller knows of a message without a header, or None."""
    cdef int64_t in_header = version_of(start, size), number = in_header
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
        return self.recover(data, bound, in_header, version, None)
    datum = bound.codec.try_read(start, size, offset)
    if unlikely(datum is NULL):
        return read_again(self, data, bound, in_header, version)
    return owned(datum)


cdef object read_again(Deserializer self, object data, Bound bound, int64_t in_header, object version):
    """The datum of a message that ``bound`` did not read: an exception is set."""
    try:
        sns_reraise()
    except DecodeError as error:
        return self.recover(data, bound, in_header, version, error)


def deserialize_bound(Deserializer deserializer not None, data, context):
    """As a call, where that takes no answer of the policy; else MISS, and nothing is counted."""
    cdef Py_buffer view
    if data is None:
        return None
    topic = topic_of(context, False)
    deserializer.require_configured()
    if PyBytes_CheckExact(data):
        obj = read_bound(deserializer, topic, <uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    else:
        try:
            PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        except (BufferError, TypeError, ValueError):    # a call says what is wrong
            return MISS
        try:
            obj = read_bound(deserializer, topic, <uint8_t*>view.buf, view.len)
        finally:
            PyBuffer_Release(&view)
    return obj if obj is MISS or deserializer.convert is None else converted(deserializer.convert, obj, context)


cdef object read_bound(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size):
    """The datum, or MISS where the policy has to be asked."""
    cdef int64_t version = version_of(start, size)
    cdef Bound bound = self.find(self.cache, plain(topic, DecodeError), version)
    cdef PyObject* datum
    if bound is None or bound.codec is None:
        return MISS
    datum = bound.codec.try_read(start, size, 0 if version == NO_VERSION else HEADER_SIZE)
    if datum is NULL:
        try:
            sns_reraise()
        except DecodeError:
            return MISS
    self.messages += 1
    self.headerless += version == NO_VERSION
    return owned(datum)


cdef object given_version(object version):
    """A version that the caller gives, or None: pulsar-client says -1 for none."""
    if type(version) is not int or version >= MOST_VERSION:
        raise DecodeError(f"expected a schema version as int below 2**63 - 1, got "
                          f"{type(version).__name__} {version!r:.40}")
    return version if version >= 0 else None


def read_by(Bound bound not None, data, Py_ssize_t offset):
    """The datum in ``data[offset:]`` by the codec of ``bound``."""
    cdef Py_buffer view
    if bound.codec is None:
        raise DecodeError("the registry does not have this schema version", topic=bound.topic, version=bound.version)
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
