# Messages as Kafka clients return them: their values where they are, for the decoder, and their parts as the columns of
# Spark's Kafka source. Only the methods of confluent-kafka's messages are called: value(), key(), topic(), and so on.


@cython.final
cdef class Method:
    """A method of messages. Its function is looked up once for messages of one class. For one thread."""
    cdef str name
    cdef type cls
    cdef object function        # None: it is looked up for each message

    def __cinit__(self, str name not None):
        self.name = name

    cdef object of(self, object message):
        if type(message) is not self.cls:
            self.cls, self.function = type(message), unbound(type(message), self.name)
        if self.function is None:
            return getattr(message, self.name)()
        return PyObject_CallOneArg(self.function, message)


cdef object unbound(type cls, str name):
    """The function of a method, to be called with the object; None where objects may have another of their own."""
    if cls.__dictoffset__:
        return None
    for base in cls.__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return found if isinstance(found, PLAIN_METHODS) else None
    return None


cdef enum:
    GATHERED_BYTES = 1024       # mean size up to which messages are copied into one buffer


@cython.final
cdef class Values:
    """The bytes of each item of a list, where the decoder reads them: no array of them is made.

    ``part`` is the method of the items that returns them, such as ``value`` for confluent-kafka's messages; None: the
    items are bytes themselves. None stands for no message. Any other item raises TypeError.
    """

    # Short messages are copied into one buffer, where the decoder reads them in blocks, and needs no branch for the
    # size of text, since it may read beyond the end of a message. Others are read where they are.
    cdef Py_ssize_t count
    cdef list held              # bytes objects, kept alive
    cdef Place* places          # of all messages; or NULL, if they are in one buffer
    cdef uint8_t* data          # the buffer,
    cdef int32_t* offsets       # and where each message begins
    cdef uint8_t* valid         # null bitmap, or NULL if there are no nulls
    cdef int64_t size           # of all bytes
    cdef int64_t room           # in the buffer

    def __cinit__(self, messages not None, str part=None):
        cdef list items
        if part is not None:
            items = parts_of(messages, part)
        else:
            items = messages if isinstance(messages, list) else list(messages)
        self.count = PyList_GET_SIZE(items)
        if not self.gather(items):
            self.locate(list(items))

    def __dealloc__(self):
        free(self.places)
        sns_free(self.data)
        free(self.offsets)
        free(self.valid)

    def __len__(self):
        return self.count

    cdef bint gather(self, list items) except -1:
        """Copy all messages into one buffer. False if they are too large for that, or not all of them bytes objects."""
        cdef bint done
        with cython.critical_section(items):
            done = PyList_GET_SIZE(items) == self.count and self.copied(items)
        if not done:
            sns_free(self.data)
            free(self.offsets)
            free(self.valid)
            self.data, self.offsets, self.valid, self.size, self.room = NULL, NULL, NULL, 0, 0
        return done

    cdef bint copied(self, list items) except -1:
        cdef int64_t most = min(GATHERED_BYTES * self.count, INT32_MAX), size
        cdef PyObject* item
        cdef Py_ssize_t i
        self.offsets = <int32_t*>malloc((self.count + 1) * sizeof(int32_t))
        if self.offsets is NULL:
            raise MemoryError()
        self.offsets[0] = 0
        for i in range(self.count):
            item = PyList_GET_ITEM(items, i)         # no Python code runs, so nobody changes the list
            if likely(is_bytes(item)):
                size = bytes_size(item)
                if unlikely(size > self.room - self.size):
                    if size > most - self.size:
                        return False
                    self.grow(self.size + size, min(max(2 * self.room, LEAST_BYTES, self.expected(i)), most))
                    self.room = min(self.room, most)
                sns_copy(self.data + self.size, bytes_start(item), size)
                self.size += size
            elif item is Py_None:
                self.leave_out(i)
            else:
                return False
            self.offsets[i + 1] = <int32_t>self.size
        return True

    cdef int64_t expected(self, Py_ssize_t done) noexcept:
        """Return the bytes of all messages, by the mean size of the first ``done``; 0 if they are too few."""
        return self.size // done * self.count // 16 * 17 if done >= 16 else 0

    cdef int grow(self, int64_t least, size_t room) except -1:
        """Give the buffer at least ``least`` bytes, about ``room``."""
        cdef uint8_t* made = <uint8_t*>sns_new_block(least, &room)
        if made is NULL:
            raise MemoryError()
        if self.size:
            memcpy(made, self.data, self.size)
        sns_free(self.data)
        self.data, self.room = made, room
        return 0

    cdef int locate(self, list items) except -1:
        cdef Place* place
        cdef Py_ssize_t i
        self.held, self.count = items, len(items)
        self.places = <Place*>calloc(max(self.count, 1), sizeof(Place))
        if self.places is NULL:
            raise MemoryError()
        for i in range(self.count):
            item = items[i]
            if item is None:
                self.leave_out(i)
                continue
            if not isinstance(item, bytes):
                if not isinstance(item, (bytearray, memoryview)):
                    raise TypeError(f"expected bytes or None, got {type(item).__name__}")
                item = bytes(item)      # others may change while the GIL is released
                items[i] = item
            place = &self.places[i]
            place.data, place.size = <const uint8_t*>PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item)
            self.size += place.size
        return 0

    cdef int leave_out(self, Py_ssize_t i) except -1:
        cdef Py_ssize_t size = (self.count + 7) >> 3
        if self.valid is NULL:
            self.valid = <uint8_t*>malloc(size)
            if self.valid is NULL:
                raise MemoryError()
            memset(self.valid, 0xFF, size)
        self.valid[i >> 3] &= <uint8_t>~(1 << (i & 7))
        return 0

    cdef int open(self, BytesArray* out) except -1:
        """As open_bytes(); this has to stay alive as long as ``out`` is used."""
        memset(out, 0, sizeof(BytesArray))
        out.length, out.size, out.valid = self.count, self.size, self.valid
        if self.places is not NULL:
            out.how, out.slots = PLACES, <const uint8_t*>self.places
            return 0
        out.how, out.slots = SMALL_OFFSETS, <const uint8_t*>self.offsets
        # Without any bytes, any address will do.
        out.data = out.slots if self.data is NULL else self.data
        out.limit = out.data + self.size
        return 0


cdef list parts_of(messages, str name):
    """The results of one method of each message. Raises DecodeError for an error of the client in a message's place."""
    cdef Method error = Method("error"), part = Method(name)
    cdef list found = []
    if type(messages) is Taken:
        return [part.of(message) for message in messages]
    for message in messages:
        try:
            fault = error.of(message)
        except AttributeError:
            raise TypeError(f"expected messages of a client, got {type(message).__name__} among them") from None
        refuse_client_error(fault, len(found))
        found.append(part.of(message))
    return found


cdef int refuse_client_error(object error, int64_t row) except -1:
    if error is not None:
        found = DecodeError(f"the client reports an error in place of a message: {error}")
        found.row = row
        raise found
    return 0


@cython.final
cdef class Taken(list):
    """The messages that a client returned, in order; ``errors`` has what it returned for an error or an end."""
    cdef readonly list errors

    def __init__(self, messages):
        cdef Method error = Method("error")
        self.errors = []
        for message in messages:
            PyList_Append(self if error.of(message) is None else self.errors, message)


def ends_of(messages):
    """Return, by partition, the offset that follows its last message; ``messages`` are of one topic."""
    cdef Method partition = Method("partition"), offset = Method("offset")
    cdef dict found = {}
    last = number = None
    for message in messages:
        here = partition.of(message)
        if here is not number and last is not None:     # messages of one partition come together
            found[number] = offset.of(last) + 1
        number, last = here, message
    if last is not None:
        found[number] = offset.of(last) + 1
    return found


def bytes_list(schema, array):
    """Return the rows of an array of bytes or text (capsules of schema and array) as bytes objects; None for a null.

    Raises DecodeError for a damaged array, and TypeError for another type.
    """
    cdef BytesArray rows
    cdef Span used
    cdef int64_t row, size = 0
    cdef const uint8_t* data
    cdef ArrowArray* given = <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array")
    cdef bytes format = format_of_bytes(<ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema"))
    used.first, used.count = 0, given.length
    fault = open_bytes(&rows, how_bytes(format), width_of(format, b"w:"), given, given.offset, used)
    if fault is not None:
        raise damaged_messages("bytes", fault)
    cdef list found = [None] * rows.length
    for row in range(rows.length):
        if is_valid(rows.valid, rows.offset + row):
            data = bytes_at(&rows, row, &size)
            found[row] = PyBytes_FromStringAndSize(<const char*>data, size)
    return found


# --- columns of Spark's Kafka source ----------------------------------------------------------------------------------

cdef enum KafkaPart:
    KAFKA_BYTES
    KAFKA_TEXT
    KAFKA_INT
    KAFKA_LONG
    KAFKA_TIME
    KAFKA_TIME_TYPE
    KAFKA_HEADERS

# Column -> (what it holds, method of messages).
KAFKA_PARTS = {"key": (KAFKA_BYTES, "key"), "value": (KAFKA_BYTES, "value"), "topic": (KAFKA_TEXT, "topic"),
               "partition": (KAFKA_INT, "partition"), "offset": (KAFKA_LONG, "offset"),
               "timestamp": (KAFKA_TIME, "timestamp"), "timestampType": (KAFKA_TIME_TYPE, "timestamp"),
               "headers": (KAFKA_HEADERS, "headers")}


def kafka_columns(Layout layout not None, list messages not None):
    """Return the parts of messages as a struct of the layout's columns, a row each: the capsule of an array.

    ``layout`` is that of a record with some of the fields key, value, topic, partition, offset, timestamp,
    timestampType and headers, in the types of Spark's Kafka source. ``messages`` are confluent-kafka's.

    Raises DecodeError, with ``row``, if one is an error of the client or has another type than expected, and
    BatchTooLargeError, with ``row``, if they do not fit into one batch.
    """
    cdef KafkaRows rows = KafkaRows(layout, messages)
    cdef Py_ssize_t row = 0
    while row < len(messages):          # a callback of the client may change the list
        rows.add(row, messages[row])
        row += 1
    return rows.exported()


@cython.final
cdef class KafkaRows:
    """The columns of a kafka_columns() call."""
    cdef Layout layout
    cdef Column* columns
    cdef Method error
    cdef list methods           # by column; None: what the column before took, as both parts of a timestamp are
    cdef int[8] kinds

    def __cinit__(self, Layout layout, list messages):
        cdef int i
        self.layout, self.error = layout, Method("error")
        found = [KAFKA_PARTS[layout.names[i + 1].decode()] for i in range(layout.specs[0].count)]
        if len(found) > 8:
            raise ValueError(f"expected at most 8 columns, got {len(found)}")
        names = [name for _, name in found]
        self.methods = [None if i and names[i] == names[i - 1] else Method(names[i]) for i in range(len(names))]
        for i in range(len(found)):
            self.kinds[i] = found[i][0]
        self.columns = new_columns(layout, len(messages), 0)

    def __dealloc__(self):
        if self.columns is not NULL:
            free_columns(self.columns, self.layout.count)

    cdef int add(self, Py_ssize_t row, object message) except -1:
        cdef int i, fault = 0
        cdef object part = None
        refuse_client_error(self.error.of(message), row)
        for i in range(self.columns.count):
            method = <object>PyList_GET_ITEM(self.methods, i)
            if method is not None:
                part = (<Method>method).of(message)
            try:
                fault = put_part(&self.columns.children[i], self.kinds[i], part)
            except (TypeError, ValueError, OverflowError) as error:
                raise self.refused(row, i, error) from None
            if fault == OVERFLOW and row:
                raise batch_too_large(BATCH_FAULTS[OVERFLOW], row, (<bytes>self.layout.names[i + 1]).decode())
            if fault:
                raise MemoryError()
        self.columns.length += 1
        return 0

    cdef object refused(self, Py_ssize_t row, int i, object error):
        found = DecodeError(f"expected the parts of a client's message: {error}",
                            path=(<bytes>self.layout.names[i + 1]).decode())
        found.row = row
        return found

    cdef object exported(self):
        cdef object capsule = sns_new_array()
        give_away(self.columns, <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array"), 0)
        return capsule


cdef int put_part(Column* c, int kind, object part) except -1:
    """Append what a method of a message has returned. Returns 0 or the fault."""
    if kind == KAFKA_TIME or kind == KAFKA_TIME_TYPE:
        return put_time(c, kind, part)
    if part is None:
        return put_null(c)
    if kind == KAFKA_BYTES:
        return put_object(c, part)
    if kind == KAFKA_TEXT:
        return put_text(c, part)
    if kind == KAFKA_HEADERS:
        return put_headers(c, part)
    return put_kafka_number(c, part, kind == KAFKA_INT)


cdef int put_kafka_number(Column* c, object number, bint narrow) except -1:
    cdef int64_t value = whole(number)
    if not has_slot(c):
        return NO_MEMORY
    if narrow:
        if not INT32_MIN <= value <= INT32_MAX:
            raise OverflowError(f"{value} does not fit into 32 bits")
        put_plain_bits(c, value, 4)
    else:
        put_plain_bits(c, value, 8)
    return 0


cdef int64_t whole(object number) except? -1:
    """Other numbers are refused: int() drops what is behind a point, and takes seconds for a Decimal of many digits."""
    if not isinstance(number, int):
        raise TypeError(f"expected an int, got {type(number).__name__}")
    return number


cdef int put_time(Column* c, int kind, object part) except -1:
    """Append a time or its type, in Kafka's numbers: the client's are higher by one. 0: there is no time.

    As with Kafka's Java client, and so in Spark, that is -1 ms, of type -1.
    """
    cdef int64_t stamp, of_type
    type_number, milliseconds = part
    of_type, stamp = whole(type_number), whole(milliseconds)
    if kind == KAFKA_TIME_TYPE:
        return put_kafka_number(c, of_type - 1, True)
    if of_type == 0:
        stamp = -1
    if not INT64_MIN / 1000 <= stamp <= INT64_MAX / 1000:
        raise OverflowError(f"{stamp} ms do not fit into 64 bits of microseconds")
    return put_kafka_number(c, stamp * 1000, False)


cdef int put_object(Column* c, object data) except -1:
    if not isinstance(data, bytes):
        if not isinstance(data, (bytearray, memoryview)):
            raise TypeError(f"expected bytes or None, got {type(data).__name__}")
        data = bytes(data)
    return put_bytes(c, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef int put_text(Column* c, object text) except -1:
    cdef Py_ssize_t size = 0
    cdef const char* data
    if not isinstance(text, str):
        raise TypeError(f"expected text, got {type(text).__name__}")
    data = PyUnicode_AsUTF8AndSize(text, &size)
    return put_bytes(c, <const uint8_t*>data, size)


cdef int put_headers(Column* c, object headers) except -1:
    """Append a list of (name, value); a null if there are none, as Spark does."""
    cdef Column* entry = c.children
    cdef int fault
    if not headers:
        return put_null(c)
    for name, value in headers:
        fault = put_text(&entry.children[0], name)
        if not fault:
            fault = put_null(&entry.children[1]) if value is None else put_object(&entry.children[1], value)
        if fault or not has_slot(entry):
            return fault or NO_MEMORY
        entry.length += 1
    if entry.length > INT32_MAX:
        return OVERFLOW
    if not has_slot(c):
        return NO_MEMORY
    end_slot(c, entry.length)
    return 0
