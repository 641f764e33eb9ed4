# Object -> message: the Serializer, which finds what its topic is bound to and writes header and datum in one go.

cdef class Serializer(_Serdes):
    """The call path of a serializer."""

    # Keys: the type of the datum

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <void*>call_serializer
        sns_inherit_vectorcall(self, <PyTypeObject*>Serializer)

    def __call__(self, obj, ctx=None):
        """``obj`` as a framed message for ``ctx.topic``; None for None."""
        return serialize(self, obj, ctx)

    def serialize(self, topic, obj, headers=None):
        """``obj`` as a framed message for ``topic``; None for None. ``headers`` only reach ``to_dict``."""
        cdef PyObject* mine
        if obj is None:
            return None
        mine = replica_of(self)
        if no_replica(mine):
            sns_reraise()
        return write_converted(<Serializer>mine, topic, obj, headers)

    cdef _Serdes blank(self):
        return Serializer.__new__(Serializer)

    cdef Bound look_up(self, object topic, object key, object context):
        cdef Bound bound
        cdef TopicCache cache
        cdef str name = plain(topic, EncodeError)
        self.require_configured()
        cache = self.cache
        bound = self.find(cache, name, key)
        if bound is not None and bound.key is key:
            return bound
        bound = self.leading_to_keys(name, key, context)
        if bound is not None:
            return bound
        bound = self.ask(name, key, context)
        if bound is not None and (bound.missing or bound.header is None):
            raise TypeError("the policy bound no codec or no header to write with")
        return self.remember(cache, bound)

    cdef object write_alone(self, object topic, object obj):
        # A method, since recursion would keep the compiler from putting write() into its callers.
        return write(self, topic, obj, None)


cdef inline object serialize(Serializer serdes, object obj, object context):
    cdef PyObject* mine
    if obj is None:
        return None
    mine = replica_of(serdes)
    if no_replica(mine):
        sns_reraise()
    return serialize_by(<Serializer>mine, obj, context)


cdef inline object serialize_by(Serializer self, object obj, object context):
    topic = topic_of(context, True)
    if self.convert is not None:
        obj = converted(self.convert, obj, context)
    return write(self, topic, obj, context)


cdef inline object write_converted(Serializer self, object topic, object obj, object headers):
    if self.convert is None:
        return write(self, topic, obj, None)
    self.require_configured()
    context = self.policy.context(topic, headers)
    return write(self, topic, converted(self.convert, obj, context), context)


# The quick way is free of try: at each message it costs as much as the look-up. What fails is looked at afterwards.

cdef inline object write(Serializer self, object topic, object obj, object context):
    cdef Bound bound = self.last
    sns_count(&self.counted.messages, 1)
    if unlikely(bound is None or bound.key is not type(obj) or not bound.serves(topic)):
        return write_by_another(self, topic, obj, context)
    return write_by(self, bound, obj)


cdef inline object write_by(Serializer self, Bound bound, object obj):
    cdef PyObject* message = bound.codec.try_write(obj, bound.header_bytes, bound.header_size)
    if unlikely(message is NULL):
        explain(self, bound)
    sns_count(&self.counted.bytes, PyBytes_GET_SIZE(<object>message))
    return given(message)


cdef object write_by_another(Serializer self, object topic, object obj, object context):
    """An object that the last codec is not for: of another class or topic, of a KEY_VALUE topic, or its key."""
    cdef Serializer twin = <Serializer>twin_at_hand(self)   # without one, topics with a codec need no look at the field
    cdef bint is_key = twin is not None and for_key(context)
    cdef Bound bound
    if is_key:
        bound = twin.last
        if bound is not None and bound.key is type(obj) and bound.serves(topic):
            sns_count(&self.counted.messages, -1)
            sns_count(&twin.counted.messages, 1)
            return write_by(twin, bound, obj)
    bound = self.last_pair
    if bound is None or bound.key is not type(obj) or not bound.serves(topic):
        bound = self.look_up(topic, type(obj), context)
    if bound.codec is not None:
        return write_by(self, bound, obj)
    if is_key or (twin is None and not self.keys and for_key(context)):
        sns_count(&self.counted.messages, -1)
        return (<Serializer>self.for_keys()).write_alone(bound.topic, obj)
    return write_pair(self, bound, obj)


cdef object write_pair(Serializer self, Bound bound, object obj):
    cdef PyObject* message
    if bound.pair.key is None and bound.pair.value.codec is not None:
        message = bound.pair.value.codec.try_write(obj, bound.header_bytes, bound.header_size)
        if message is NULL:
            explain(self, bound)
        sns_count(&self.counted.bytes, PyBytes_GET_SIZE(<object>message))
        return given(message)
    try:
        data = bound.pair.write(obj, bound.header_bytes, bound.header_size)
        sns_count(&self.counted.bytes, len(data))
        return data
    except EncodeError as error:
        self.count_error(bound.topic, error)
        raise error.at(topic=bound.topic, version=bound.version)


cdef int explain(Serializer self, Bound bound) except -1:
    """Say in the exception that is set which topic and version could not be written."""
    try:
        return sns_reraise()
    except BaseException as error:
        self.count_error(bound.topic, error)
        if isinstance(error, EncodeError):
            error.at(topic=bound.topic, version=None if len(bound.header) == CONFLUENT_SIZE else bound.version)
        raise


def serialize_bound(Serializer serializer not None, obj, context):
    """As a call, where that takes no answer of the policy; else MISS, and nothing is counted."""
    cdef Serializer mine = <Serializer>mine_of(serializer)
    cdef Bound bound
    if obj is None:
        return None
    topic = topic_of(context, True)
    if mine.convert is not None:
        obj = converted(mine.convert, obj, context)
    mine.require_configured()
    bound = mine.find(mine.cache, plain(topic, EncodeError), type(obj))
    if bound is None or bound.key is not type(obj) or bound.codec is None:
        return MISS
    sns_count(&mine.counted.messages, 1)
    return write_by(mine, bound, obj)


def count_written(Serializer serializer not None, int64_t messages, int64_t size):
    """Count a batch of ``size`` bytes."""
    cdef _Serdes mine = mine_of(serializer)
    sns_count(&mine.counted.messages, messages)
    sns_count(&mine.counted.bytes, size)


cdef object call_serializer(object self, PyObject* const* args, size_t nargsf, PyObject* names):
    if unlikely(names is not NULL or PyVectorcall_NARGS(nargsf) != 2 or Py_TYPE(self).tp_call is not SERIALIZER_CALL):
        return sns_tuple_call(self, args, nargsf, names)
    return serialize(<Serializer>self, <object>args[0], <object>args[1])
