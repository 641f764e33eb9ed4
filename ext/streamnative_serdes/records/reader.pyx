# The records of a batch, one after the other, as messages or appended to columns.


@cython.final
cdef class RecordReader:
    """The records of a batch, one by one; each becomes an object only when it is asked for.

    Args:
        data: the records, decompressed.
        count: of the records, as the batch says.
        base_offset: offset of the first record.
        last_delta: the largest offset delta that the batch allows.
        base_timestamp: milliseconds, to which each record adds its own.
        append_time: milliseconds: the timestamp of every record (LogAppendTime).
        producer_id: for every message; so is ``transactional``.
        schema_header: whether a schema version header is taken off the values.
    """

    cdef Py_buffer view
    cdef bint held, transactional, schema_header
    cdef const uint8_t* start
    cdef Cursor cursor
    cdef Numbering batch
    cdef int64_t count, number, producer_id
    cdef Record record          # the last one
    cdef bint pending           # it has no place in columns yet
    cdef int taken              # by a thread that reads

    def __cinit__(
        self, data, *, int64_t count, int64_t base_offset, int64_t last_delta, int64_t base_timestamp,
        append_time=None, int64_t producer_id=-1, bint transactional=False, bint schema_header=True,
    ):
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.start = self.cursor.position = <const uint8_t*>self.view.buf
        self.cursor.end = self.start + self.view.len
        self.count = count
        self.number = 0
        self.batch.base_offset, self.batch.last_delta = base_offset, last_delta
        self.batch.base_timestamp = base_timestamp
        self.batch.appended = append_time is not None
        self.batch.append_time = append_time if self.batch.appended else 0
        self.producer_id, self.transactional, self.schema_header = producer_id, transactional, schema_header
        if count < 0 or count > self.view.len // SMALLEST:
            raise DecodeError(
                f"expected at most {self.view.len // SMALLEST} records in {self.view.len} bytes, got the count {count}"
            )

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    def __iter__(self):
        return self

    def __next__(self):
        take_alone(&self.taken)
        try:
            if self.number >= self.count:
                self.require_end()
                raise StopIteration
            if not take_record(&self.cursor, &self.batch, &self.record):
                self.fail()
            self.number += 1
            return self.message()
        finally:
            sns_leave(&self.taken)

    def fill(self, RecordColumns columns not None):
        """Append the remaining records to columns; False if the columns are full before the last one.

        Raises:
            DecodeError: a record is damaged, or has what columns cannot hold. Those before it are in the columns.
        """
        take_alone(&self.taken)
        try:
            take_alone(&columns.taken)
            try:
                return self.fill_alone(columns)
            finally:
                sns_leave(&columns.taken)
        finally:
            sns_leave(&self.taken)

    cdef bint fill_alone(self, RecordColumns columns) except -1:
        cdef Put done = TAKEN
        columns.reserve(self.count - self.number)
        with nogil:
            while self.number < self.count:
                if not self.pending and not take_record(&self.cursor, &self.batch, &self.record):
                    done = REFUSED
                    break
                done = columns.put(&self.record, self.record.end - self.record.start, self.batch.appended, &self.cursor)
                self.pending = done == FULL
                if done != TAKEN:
                    break
                self.number += 1
        if done == FULL:
            return False
        if done == REFUSED:
            self.fail()
        self.require_end()
        return True

    cdef Message message(self):
        cdef Record* record = &self.record
        cdef Message message = Message.__new__(Message)
        cdef const uint8_t* value = record.value.data
        cdef int64_t size = record.value.size, version = NO_VERSION
        message.timestamp, message.offset = record.timestamp, record.offset
        message.key = bytes_or_none(record.key.data, record.key.size)
        if self.schema_header and size > 0:
            version = version_of(value, size)
            if version != NO_VERSION:
                value, size = value + HEADER_SIZE, size - HEADER_SIZE
        message.value, message.version = bytes_or_none(value, size), version
        message.headers = () if record.header_count == 0 else headers_of(record)
        message.producer_id, message.transactional = self.producer_id, self.transactional
        return message

    cdef int require_end(self) except -1:
        if self.cursor.position < self.cursor.end:
            refuse(&self.cursor, MORE_RECORDS, self.cursor.position, self.count, self.cursor.end - self.cursor.position)
            self.fail()
        return 0

    cdef int fail(self) except -1:
        """Raise the recorded fault; the bytes after a damaged record mean nothing."""
        cdef int fault = self.cursor.fault
        self.count, self.cursor.position, self.pending = self.number, self.cursor.end, False
        if fault == OUT_OF_MEMORY:
            raise MemoryError()
        raise DecodeError(
            f"record {self.number}: " + RECORD_FAULTS[fault].format(limit=self.cursor.limit, got=self.cursor.got),
            offset=self.cursor.place - self.start,
            hint="read_segment returns it as an object" if fault == FAR_TIMESTAMP or fault == NAME_NOT_UTF8 else None,
        )


cdef object bytes_or_none(const uint8_t* data, int64_t size):
    return None if size < 0 else PyBytes_FromStringAndSize(<const char*>data, size)


cdef tuple headers_of(Record* record):
    """The headers of a record that has been checked."""
    cdef Cursor c
    cdef Span name, value
    cdef list found = []
    c.position, c.end = record.headers, record.end
    for _ in range(record.header_count):
        if not take_header(&c, &name, &value):
            raise DecodeError("the bytes of the batch have changed while it was read")
        found.append((
            PyUnicode_DecodeUTF8(<const char*>name.data, name.size, "surrogateescape"),
            bytes_or_none(value.data, value.size),
        ))
    return tuple(found)
