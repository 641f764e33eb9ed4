# Arrow columns of records, named as those of Spark's Kafka source.

cdef enum:                      # columns
    ROW                         # a struct of those up to HEADERS
    KEY
    MESSAGE_VALUE
    TOPIC
    PARTITION
    OFFSET
    TIMESTAMP
    TIMESTAMP_TYPE
    HEADERS
    HEADER                      # a struct of the two below
    HEADER_NAME
    HEADER_VALUE
    FIELDS

cdef enum:
    NO_TIMESTAMP = -1
    MOST_MILLIS = 9_223_372_036_854_775     # that fit into an int64 in microseconds

cdef enum Put:
    TAKEN
    FULL
    REFUSED                     # the cursor has the fault

# Format, name, storage, bytes of a slot, first child, count of children.
cdef tuple SHAPES = (
    (b"+s", b"", STRUCT, 0, KEY, HEADERS), (b"z", b"key", VARIABLE, 0, 0, 0), (b"z", b"value", VARIABLE, 0, 0, 0),
    (b"u", b"topic", VARIABLE, 0, 0, 0), (b"i", b"partition", FIXED_WIDTH, 4, 0, 0),
    (b"l", b"offset", FIXED_WIDTH, 8, 0, 0), (b"tsu:UTC", b"timestamp", FIXED_WIDTH, 8, 0, 0),
    (b"i", b"timestampType", FIXED_WIDTH, 4, 0, 0), (b"+l", b"headers", LIST, 0, HEADER, 1),
    (b"+s", b"item", STRUCT, 0, HEADER_NAME, 2), (b"u", b"key", VARIABLE, 0, 0, 0), (b"z", b"value", VARIABLE, 0, 0, 0),
)


cdef int take_alone(int* taken) except -1:
    """Refuse a second thread: it would move the place where the first one reads or writes."""
    if not sns_take(taken):
        raise RuntimeError("another thread reads these records, or fills these columns, at this moment")
    return 0


@cython.final
cdef class RecordColumns:
    """Builds Arrow columns of records, with the names and types of those of Spark's Kafka source.

    Args:
        topic: of all records; None if it is not known. So is ``partition``.
        rows: how many records a batch takes at most.
        size: how many bytes of records a batch takes at most; the first one is always taken.
    """

    cdef bytes topic            # None: not known; its bytes are in the span
    cdef Span topic_span
    cdef int32_t partition      # -1: not known
    cdef int64_t most_rows, most_size
    cdef int64_t rows, size     # so far; the size is that of records
    cdef int64_t[FIELDS] rooms  # bytes to begin with: a little more than the batch before took
    cdef Column* columns
    cdef int taken              # by a thread that appends or takes

    def __cinit__(self, topic, partition, *, int64_t rows, int64_t size):
        cdef int i
        self.topic = None if topic is None else topic.encode()
        span_of(self.topic, &self.topic_span)
        self.partition = -1 if partition is None else partition
        self.most_rows, self.most_size = rows, size
        for i in range(FIELDS):
            self.rooms[i] = 0
        self.begin()

    def __dealloc__(self):
        if self.columns is not NULL:
            free_columns(self.columns, FIELDS)

    def __len__(self):
        return self.rows

    def append(self, Message message not None, int kind):
        """Append a message, without its headers; False if the columns are full.

        Args:
            message: with its value as it was stored.
            kind: of the timestamp: -1 none, 0 CreateTime, 1 LogAppendTime.

        Raises:
            DecodeError: the timestamp has no microseconds in an int64.
            TypeError: key or value are no bytes.
        """
        take_alone(&self.taken)
        try:
            return self.append_alone(message, kind)
        finally:
            sns_leave(&self.taken)

    cdef bint append_alone(self, Message message, int kind) except -1:
        cdef Record r
        cdef Cursor c
        cdef Put done
        r.offset, r.timestamp, r.header_count = message.offset, message.timestamp, 0
        r.headers = r.start = r.end = NULL
        span_of(message.key, &r.key)
        span_of(message.value, &r.value)
        self.reserve(1)
        done = self.put(&r, max(r.key.size, 0) + max(r.value.size, 0), kind, &c)
        if done == REFUSED:
            if c.fault == OUT_OF_MEMORY:
                raise MemoryError()
            raise DecodeError(
                f"offset {message.offset}: " + RECORD_FAULTS[c.fault].format(limit=c.limit, got=c.got)
            )
        return done == TAKEN

    def take(self):
        """Return the columns as capsules (schema, array) of a struct, and begin the next batch."""
        take_alone(&self.taken)
        try:
            return self.take_all()
        finally:
            sns_leave(&self.taken)

    cdef tuple take_all(self):
        cdef object schema = sns_new_schema(), array = sns_new_array()
        cdef int i
        fill_schema(<ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema"), ROW)
        self.columns[ROW].length = self.rows
        for i in range(FIELDS):
            self.rooms[i] = self.columns[i].used + (self.columns[i].used >> 3)
        give_away(self.columns, <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array"), 0)
        free_columns(self.columns, FIELDS)
        self.columns = NULL
        self.begin()
        return schema, array

    cdef int begin(self) except -1:
        cdef Column* made = <Column*>calloc(FIELDS, sizeof(Column))
        cdef int i
        if made is NULL:
            raise MemoryError()
        for i in range(FIELDS):
            _, _, made[i].storage, made[i].width, first, made[i].count = SHAPES[i]
            made[i].children = &made[<int>first]
            made[i].nullable = True
            if self.rooms[i]:
                resize_bytes(&made[i], self.rooms[i])  # without the room, it grows
        if not begin_offsets(made, FIELDS):
            free_columns(made, FIELDS)
            raise MemoryError()
        self.columns, self.rows, self.size = made, 0, 0
        return 0

    cdef int reserve(self, int64_t more) except -1:
        """Make room for slots of so many rows, within the declared number."""
        cdef int64_t need = min(self.rows + min(more, self.most_rows), self.most_rows)
        cdef int i
        for i in range(KEY, HEADERS + 1):
            if need > self.columns[i].capacity and not resize(
                &self.columns[i], min(max(need, 2 * self.columns[i].capacity), self.most_rows)
            ):
                raise MemoryError()
        return 0

    cdef Put put(self, const Record* r, int64_t size, int kind, Cursor* c) noexcept nogil:
        """Append a record of so many bytes, for which room was reserved. The first one of a batch is always taken."""
        cdef int i
        if self.rows >= self.most_rows or (self.rows > 0 and self.size + size > self.most_size):
            return FULL
        if unlikely(r.timestamp > MOST_MILLIS or r.timestamp < -MOST_MILLIS):
            refuse(c, FAR_TIMESTAMP, r.start, 0, r.timestamp)
            return REFUSED
        if unlikely(not self.put_columns(r, kind, c)):
            for i in range(KEY, HEADERS + 1):
                truncate(&self.columns[i], self.rows)
            return REFUSED
        self.rows += 1
        self.size += size
        return TAKEN

    cdef inline bint put_columns(self, const Record* r, int kind, Cursor* c) noexcept nogil:
        cdef Column* columns = self.columns
        cdef int fault = put_span(&columns[KEY], &r.key) or put_span(&columns[MESSAGE_VALUE], &r.value)
        if fault == 0:
            fault = put_span(&columns[TOPIC], &self.topic_span)
        if fault == 0 and self.partition < 0:
            fault = put_null(&columns[PARTITION])
        elif fault == 0:
            put_int32(&columns[PARTITION], self.partition)
        if fault == 0 and r.timestamp == NO_TIMESTAMP:
            fault = put_null(&columns[TIMESTAMP])
        elif fault == 0:
            put_int64(&columns[TIMESTAMP], r.timestamp * 1000)
        if fault:
            return refuse(c, OUT_OF_MEMORY, r.start, 0, 0)
        put_int64(&columns[OFFSET], r.offset)
        put_int32(&columns[TIMESTAMP_TYPE], kind)
        if r.header_count and not self.put_headers(r, c):
            return False
        end_slot(&columns[HEADERS], columns[HEADER].length)
        return True

    cdef bint put_headers(self, const Record* r, Cursor* fault) noexcept nogil:
        """They have been checked, but a buffer may change meanwhile."""
        cdef Column* columns = self.columns
        cdef Cursor c
        cdef Span name, value
        c.position, c.end = r.headers, r.end
        for _ in range(r.header_count):
            if not take_header(&c, &name, &value):
                return refuse(fault, c.fault, c.place, c.limit, c.got)
            if not sns_is_utf8(name.data, name.size):
                return refuse(fault, NAME_NOT_UTF8, name.data, 0, 0)
            if put_span(&columns[HEADER_NAME], &name) or put_span(&columns[HEADER_VALUE], &value) or not has_slot(
                &columns[HEADER]
            ):
                return refuse(fault, OUT_OF_MEMORY, r.start, 0, 0)
            columns[HEADER].length += 1
        return True


cdef inline int put_span(Column* c, const Span* span) noexcept nogil:
    return put_bytes(c, span.data, span.size) if likely(span.size >= 0) else put_null(c)


cdef inline void put_int32(Column* c, int32_t number) noexcept nogil:
    (<int32_t*>c.data)[c.length] = number
    c.length += 1


cdef inline void put_int64(Column* c, int64_t number) noexcept nogil:
    (<int64_t*>c.data)[c.length] = number
    c.length += 1


cdef int span_of(object data, Span* out) except -1:
    """The bytes of an object, which has to stay alive."""
    cdef bytes given = data     # a TypeError for anything else
    out.data, out.size = NULL, -1
    if given is not None:
        out.data, out.size = <const uint8_t*>PyBytes_AS_STRING(given), PyBytes_GET_SIZE(given)
    return 0


cdef int fill_schema(ArrowSchema* out, int field) except -1:
    cdef int i, first, count
    format, name, _, _, first, count = SHAPES[field]
    if sns_fill_schema(out, format, name, 0 if field == ROW else ARROW_FLAG_NULLABLE, count) < 0:
        raise MemoryError()
    for i in range(count):
        fill_schema(out.children[i], first + i)
    return 0
