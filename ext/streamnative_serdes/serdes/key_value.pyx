# KEY_VALUE: a Pair of halves, each written and read by an Avro codec or, for other types, by two functions.
#
# With the encoding INLINE, both are in the value, after the header if there is one:
#
#     offset 0            4           4+K          8+K
#            | K, int32 BE | key, K bytes | V, int32 BE | value, V bytes |        a length of -1: null

cdef enum:
    LENGTH_SIZE = 4                     # bytes


@cython.final
cdef class Half:
    """Writes and reads keys or values. Never changes. ``encode`` and ``decode`` are used where there is no codec.

    Without ``encode`` it only reads.
    """

    cdef readonly Codec codec
    cdef readonly object encode, decode

    def __cinit__(self, Codec codec, encode=None, decode=None):
        if codec is None and not (callable(decode) and (encode is None or callable(encode))):
            raise TypeError("expected a codec or functions")
        self.codec, self.encode, self.decode = codec, encode, decode

    cdef object write(self, object obj, const char* header, Py_ssize_t header_size):
        cdef PyObject* message
        if self.codec is None:
            data = self.encode(obj)
            return data if header_size == 0 else PyBytes_FromStringAndSize(header, header_size) + data
        message = self.codec.try_write(obj, header, header_size)
        if message is NULL:
            sns_reraise()
        return given(message)

    cdef object read(self, const uint8_t* start, Py_ssize_t size, Py_ssize_t offset):
        if self.codec is not None:
            return self.codec.read(start, size, offset)
        try:
            return self.decode(PyBytes_FromStringAndSize(<char*>start + offset, size - offset))
        except DecodeError as error:
            if error.offset is not None:
                error.offset += offset
            raise


@cython.final
cdef class Pair:
    """Writes and reads both halves of KEY_VALUE messages. Never changes.

    ``key`` is None where keys are the messages' keys: SEPARATED. ``kind`` is the class of what INLINE messages hold, a
    subclass of tuple without further fields.
    """

    cdef readonly Half key, value
    cdef readonly type kind

    def __cinit__(self, Half key, Half value not None, type kind not None):
        if not issubclass(kind, tuple) or kind.__basicsize__ != tuple.__basicsize__ or hasattr(kind, "__dict__") and (
                kind.__dictoffset__ != 0):
            raise TypeError("expected a subclass of tuple without further fields")
        self.key, self.value, self.kind = key, value, kind

    cdef object write(self, object obj, const char* header, Py_ssize_t header_size):
        if self.key is None:
            return self.value.write(obj, header, header_size)
        if not isinstance(obj, tuple) or len(<tuple>obj) != 2:
            raise EncodeError(f"expected a KeyValue or a tuple of key and value, got {type(obj).__name__}",
                              hint="the topic's encoding is INLINE, so key and value are written together")
        return write_inline(self, (<tuple>obj)[0], (<tuple>obj)[1], header, header_size)

    cdef object read(self, const uint8_t* start, Py_ssize_t size, Py_ssize_t offset):
        if self.key is None:
            return self.value.read(start, size, offset)
        return read_inline(self, start, size, offset)


cdef object write_inline(Pair self, object key, object value, const char* header, Py_ssize_t header_size):
    """The value goes straight behind the key; its length is filled in afterwards."""
    cdef bytes key_data = None if key is None else half_written(self.key, key, "key", NULL, 0)
    cdef Py_ssize_t key_size = 0 if key_data is None else PyBytes_GET_SIZE(key_data)
    cdef Py_ssize_t before = header_size + LENGTH_SIZE + key_size + LENGTH_SIZE
    cdef bytes front = PyBytes_FromStringAndSize(NULL, before)
    cdef char* place = PyBytes_AS_STRING(front)
    cdef bytes message
    memcpy(place, header, header_size)
    put_length(place + header_size, -1 if key_data is None else key_size)
    if key_data is not None:
        memcpy(place + header_size + LENGTH_SIZE, PyBytes_AS_STRING(key_data), key_size)
    put_length(place + before - LENGTH_SIZE, -1)
    if value is None:
        return front
    message = half_written(self.value, value, "value", place, before)
    put_length(PyBytes_AS_STRING(message) + before - LENGTH_SIZE, PyBytes_GET_SIZE(message) - before)
    return message


cdef bytes half_written(Half half, object obj, str name, const char* header, Py_ssize_t header_size):
    cdef PyObject* written = NULL
    cdef bytes data
    if half.codec is not None:
        written = half.codec.try_write(obj, header, header_size)
        if written is NULL:
            name_half(name)
        data = given(written)
    else:
        data = written_by_function(half, obj, name, header, header_size)
    if PyBytes_GET_SIZE(data) - header_size > INT32_MAX:
        raise EncodeError(f"expected at most {INT32_MAX} bytes, got {PyBytes_GET_SIZE(data) - header_size}", path=name)
    return data


cdef bytes written_by_function(Half half, object obj, str name, const char* header, Py_ssize_t header_size):
    try:
        return half.write(obj, header, header_size)
    except EncodeError as error:
        error.inside(name)
        raise


cdef int name_half(str name) except -1:
    """Say in the exception that is set which half could not be written or read."""
    try:
        return sns_reraise()
    except (EncodeError, DecodeError) as error:
        error.inside(name)
        raise


cdef inline int put_length(char* place, Py_ssize_t length) noexcept:
    cdef uint32_t bits = <uint32_t>length
    place[0], place[1], place[2], place[3] = <char>(bits >> 24), <char>(bits >> 16), <char>(bits >> 8), <char>bits
    return 0


cdef object read_inline(Pair self, const uint8_t* start, Py_ssize_t size, Py_ssize_t offset):
    cdef Py_ssize_t at = offset
    key = half_read(self.key, "key", start, size, &at)
    value = half_read(self.value, "value", start, size, &at)
    if at != size:
        raise DecodeError(f"expected the message to end after the value, got {size - at} more bytes", offset=at)
    pair = sns_new_tuple(<PyTypeObject*>self.kind, 2)
    Py_INCREF(key)
    PyTuple_SetItem(pair, 0, key)
    Py_INCREF(value)
    PyTuple_SetItem(pair, 1, value)
    return pair


cdef object half_read(Half half, str name, const uint8_t* start, Py_ssize_t size, Py_ssize_t* at):
    """The half that begins with its length at ``at``, which becomes the byte after it; None for a length of -1."""
    cdef const uint8_t* place = start + at[0]
    cdef PyObject* datum
    cdef Py_ssize_t length, begin = at[0] + LENGTH_SIZE
    if size - at[0] < LENGTH_SIZE:
        raise DecodeError(f"expected the length of the {name} in 4 bytes, got {size - at[0]}", path=name, offset=at[0])
    length = <int32_t>(<uint32_t>place[0] << 24 | <uint32_t>place[1] << 16 | <uint32_t>place[2] << 8 | place[3])
    if length == -1:
        at[0] = begin
        return None
    if not 0 <= length <= size - begin:
        raise DecodeError(f"expected a length from -1 to {size - begin} for the {name}, got {length}",
                          path=name, offset=at[0])
    at[0] = begin + length
    if half.codec is None:
        return read_by_function(half, name, start, at[0], begin)
    datum = half.codec.try_read(start, at[0], begin)
    if datum is NULL:
        name_half(name)
    return given(datum)


cdef object read_by_function(Half half, str name, const uint8_t* start, Py_ssize_t size, Py_ssize_t offset):
    try:
        return half.read(start, size, offset)
    except DecodeError as error:
        error.inside(name)
        raise


# MessageField.KEY and MessageField.VALUE, whose comparison with a str takes longer than all else that is done here.
cdef object KEY_FIELD = "key", VALUE_FIELD = "value"


def set_fields(key, value):
    """Say which objects the fields of contexts are, as a rule; others are compared as text."""
    global KEY_FIELD, VALUE_FIELD
    KEY_FIELD, VALUE_FIELD = key, value


cdef inline bint for_key(object context) except -1:
    """Whether the context is a key's."""
    if context is None:
        return False
    field = getattr(context, "field", None)
    if field is VALUE_FIELD:
        return False
    return field is KEY_FIELD or field == "key"
