# What one thread of a deserializer has met last: its Bounds, and the keys that headers hold.

cdef enum:
    RECENT_BITS = 7
    MOST_VALUES = 1_000         # of one header


# The garbage collector takes the deserializer apart, which alone has it: a finalizer may still call that meanwhile.
@cython.no_gc_clear
@cython.final
cdef class Recent:
    """What one thread has met last, where messages of several versions or framings alternate."""

    cdef list bounds                    # Bounds, by the hash of their key
    cdef Bound competing                # read messages without a header, beside the schema that their sign names
    cdef dict headers                   # name -> value -> key, for headers that count

    def __cinit__(self, names):
        self.bounds, self.headers = [None] * (1 << RECENT_BITS), {name: {} for name in names}

    cdef inline Py_ssize_t place(self, int64_t number) noexcept:
        return <Py_ssize_t>(<uint64_t>number * <uint64_t>0x9E3779B97F4A7C15 >> (64 - RECENT_BITS))

    cdef Bound find(self, object topic, int64_t number):
        """The Bound that holds, or None."""
        cdef Bound bound = <Bound>self.bounds[self.place(number)]
        return bound if bound is not None and bound.number == number and bound.serves(topic) else None

    cdef int64_t key_in(self, object headers) except? -1:
        """The key of the one header that counts; NO_FRAMING if none does, 0 if the policy has to say."""
        cdef PyObject* item
        cdef dict values = None
        cdef tuple pair
        value = None
        if type(headers) is not list:
            return 0
        for held in <list>headers:          # another thread may change it
            if type(held) is not tuple or len(<tuple>held) != 2:
                return 0
            pair = <tuple>held
            if type(pair[0]) is not str:
                return 0
            item = sns_item(self.headers, pair[0])
            if item is not NULL:
                if values is not None:
                    return 0
                values, value = <dict>given(item), pair[1]
        if values is None:
            return NO_FRAMING
        item = sns_item(values, value) if type(value) is bytes else NULL
        return 0 if item is NULL else <int64_t>given(item)

    cdef int learn(self, str name, bytes value, int64_t key) except -1:
        cdef dict values = self.headers[name]
        if len(values) >= MOST_VALUES:
            values.clear()
        values[value] = key
        return 0


cdef Recent new_recent(object signs):
    return Recent(() if signs is None else signs.header_names)
