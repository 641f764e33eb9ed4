# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
# cython: embedsignature=True
"""The call path of the SerDes: context, cache, header and codec in one go.

A hit takes one look-up and no lock. On a miss the policy is asked, an object that the SerDes was set up with:

    bind(serdes, topic, key, context)                           what to read or write the topic with: a Bound
    recover(serdes, bound, data, given, sign, error)            the datum of a message that ``bound`` does not read
    signs                                                       of other framings, if the policy reads any
    competing(topic, key)                                       what else may read a message that was read: a Bound
    ambiguous(topic, key)                                       called for each message that has two readings
    context(topic, headers)                                     the context that to_dict or from_dict is called with
    for_keys()                                                  a SerDes for keys
    has_keys(topic)                                             whether keys of the topic are read or written by it
    has_pairs(topic)                                            whether the topic is of type KEY_VALUE; with signs alone
    is_key                                                      whether it is for keys itself

The functions of this module are for the classes on top and for policies. They are no methods, so that users see none.
One extension module, made of these files:

    serdes/key_value.pyx        both halves of KEY_VALUE messages
    serdes/replicas.pyx         what each thread works with
    serdes/serializer.pyx       object -> message
    serdes/recent.pyx           what one thread of a deserializer has met last
    serdes/deserializer.pyx     message -> object
    calls.h                     calls of instances without a tuple of arguments
    clock.h                     the monotonic clock
    threads.h, serdes/replicas.h    how threads are kept apart without a GIL
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyTypeObject
from cpython.pystate cimport PyThreadState_GetDict
from cpython.ref cimport Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_SetItem
from cpython.unicode cimport PyUnicode_Check
from cpython.weakref cimport PyWeakref_NewRef
from libc.math cimport INFINITY
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from streamnative_serdes._cache cimport TopicCache
from streamnative_serdes._codec cimport Codec
from streamnative_serdes._header cimport (
    CONFLUENT_SIZE, FIRST_BY_HEADER, FIRST_PREFIXED, HEADER_SIZE, NO_FRAMING, NO_VERSION, SignTable, bare_first,
    confluent_id_of, is_foreign, key_of_prefix, prefix_of, prefix_size, version_of,
)
from streamnative_serdes.codec.wire cimport given, likely, sns_reraise, sns_same_text, unlikely
from streamnative_serdes.threads cimport *

from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError

cdef extern from "clock.h":
    double sns_monotonic() noexcept nogil

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(object) noexcept
    bint Py_EnterRecursiveCall(const char*) noexcept
    void Py_LeaveRecursiveCall() noexcept
    Py_ssize_t PyVectorcall_NARGS(size_t) noexcept

cdef extern from "serdes/replicas.h":
    ctypedef struct sns_lease:
        pass
    ctypedef struct sns_place:
        uint64_t number, seen
        PyObject* replica
        sns_lease* lease
    ctypedef struct sns_table:
        pass
    sns_table* sns_my_table
    sns_lease* sns_new_lease() noexcept
    bint sns_is_left(sns_lease*) noexcept
    void sns_renew(sns_lease*) noexcept
    void sns_leave_lease(sns_lease*) noexcept
    sns_place* sns_find(uint64_t) noexcept
    sns_table* sns_begin_table() except NULL
    void sns_put(sns_table*, const sns_place*) noexcept
    int sns_make_room(sns_table*) except -1
    void sns_end_table(sns_table*) noexcept

cdef extern from "codec/objects.h":
    object sns_new_tuple(PyTypeObject*, Py_ssize_t)

cdef extern from "calls.h":
    void sns_set_vectorcall(PyTypeObject*, Py_ssize_t) noexcept
    void sns_inherit_vectorcall(object, PyTypeObject*) noexcept
    object sns_tuple_call(object, PyObject* const*, size_t, PyObject*)

# The key of a topic's latest schema: what a message without a known header is read with. No version is negative.
LATEST = NO_VERSION

# What serialize_bound and deserialize_bound return instead of asking the policy.
MISS = object()

PREFIXED, BY_HEADER, UNFRAMED = FIRST_PREFIXED, FIRST_BY_HEADER, NO_FRAMING     # see _header.pxd

cdef object MOST_VERSION = 2**62            # that a caller gives: the keys below belong to the second registry


cpdef int64_t without_header(int64_t version) noexcept:
    """The key of ``version`` for messages without a header, and back: -2, -3, ... for 0, 1, ....

    Such messages are read whole, while bytes may follow the datum behind a header: so each has a codec of its own.
    """
    return -2 - version


include "serdes/key_value.pyx"


@cython.final
cdef class Bound:
    """The reader or writer of a topic's messages under one key: header, codec, lifetime. A cached one never changes."""

    cdef readonly str topic
    cdef readonly object key            # reading: see Deserializer; writing: a type, or None for any
    cdef readonly int64_t version
    cdef readonly bytes header
    cdef readonly Codec codec           # None: see pair
    cdef readonly Pair pair             # None as well: the registry does not have this version
    cdef int64_t number                 # reading: the key as a number
    cdef const char* header_bytes       # writing: borrowed from header
    cdef Py_ssize_t header_size
    cdef bint expiring                  # False for what cannot change
    cdef double expires                 # seconds, by sns_monotonic alone

    def __cinit__(self, str topic not None, key, int64_t version, bytes header, Codec codec, double lifetime=INFINITY,
                  Pair pair=None):
        if header is not None and len(header) not in (0, HEADER_SIZE, CONFLUENT_SIZE):
            raise ValueError(f"expected a header of 0, {HEADER_SIZE} or {CONFLUENT_SIZE} bytes, got {len(header)}")
        self.topic, self.key, self.version = topic, key, version
        self.number = key if type(key) is int else LATEST
        self.header, self.codec, self.pair = header, codec, pair
        if header is not None:
            self.header_bytes, self.header_size = PyBytes_AS_STRING(header), PyBytes_GET_SIZE(header)
        self.expiring = lifetime != INFINITY
        self.expires = sns_monotonic() + lifetime

    @property
    def missing(self):
        """Whether there is nothing to read with: the registry does not have this version."""
        return self.codec is None and self.pair is None

    @property
    def by(self):
        """The codec or pair that reads, to compare with that of another Bound."""
        if self.pair is None:
            return self.codec
        return tuple((half.codec, half.decode) for half in (self.pair.key, self.pair.value) if half is not None)

    cdef Bound copied(self):
        """The same in another object."""
        cdef Bound copy = Bound.__new__(Bound, self.topic, self.key, self.version, self.header, self.codec, INFINITY,
                                        self.pair)
        copy.expiring, copy.expires = self.expiring, self.expires
        return copy

    cdef inline bint serves(self, object topic) noexcept:
        """Whether it is for ``topic``, and still holds."""
        return (sns_same_text(<PyObject*>topic, <PyObject*>self.topic)
                and (likely(not self.expiring) or sns_monotonic() < self.expires))


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


cdef inline bint reads_latest(Bound bound, object topic) noexcept:
    return bound is not None and bound.number == NO_VERSION and bound.serves(topic)


cdef struct Counts:
    int64_t messages, bytes, misses, errors
    int64_t headerless, prefixed, by_header, foreign, fallbacks, ambiguous      # reading: see Deserializer


cdef int add_counts(Counts* total, const Counts* more) noexcept:
    total.messages += sns_counted(&more.messages)
    total.bytes += sns_counted(&more.bytes)
    total.misses += sns_counted(&more.misses)
    total.errors += sns_counted(&more.errors)
    total.headerless += sns_counted(&more.headerless)
    total.prefixed += sns_counted(&more.prefixed)
    total.by_header += sns_counted(&more.by_header)
    total.foreign += sns_counted(&more.foreign)
    total.fallbacks += sns_counted(&more.fallbacks)
    total.ambiguous += sns_counted(&more.ambiguous)
    return 0


cdef enum:
    MOST_EVENTS = 10_000                # counted apart; those of further topics are counted under the topic ""

cdef uint64_t next_number = 1           # of a SerDes


cdef class _Serdes:
    """The state that both directions share: the policy, the cache, the last hit, and counters.

    Without a GIL a thread works with its replica of the SerDes (threads.h, replicas.pyx), else with the SerDes itself.
    """

    cdef void* vectorcall               # what a call of the instance is, without a tuple of arguments (calls.h)
    cdef TopicCache cache
    cdef Bound last                     # replaced as a whole, so that a reader sees the old one or the new one
    cdef Bound last_pair                # the same, with a pair: apart, so that all others need not look for one
    cdef object policy, convert         # convert: to_dict or from_dict
    cdef bint keys                      # are all that it reads or writes
    cdef Counts counted
    cdef dict events                    # all but hits: (counter, topic, class of the error or "") -> messages
    cdef _Serdes twin                   # for keys, where the context says that it is one; threads: twin_at_hand
    cdef uint64_t number                # no other SerDes ever has it
    cdef uint64_t generation            # counts how often the configuration was replaced
    cdef list replicas                  # of all threads; None with a GIL
    cdef object origin                  # of a replica: a weak reference to its SerDes; else None
    cdef sns_lease* lease               # of a replica
    cdef object __weakref__             # the binding's users are weak

    def __cinit__(self, *args, **kwargs):
        self.number, self.generation, self.events = sns_next(&next_number), 1, {}
        if FREE_THREADED:
            self.replicas = []

    def __dealloc__(self):
        if self.lease is not NULL:
            sns_leave_lease(self.lease)

    def rebind(self):
        """Look up what topics are bound to again, each with its next message; the registry is asked for news alone."""
        cdef _Serdes now = self.blank()
        if self.origin is not None:         # a replica that has outlived its SerDes
            return
        now.copy(self)
        while now.cache is not None:
            now.begin_caches(now.cache.capacity)
            if self.replace(now, now.generation):
                return
            now.copy(self)

    cdef _Serdes blank(self):
        """A new object of this class, with nothing set up."""
        return _Serdes.__new__(_Serdes)

    cdef int prepare(self) except -1:
        """Take over from a new policy what is needed for each message."""
        self.keys = getattr(self.policy, "is_key", False)
        return 0

    cdef int begin_caches(self, Py_ssize_t capacity) except -1:
        self.cache = TopicCache(capacity)
        return 0

    cdef int take(self, _Serdes other) except -1:
        """Take over the configuration of ``other``. No other code runs here if what is replaced is held elsewhere."""
        self.policy, self.convert, self.keys = other.policy, other.convert, other.keys
        self.cache, self.twin = other.cache, other.twin
        return 0

    cdef int copy(self, _Serdes other) except -1:
        """Become what ``other`` is at one moment, with nothing bound."""
        cdef _Serdes before = self.blank()  # freed at the end, since that may run other code
        held = self.last, self.last_pair
        before.take(self)
        with cython.critical_section(other):
            self.generation = other.generation      # first: if anything lets others run, all is copied once more
            self.take(other)
        self.last = self.last_pair = None
        del held
        return 0

    cdef bint replace(self, _Serdes now, uint64_t generation) except -1:
        """Become what ``now`` is, unless this is of another generation: then another thread was first."""
        cdef _Serdes before = self.blank()
        cdef Counts of_keys
        held = self.last, self.last_pair
        with cython.critical_section(self):     # with a GIL: no other thread runs between these lines
            if self.generation != generation:
                return False
            before.take(self)
            self.take(now)
            self.last = self.last_pair = None
            sns_next(&self.generation)
        del held
        if before.twin is not None and before.twin is not now.twin:
            of_keys, events = before.twin.total(), before.twin.all_events()
            with cython.critical_section(self):
                add_counts(&self.counted, &of_keys)
                add_events(self.events, events)
        return True

    cdef object face(self):
        """The SerDes that its user has."""
        found = None if self.origin is None else self.origin()
        return self if found is None else found

    cdef Bound find(self, TopicCache cache, str topic, object key):
        """The Bound in ``cache`` that still holds, or None."""
        cdef Bound bound = cache.find(topic, key)
        if bound is None or not bound.serves(topic):
            return None
        self.settle(cache, bound)
        return bound

    cdef int settle(self, TopicCache cache, Bound bound) except -1:
        """After configure() in between, nobody uses ``cache`` any more."""
        if self.cache is not cache:
            return 0
        if FREE_THREADED:
            bound = bound.copied()      # an object of this thread
        if bound.pair is None:
            self.last = bound
        else:
            self.last_pair = bound
        return 0

    cdef Bound remember(self, TopicCache cache, Bound bound):
        """Put ``bound`` where it was looked for."""
        if bound is None:
            raise TypeError("the policy bound None")
        cache.put(bound.topic, bound.key, bound)
        if bound.codec is not None or bound.pair is not None:  # else the last hit stays at hand
            self.settle(cache, bound)
        return bound

    cdef Bound ask(self, str topic, object key, object context):
        """Ask the policy for a Bound: a miss."""
        cdef Bound bound
        self.count_miss(topic)
        try:
            bound = self.policy.bind(self.face(), topic, key, context)
        except Exception as error:
            self.count_error(topic, error)
            raise
        if bound is not None and bound.topic == topic:
            if FREE_THREADED:
                bound = bound.copied()  # the policy may have given it to others too
            bound.topic = topic         # the same object is found faster than equal text
        return bound

    cdef _Serdes for_keys(self):
        """Ask the policy for the Bound of keys, as the context demands."""
        if self.twin is None:
            made = self.policy.for_keys()
            if self.twin is None:       # another thread may have been first, and counted messages in its own
                self.twin = joined_twin(self, made) if FREE_THREADED else made
        return twin_at_hand(self)

    cdef inline Bound latest_at_hand(self, object topic):
        """The Bound of the last message, if the latest schema read it, and it still holds for ``topic``."""
        if reads_latest(self.last, topic):
            return self.last
        return self.last_pair if reads_latest(self.last_pair, topic) else None

    cdef Bound leading_to_keys(self, str topic, object key, object context):
        """A Bound that only names the topic, if the context says that the data is a key, and keys are taken; or None.

        Asked before anything is bound for values, since these may be of another class, or of a type without a codec.
        """
        cdef _Serdes twin = twin_at_hand(self)
        if self.keys or not for_key(context):
            return None
        if twin is None or twin.cache.find(topic, key) is None:
            try:
                if not self.policy.has_keys(topic):
                    return None
            except Exception as error:
                self.count_miss(topic)
                self.count_error(topic, error)
                raise
        return Bound(topic, None, 0, b"", None)

    # Counts of all but hits, by topic too. A thread changes the dict of its replica alone (with a GIL: in one step).

    cdef int count_event(self, str counter, object topic, str kind, int64_t messages) except -1:
        cdef tuple event = (counter, str.__str__(topic) if isinstance(topic, str) else "", kind)
        if event not in self.events and len(self.events) >= MOST_EVENTS:
            event = (counter, "", kind)
        self.events[event] = self.events.get(event, 0) + messages
        return 0

    cdef int count_miss(self, object topic) except -1:
        sns_count(&self.counted.misses, 1)
        return self.count_event("misses", topic, "", 1)

    cdef int count_error(self, object topic, object error) except -1:
        return self.count_errors(topic, type(error).__qualname__, 1)

    cdef int count_errors(self, object topic, str kind, int64_t messages) except -1:
        sns_count(&self.counted.errors, messages)
        return self.count_event("errors", topic, kind, messages)

    cdef dict all_events(self):
        """The events of all threads, keys included."""
        cdef _Serdes one, twin
        cdef dict found
        cdef list others
        with cython.critical_section(self):
            twin, found, others = self.twin, self.events.copy(), list(self.replicas or ())
        for one in others:
            add_events(found, one.events.copy())
        if twin is not None:
            add_events(found, twin.all_events())
        return found

    cdef Counts total(self) except *:
        """What all threads have counted, keys included."""
        cdef Counts total, of_keys
        cdef _Serdes one, twin
        memset(&total, 0, sizeof(total))
        with cython.critical_section(self):
            twin = self.twin
            add_counts(&total, &self.counted)
            for one in self.replicas or ():
                add_counts(&total, &one.counted)
        if twin is not None:
            of_keys = twin.total()
            add_counts(&total, &of_keys)
        return total

    cdef dict counts(self):
        cdef Counts total = self.total()
        return named(&total)

    cdef int require_configured(self) except -1:
        if self.cache is None:
            raise ConfigError("schema.registry.url is missing", hint="configure the SerDes before its first use")
        return 0


cdef int add_events(dict total, dict more) except -1:
    for event, messages in more.items():
        total[event] = total.get(event, 0) + messages
    return 0


cdef dict named(const Counts* counts):
    return {"messages": counts.messages, "bytes": counts.bytes, "hits": max(counts.messages - counts.misses, 0),
            "misses": counts.misses, "errors": counts.errors}


include "serdes/replicas.pyx"


def set_up(_Serdes serdes not None, policy, convert, Py_ssize_t capacity):
    """Let ``serdes`` ask ``policy`` from now on, with nothing bound. ``convert`` is to_dict, from_dict or None."""
    cdef _Serdes now = serdes.blank()
    now.policy, now.convert = policy, convert
    now.begin_caches(capacity)
    now.prepare()
    while not serdes.replace(now, sns_generation(&serdes.generation)):
        pass


def policy_of(_Serdes serdes not None):
    """The policy. Raises ConfigError before :func:`set_up`."""
    cdef _Serdes mine = mine_of(serdes)
    mine.require_configured()
    return mine.policy


def policy_or_none(_Serdes serdes not None):
    """The policy, or None before :func:`set_up`."""
    return mine_of(serdes).policy


def counts_of(_Serdes serdes not None):
    """What was counted since the SerDes was made, by counter."""
    return serdes.counts()


def events_of(_Serdes serdes not None):
    """What was counted of it beside hits: by counter, topic, and the name of the error's class, or ""."""
    return serdes.all_events()


def twin_of(_Serdes serdes not None):
    """The SerDes for keys that a context has asked for, or None."""
    cdef _Serdes twin = mine_of(serdes).twin
    return None if twin is None else twin.face()


def bound_of(_Serdes serdes not None):
    """All that is bound at the moment."""
    cdef TopicCache cache = mine_of(serdes).cache
    return [] if cache is None else [entry for _topic, _key, entry in cache.items()]


include "serdes/serializer.pyx"
include "serdes/recent.pyx"
include "serdes/deserializer.pyx"

# --- calls without a tuple of arguments (call_serializer, call_deserializer) ------------------------------------------
#
# A call with keywords or another number of arguments, or of a class whose __call__ was replaced, goes the usual way.

cdef void* SERIALIZER_CALL = (<PyTypeObject*>Serializer).tp_call
cdef void* DESERIALIZER_CALL = (<PyTypeObject*>Deserializer).tp_call
# An instance made before its type is set up tells where the field is.
cdef _Serdes specimen = _Serdes.__new__(_Serdes)
cdef Py_ssize_t OFFSET = <char*>&specimen.vectorcall - <char*><PyObject*>specimen
sns_set_vectorcall(<PyTypeObject*>Serializer, OFFSET)
sns_set_vectorcall(<PyTypeObject*>Deserializer, OFFSET)
