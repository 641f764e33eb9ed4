# Message -> object: the Deserializer, which reads the header, finds that version's codec and decodes the datum.

cdef enum:
    GLUE_SIZE = 18              # bytes of AWS Glue's prefix
    ZLIB = 5                    # its second byte, if the datum is compressed


cdef class Deserializer(_Serdes):
    """The call path of a deserializer."""

    # Keys: the version in the header, LATEST, without_header(version), or those of a second registry (_serdes.pyx)
    cdef object signs                   # of other framings (_reading/framings.py); None: they are not read
    cdef bint bare                      # the rest stands for signs: messages without a header are read;
    cdef bint prefix                    # Confluent's signs are looked for in the value,
    cdef SignTable prefixes             # and those of others, unless it is None,
    cdef bint headers                   # and in headers;
    cdef bint prefix_second             # with Confluent's prefix, messages are read without a header first
    cdef TopicCache competing           # what else may read messages that are read by a sign
    cdef dict paired                    # for keys, which may have a sign: whether a topic is of type KEY_VALUE
    cdef Recent recent                  # replaced with the caches

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <void*>call_deserializer
        sns_inherit_vectorcall(self, <PyTypeObject*>Deserializer)

    def __call__(self, data, ctx=None):
        """The datum of the message ``data`` of ``ctx.topic``; None for None."""
        return deserialize(self, data, ctx)

    def deserialize(self, topic, data, version=None, headers=None):
        """The datum of the message ``data`` of ``topic``; None for None.

        ``version`` is the schema version of a message without a header, where the caller knows it (from Pulsar's
        metadata, say); None, or pulsar-client's -1, where not. ``headers`` are the message's, as the client returns
        them: ``framings`` may allow a schema id in them, and ``from_dict`` gets them.
        """
        cdef PyObject* mine
        if data is None:
            return None
        mine = replica_of(self)
        if no_replica(mine):
            sns_reraise()
        return read_converted(<Deserializer>mine, topic, data, version, headers)

    cdef _Serdes blank(self):
        return Deserializer.__new__(Deserializer)

    cdef int prepare(self) except -1:
        _Serdes.prepare(self)
        signs = getattr(self.policy, "signs", None)
        if signs is not None and signs.in_use:
            self.bare, self.prefix, self.headers = signs.headerless, signs.prefix, signs.header
            self.prefix_second, self.signs = signs.prefix_second, signs
            self.prefixes = SignTable(signs.which, signs.prefix_key) if signs.which else None
            self.recent = new_recent(signs)
        return 0

    cdef int begin_caches(self, Py_ssize_t capacity) except -1:
        _Serdes.begin_caches(self, capacity)
        self.competing, self.paired, self.recent = TopicCache(capacity), {}, new_recent(self.signs)
        return 0

    cdef int take(self, _Serdes other) except -1:
        cdef Deserializer reader = <Deserializer>other
        _Serdes.take(self, other)
        self.signs, self.competing, self.paired = reader.signs, reader.competing, reader.paired
        self.bare, self.prefix, self.headers = reader.bare, reader.prefix, reader.headers
        self.prefix_second = reader.prefix_second
        self.prefixes, self.recent = reader.prefixes, reader.recent
        return 0

    cdef int copy(self, _Serdes other) except -1:
        cdef Recent recent
        cdef SignTable prefixes
        _Serdes.copy(self, other)
        recent, prefixes = new_recent(self.signs), self.prefixes        # each thread has its own
        if prefixes is not None:
            prefixes = SignTable(prefixes.which, prefixes.prefix_key)
        self.recent, self.prefixes = recent, prefixes
        return 0

    cdef int settle(self, TopicCache cache, Bound bound) except -1:
        cdef Recent recent = self.recent
        if self.cache is cache:
            _Serdes.settle(self, cache, bound)
            bound = self.last_pair if bound.pair is not None else self.last
            recent.bounds[recent.place(bound.number)] = bound
        return 0

    cdef inline Bound recently(self, object topic, int64_t number):
        """The Bound of one of the last messages, which is the last one then; or None."""
        cdef Recent recent = self.recent
        cdef Bound bound = None if recent is None else recent.find(topic, number)
        if bound is not None:
            if bound.pair is None:
                held = self.last        # freed at the end, since that may run other code
                self.last = bound
            else:
                held = self.last_pair
                self.last_pair = bound
        return bound

    cdef bint reads_pairs(self, object topic) except -1:
        """Whether the topic is of type KEY_VALUE: its keys have no sign, whatever they begin with."""
        cdef dict paired = self.paired
        cdef str name = plain(topic, DecodeError)
        found = paired.get(name)
        if found is None:
            self.require_configured()
            try:
                found = self.policy.has_pairs(name)
            except Exception as error:
                sns_count(&self.counted.messages, 1)
                self.count_miss(name)
                self.count_error(name, error)
                raise
            if len(paired) >= self.cache.capacity:
                paired.clear()
            paired[name] = found
        return found

    cdef Bound look_up(self, object topic, int64_t number, object context):
        cdef Bound bound
        cdef TopicCache cache
        cdef str name
        bound = self.recently(topic, number)
        if bound is not None:
            return bound
        name = plain(topic, DecodeError)
        self.require_configured()
        cache = self.cache
        bound = self.find(cache, name, number)
        if bound is None:
            bound = self.leading_to_keys(name, LATEST, context)
            if bound is not None:
                return bound
            bound = self.remember(cache, self.ask(name, number, context))
        return bound

    cdef int64_t sign_of(self, const uint8_t* start, Py_ssize_t size, object context, object headers) except? -1:
        """The key of the sign that a message shows, or NO_FRAMING."""
        cdef int64_t number
        if self.headers:
            if headers is None and context is not None:
                headers = getattr(context, "headers", None)
            number = self.header_key(headers) if headers else NO_FRAMING
            if number != NO_FRAMING:
                return number
        if self.prefixes is not None:
            number = key_of_prefix(self.prefixes, start, size)
            if number == 0:
                number = self.prefixes.learn(start, prefix_size(start, size, self.prefixes.which))
            if number != NO_FRAMING:
                return number
        if self.prefix:
            number = confluent_id_of(start, size)
            if number != NO_VERSION:
                return FIRST_PREFIXED + number
        return NO_FRAMING

    cdef int64_t header_key(self, object headers) except? -1:
        """The key of the schema that headers name, or NO_FRAMING."""
        cdef Recent recent = self.recent
        cdef int64_t key = recent.key_in(headers)
        if key != 0:
            return key
        found = self.signs.key_in(headers)
        if found is None:
            return NO_FRAMING
        sign = self.signs.known(found)
        if sign is not None:
            recent.learn(sign[0], sign[1], found)
        return found

    cdef int64_t first_key(self, int64_t sign, object version) except? -1:
        """The key that a message with this sign is read under first."""
        if not self.bare or (sign != NO_FRAMING and not bare_first(sign, self.prefix_second)):
            return sign
        return self.bare_key(version)

    cdef int64_t bare_key(self, object version) except? -1:
        """The key of messages without a header."""
        return NO_VERSION if version is None else without_header(version)

    cdef Bound other_reading(self, Bound bound, int64_t sign, object version, bint ask):
        """Find a second reader for a message that ``bound`` has read; None if no other schema may read it.

        With ``ask``, the policy is asked what reads messages without a header. An id is never asked for here.
        """
        cdef int64_t key = sign if bound.number != sign else self.bare_key(version)
        cdef TopicCache cache = self.competing
        cdef Recent recent = self.recent
        cdef Bound other = recent.find(bound.topic, key) if key == sign else recent.competing
        if other is not None and other.number == key and other.serves(bound.topic):
            return other
        other = (self.cache if key == sign else cache).find(bound.topic, key)
        if other is None or not other.serves(bound.topic):
            if key == sign:
                return bound            # unknown: compared with itself, which counts nothing
            if not ask:
                return None
            other = self.policy.competing(bound.topic, key)
            cache.put(other.topic, other.key, other)
        if key != sign:
            recent.competing = other.copied() if FREE_THREADED else other
        return other

    cdef int compare(self, Bound bound, const uint8_t* start, Py_ssize_t size, int64_t sign, Bound other) except -1:
        """Count a message if ``other`` reads it too, whole."""
        cdef Py_ssize_t offset
        if other is bound or other.codec is None:
            return 0
        offset = prefix_of(other.number)
        if other.codec.wrote(start + offset, size - offset):
            sns_count(&self.counted.ambiguous, 1)
            self.count_event("ambiguous", bound.topic, "", 1)
            self.policy.ambiguous(bound.topic, sign)
        return 0

    cdef object recover(self, object data, Bound bound, object given, object sign, object error):
        try:
            return self.policy.recover(self.face(), bound, data, given, sign, error)
        except Exception as refused:
            self.count_error(bound.topic, refused)
            raise

    cdef dict counts(self):
        cdef Counts counts = self.total()
        found = named(&counts) | {"headerless": counts.headerless, "fallbacks": counts.fallbacks}
        if (<Deserializer>mine_of(self)).signs is not None:
            found.update(confluent=counts.prefixed, confluent_header=counts.by_header, other_framings=counts.foreign,
                         ambiguous=counts.ambiguous)
        return found


def at_hand(Deserializer deserializer not None, str topic not None, int64_t key):
    """The Bound under ``key``, or None, and the cache to :func:`keep` it in."""
    cdef _Serdes mine = mine_of(deserializer)
    cdef TopicCache cache = mine.cache
    return mine.find(cache, topic, key), cache


def keep(Deserializer deserializer not None, TopicCache cache not None, Bound bound not None):
    """Bind ``bound`` for further messages, for a policy that recovers; nothing is counted."""
    return mine_of(deserializer).remember(cache, bound)


def count_error(_Serdes serdes not None, topic, error not None):
    """Count a message or a batch that the call path has not seen."""
    mine_of(serdes).count_error(topic, error)


def count_fallback(Deserializer deserializer not None, topic):
    cdef _Serdes mine = mine_of(deserializer)
    sns_count(&mine.counted.fallbacks, 1)
    mine.count_event("fallbacks", topic, "", 1)


def count_instead(Deserializer deserializer not None, int64_t before, int64_t after):
    """Count a message that was read under the key ``after``, not ``before`` as it was counted."""
    cdef _Serdes mine = mine_of(deserializer)
    count_framing(mine, before, -1)
    count_framing(mine, after, 1)


cdef int count_framing(_Serdes self, int64_t key, int64_t messages) except -1:
    if key >= 0 or key == NO_FRAMING:
        return 0
    elif key > NO_FRAMING:
        sns_count(&self.counted.headerless, messages)
    elif key >= FIRST_BY_HEADER and is_foreign(key):
        sns_count(&self.counted.foreign, messages)
    elif key >= FIRST_BY_HEADER:
        sns_count(&self.counted.by_header, messages)
    else:
        sns_count(&self.counted.prefixed, messages)
    return 0


def count_batch(Deserializer deserializer not None, topic, int64_t size, dict messages, int64_t fallbacks,
                int64_t ambiguous, dict errors):
    """Count a batch of ``size`` bytes: messages by the key that they were read or looked up under; errors by class."""
    cdef _Serdes mine = mine_of(deserializer)
    sns_count(&mine.counted.bytes, size)
    for key, count in messages.items():
        sns_count(&mine.counted.messages, count)
        count_framing(mine, key, count)
    if fallbacks:
        sns_count(&mine.counted.fallbacks, fallbacks)
        mine.count_event("fallbacks", topic, "", fallbacks)
    if ambiguous:
        sns_count(&mine.counted.ambiguous, ambiguous)
        mine.count_event("ambiguous", topic, "", ambiguous)
    for kind, count in errors.items():
        mine.count_errors(topic, kind, count)


cdef inline object deserialize(Deserializer serdes, object data, object context):
    cdef PyObject* mine
    if data is None:
        return None
    mine = replica_of(serdes)
    if no_replica(mine):
        sns_reraise()
    return deserialize_by(<Deserializer>mine, data, context)


cdef inline object deserialize_by(Deserializer self, object data, object context):
    obj = read(self, topic_of(context, False), data, context, None, None)
    return obj if self.convert is None else converted(self.convert, obj, context)


cdef inline object read_converted(Deserializer self, object topic, object data, object version, object headers):
    obj = read(self, topic, data, None, headers, None if version is None else given_version(version))
    return obj if self.convert is None else converted(self.convert, obj, self.policy.context(topic, headers))


cdef inline object read(Deserializer self, object topic, object data, object context, object headers, object version):
    """The datum in a message; ``version`` is what the caller knows of a message without a header, or None."""
    if likely(PyBytes_CheckExact(data)):
        return read_bytes(self, topic, <uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), data, context,
                          headers, version)
    return read_buffer(self, topic, data, context, headers, version)


cdef object read_buffer(Deserializer self, object topic, object data, object context, object headers, object version):
    cdef Py_buffer view
    if not PyObject_CheckBuffer(data):
        raise DecodeError(f"expected bytes, bytearray or memoryview, got {type(data).__name__}",
                          topic=plain(topic, DecodeError))
    try:
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)   # a bytearray cannot change its size while it is held
    except (BufferError, ValueError) as error:          # in pieces, or released
        raise DecodeError(f"expected bytes that can be read: {error}", topic=topic) from None
    try:
        if FREE_THREADED:                               # another thread may change what is viewed
            data = PyBytes_FromStringAndSize(<char*>view.buf, view.len)
            return read_bytes(self, topic, <uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), data, context,
                              headers, version)
        return read_bytes(self, topic, <uint8_t*>view.buf, view.len, data, context, headers, version)
    finally:
        PyBuffer_Release(&view)


cdef bytes bytes_of(object data):
    """The bytes of a buffer, copied unless they cannot change."""
    cdef Py_buffer view
    if PyBytes_CheckExact(data):
        return data
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return PyBytes_FromStringAndSize(<char*>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef inline object read_bytes(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object data,
                              object context, object headers, object version):
    cdef int64_t in_header = version_of(start, size), number = in_header
    cdef Py_ssize_t offset = HEADER_SIZE
    cdef Bound bound = self.last
    cdef PyObject* datum
    sns_count(&self.counted.bytes, size)
    if unlikely(self.keys):             # which have no header, whatever they begin with
        return read_as_key(self, topic, start, size, data, context, headers, version)
    sns_count(&self.counted.messages, 1)
    if unlikely(number == NO_VERSION):
        if unlikely(self.signs is not None):
            return read_unmarked(self, topic, start, size, data, context, headers, version)
        sns_count(&self.counted.headerless, 1)
        offset = 0
        if version is not None:
            number = without_header(version)
    if unlikely(bound is None or bound.number != number or bound.codec is None or not bound.serves(topic)):
        return read_by_another(self, topic, start, size, data, context, number, in_header, version)
    datum = bound.codec.try_read(start, size, offset)
    if unlikely(datum is NULL):
        return read_again(self, data, bound, version, None)
    return given(datum)


cdef object read_by_another(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object data,
                            object context, int64_t number, int64_t in_header, object version):
    """A message that the last codec is not for: of another version or topic, of a KEY_VALUE topic, or its key."""
    cdef Py_ssize_t offset = HEADER_SIZE if in_header != NO_VERSION else 0
    cdef Deserializer twin = <Deserializer>twin_at_hand(self)   # without one, a codec needs no look at the field
    cdef bint is_key = twin is not None and for_key(context)
    cdef Bound bound
    cdef PyObject* datum
    if is_key:
        bound = twin.latest_at_hand(topic)
        if bound is not None and twin.signs is None:
            count_as_key(self, in_header)
            count_key(twin)
            return read_key_by(twin, bound, start, size, data, version)
    bound = self.last_pair
    if bound is None or bound.number != number or not bound.serves(topic):
        bound = self.look_up(topic, number, context)
    if bound.codec is not None:
        datum = bound.codec.try_read(start, size, offset)
        return given(datum) if datum is not NULL else read_again(self, data, bound, version, None)
    if is_key or (twin is None and for_key(context)):
        count_as_key(self, in_header)
        return read_as_key(<Deserializer>self.for_keys(), bound.topic, start, size, data, context, None, version)
    if bound.pair is None:
        return self.recover(data, bound, version, None, None)
    return read_pair(self, bound, start, size, data, offset, version, None)


cdef inline int count_as_key(Deserializer self, int64_t in_header) noexcept:
    """The SerDes for keys counts the message; here it was counted by what it begins with."""
    sns_count(&self.counted.messages, -1)
    if in_header == NO_VERSION:
        sns_count(&self.counted.headerless, -1)
    return 0


cdef inline int count_key(Deserializer self) noexcept:
    sns_count(&self.counted.messages, 1)
    sns_count(&self.counted.headerless, 1)
    return 0


cdef object read_pair(Deserializer self, Bound bound, const uint8_t* start, Py_ssize_t size, object data,
                      Py_ssize_t offset, object version, object sign=None):
    cdef PyObject* datum
    if bound.pair.key is None and bound.pair.value.codec is not None:
        datum = bound.pair.value.codec.try_read(start, size, offset)
        if datum is NULL:
            return read_again(self, data, bound, version, sign)
        return given(datum)
    try:
        return bound.pair.read(start, size, offset)
    except DecodeError as error:
        return self.recover(data, bound, version, sign, error)


cdef inline object read_as_key(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object data,
                               object context, object headers, object version):
    """A key, by an instance for keys: without any header, or in one of Confluent's framings."""
    if self.signs is None or self.reads_pairs(topic):
        return read_key(self, topic, start, size, data, version)
    sns_count(&self.counted.messages, 1)
    return read_unmarked(self, topic, start, size, data, context, headers, version)


cdef object read_key(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object data,
                     object version):
    """A key without a header, as all keys of KEY_VALUE messages are: equal keys are equal bytes."""
    cdef int64_t number = NO_VERSION if version is None else without_header(version)
    cdef Bound bound = self.last
    count_key(self)
    if bound is None or bound.number != number or not bound.serves(topic):
        bound = self.last_pair
        if bound is None or bound.number != number or not bound.serves(topic):
            bound = self.look_up(topic, number, None)
    return read_key_by(self, bound, start, size, data, version)


cdef inline object read_key_by(Deserializer self, Bound bound, const uint8_t* start, Py_ssize_t size, object data,
                               object version):
    cdef PyObject* datum
    if unlikely(bound.codec is None):
        if bound.pair is None:
            return self.recover(data, bound, version, None, None)
        return read_pair(self, bound, start, size, data, 0, version, None)
    datum = bound.codec.try_read(start, size, 0)
    if datum is NULL:
        return read_again(self, data, bound, version, None)
    return given(datum)


cdef object read_again(Deserializer self, object data, Bound bound, object version, object sign):
    """The datum of a message that ``bound`` did not read: an exception is set."""
    try:
        sns_reraise()
    except DecodeError as error:
        return self.recover(data, bound, version, sign, error)


# Messages without our header, where other framings are read too. A message that shows a sign of one has two
# readings: by that sign, and without a header.

cdef object read_unmarked(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object data,
                          object context, object headers, object version):
    cdef int64_t sign, key
    cdef Bound bound = self.last
    cdef PyObject* datum
    if for_key(context) and not self.keys:
        sns_count(&self.counted.messages, -1)
        return read_as_key(<Deserializer>self.for_keys(), topic, start, size, data, context, headers, version)
    sign = self.sign_of(start, size, context, headers)
    if prefix_of(sign) == GLUE_SIZE and start[1] == ZLIB and start[0] == 3:
        unpacked = self.signs.unpacked(bytes_of(data))
        if unpacked is not None:
            data, start, size = unpacked, <uint8_t*>PyBytes_AS_STRING(unpacked), PyBytes_GET_SIZE(unpacked)
            sign = self.sign_of(start, size, None, ())
    key = self.first_key(sign, version)
    count_framing(self, key, 1)
    if bound is None or bound.number != key or not bound.serves(topic):
        bound = self.look_up(topic, key, context)
    shown = None if sign == NO_FRAMING else sign
    if bound.pair is not None:
        return read_pair(self, bound, start, size, data, prefix_of(key), version, shown)
    if bound.codec is None:
        return self.recover(data, bound, version, shown, None)
    datum = bound.codec.try_read(start, size, prefix_of(key))
    if datum is NULL:
        return read_again(self, data, bound, version, shown)
    obj = given(datum)
    if self.bare and prefix_of(sign):
        self.compare(bound, start, size, sign, self.other_reading(bound, sign, version, True))
    return obj


def deserialize_bound(Deserializer deserializer not None, data, context):
    """As a call, where that takes no answer of the policy; else MISS, and nothing is counted."""
    cdef Deserializer mine = <Deserializer>mine_of(deserializer)
    if data is None:
        return None
    topic = topic_of(context, False)
    mine.require_configured()
    try:
        data = bytes_of(data)
    except (BufferError, TypeError, ValueError):    # a call says what is wrong
        return MISS
    obj = read_bound(mine, topic, <uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), context)
    return obj if obj is MISS or mine.convert is None else converted(mine.convert, obj, context)


cdef object read_bound(Deserializer self, object topic, const uint8_t* start, Py_ssize_t size, object context):
    """The datum, or MISS where the policy has to be asked."""
    cdef int64_t version = version_of(start, size), key = version, sign = NO_FRAMING
    cdef str name = plain(topic, DecodeError)
    cdef Bound bound, other = None
    cdef PyObject* datum
    if version == NO_VERSION and self.signs is not None:
        field = getattr(context, "field", None)
        if field is not VALUE_FIELD and field == "key" and not self.keys:   # another framing than the value's
            return MISS
        sign = self.sign_of(start, size, context, None)
        if prefix_of(sign) == GLUE_SIZE and start[1] == ZLIB:
            return MISS
        key = self.first_key(sign, None)
    bound = self.find(self.cache, name, key)
    if bound is None or bound.codec is None:
        return MISS
    if self.bare and prefix_of(sign):
        other = self.other_reading(bound, sign, None, False)
        if other is None:
            return MISS
    datum = bound.codec.try_read(start, size, HEADER_SIZE if version != NO_VERSION else prefix_of(key))
    if datum is NULL:
        try:
            sns_reraise()
        except DecodeError:
            return MISS
    obj = given(datum)
    sns_count(&self.counted.messages, 1)
    sns_count(&self.counted.bytes, size)
    count_framing(self, key, 1)
    if other is not None:
        self.compare(bound, start, size, sign, other)
    return obj


cdef object given_version(object version):
    """A version that the caller gives, or None: pulsar-client says -1 for none."""
    if type(version) is not int or version >= MOST_VERSION:
        raise DecodeError(f"expected a schema version as int below 2**62, got "
                          f"{type(version).__name__} {version!r:.40}")
    return version if version >= 0 else None


def read_by(Bound bound not None, data, Py_ssize_t offset):
    """The datum in ``data[offset:]`` by the codec or the pair of ``bound``, which must not be None."""
    cdef Py_ssize_t size
    cdef const uint8_t* start
    if bound.missing:
        raise DecodeError("the registry does not have this schema version", topic=bound.topic, version=bound.version)
    data = bytes_of(data)
    start, size = <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
    if not 0 <= offset <= size:
        raise DecodeError(f"expected at least {offset} bytes, got {size}")
    if bound.codec is None:
        return bound.pair.read(start, size, offset)
    return bound.codec.read(start, size, offset)


cdef object call_deserializer(object self, PyObject* const* args, size_t nargsf, PyObject* names):
    if unlikely(names is not NULL or PyVectorcall_NARGS(nargsf) != 2 or Py_TYPE(self).tp_call is not DESERIALIZER_CALL):
        return sns_tuple_call(self, args, nargsf, names)
    return deserialize(<Deserializer>self, <object>args[0], <object>args[1])
