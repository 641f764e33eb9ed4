# One record of a batch (format 2), checked as a whole before anything is made of it; an end pointer bounds every read.
#
#     length varint | attributes int8 | timestamp delta varlong | offset delta varint | key: length varint, bytes |
#     value: length varint, bytes | count of headers varint | headers: name and value, each as the key
#
# Source: https://kafka.apache.org/documentation/#record

cdef enum:
    SMALLEST = 7                # bytes of a record
    MOST_HEADERS = 100_000      # of a record: each of two bytes takes a hundred and more as an object

cdef enum RecordFault:
    FINE
    NO_NUMBER
    LONG_NUMBER
    LARGE_NUMBER
    BAD_RECORD
    NO_ATTRIBUTES
    BAD_DELTA
    BAD_KEY
    BAD_VALUE
    BAD_COUNT
    BAD_NAME
    NULL_NAME
    BAD_HEADER
    LONG_RECORD
    MORE_RECORDS
    FAR_TIMESTAMP
    NAME_NOT_UTF8
    OUT_OF_MEMORY

# Fault -> message; ``limit`` and ``got`` are the numbers recorded with it.
RECORD_FAULTS = {
    NO_NUMBER: "expected a number, got the end",
    LONG_NUMBER: "expected a number of at most {limit} bytes, got a longer one",
    LARGE_NUMBER: "expected an int32, got a larger number",
    BAD_RECORD: "expected a record's length from 0 to {limit}, got {got}",
    NO_ATTRIBUTES: "expected a record's attributes, got its end",
    BAD_DELTA: "expected an offset delta from 0 to {limit}, got {got}",
    BAD_KEY: "expected a key of -1 to {limit} bytes, got the length {got}",
    BAD_VALUE: "expected a value of -1 to {limit} bytes, got the length {got}",
    BAD_COUNT: "expected a count of headers from 0 to {limit}, got {got}",
    BAD_NAME: "expected a header's name of -1 to {limit} bytes, got the length {got}",
    NULL_NAME: "expected a header's name, got null",
    BAD_HEADER: "expected a header's value of -1 to {limit} bytes, got the length {got}",
    LONG_RECORD: "expected the end of the record, got {got} more bytes",
    MORE_RECORDS: "expected the end after {limit} records, got {got} more bytes",
    FAR_TIMESTAMP: "expected a timestamp that fits into 64 bits in microseconds, got {got} milliseconds",
    NAME_NOT_UTF8: "expected a header's name in UTF-8, as Arrow's text has to be, got other bytes",
}

cdef struct Span:
    const uint8_t* data
    int64_t size                # -1: null

cdef struct Numbering:          # what a batch says about all of its records
    int64_t base_offset, last_delta, base_timestamp, append_time
    bint appended

cdef struct Record:
    int64_t offset, timestamp
    Span key, value
    const uint8_t* headers      # the first one, after their count
    int64_t header_count
    const uint8_t* start        # of all
    const uint8_t* end

cdef struct Cursor:
    const uint8_t* position
    const uint8_t* end          # of what is being read
    int fault
    const uint8_t* place        # of the fault
    int64_t limit, got


cdef bint refuse(Cursor* c, int fault, const uint8_t* place, int64_t limit, int64_t got) noexcept nogil:
    """Record a fault; always False."""
    c.fault, c.place, c.limit, c.got = fault, place, limit, got
    return False


cdef bint take_record(Cursor* c, const Numbering* batch, Record* r) noexcept nogil:
    """Read the record at the position, which must end by ``c.end``."""
    cdef const uint8_t* start = c.position
    cdef const uint8_t* batch_end = c.end
    cdef int64_t length = 0
    cdef bint whole
    if not take_short(c, &length):
        return False
    if unlikely(length < 0 or length > c.end - c.position):
        return refuse(c, BAD_RECORD, start, c.end - c.position, length)
    c.end = c.position + length
    r.start, r.end = start, c.end
    whole = take_numbers(c, batch, r) and take_data(c, r)
    c.end = batch_end
    return whole


cdef inline bint take_numbers(Cursor* c, const Numbering* batch, Record* r) noexcept nogil:
    cdef const uint8_t* start
    cdef uint64_t raw = 0
    cdef int64_t delta = 0
    if unlikely(c.position == c.end):
        return refuse(c, NO_ATTRIBUTES, c.position, 0, 0)
    c.position += 1             # attributes: none are defined
    if not take_varint(c, 10, &raw):
        return False
    r.timestamp = batch.append_time if batch.appended else wrapped(batch.base_timestamp, sns_unzigzag(raw))
    start = c.position
    if not take_short(c, &delta):
        return False
    if unlikely(delta < 0 or delta > batch.last_delta):
        return refuse(c, BAD_DELTA, start, batch.last_delta, delta)
    r.offset = wrapped(batch.base_offset, delta)
    return True


cdef inline bint take_data(Cursor* c, Record* r) noexcept nogil:
    cdef const uint8_t* start
    cdef int64_t most
    cdef Span name, value
    if not (take_span(c, &r.key, BAD_KEY) and take_span(c, &r.value, BAD_VALUE)):
        return False
    start = c.position
    if not take_short(c, &r.header_count):
        return False
    r.headers = c.position
    if unlikely(r.header_count):
        most = min((c.end - c.position) // 2, <int64_t>MOST_HEADERS)
        if r.header_count < 0 or r.header_count > most:
            return refuse(c, BAD_COUNT, start, most, r.header_count)
        for _ in range(r.header_count):
            if not take_header(c, &name, &value):
                return False
    if unlikely(c.position != c.end):
        return refuse(c, LONG_RECORD, c.position, 0, c.end - c.position)
    return True


cdef bint take_header(Cursor* c, Span* name, Span* value) noexcept nogil:
    if not take_span(c, name, BAD_NAME):
        return False
    if name.size < 0:
        return refuse(c, NULL_NAME, c.position, 0, 0)
    return take_span(c, value, BAD_HEADER)


cdef inline bint take_span(Cursor* c, Span* out, int fault) noexcept nogil:
    """Read a length, and the bytes after it."""
    cdef const uint8_t* start = c.position
    if not take_short(c, &out.size):
        return False
    if unlikely(out.size < -1 or out.size > c.end - c.position):
        return refuse(c, fault, start, c.end - c.position, out.size)
    out.data = c.position
    if likely(out.size > 0):
        c.position += out.size
    return True


cdef inline bint take_short(Cursor* c, int64_t* number) noexcept nogil:
    cdef uint64_t raw = 0
    # One byte holds most lengths and deltas.
    if likely(c.position < c.end and c.position[0] < 0x80):
        raw = c.position[0]
        c.position += 1
    elif not take_varint(c, 5, &raw):
        return False
    elif raw > <uint64_t>0xFFFFFFFF:
        return refuse(c, LARGE_NUMBER, c.position, 0, 0)
    number[0] = sns_unzigzag(raw)
    return True


cdef bint take_varint(Cursor* c, int most, uint64_t* number) noexcept nogil:
    cdef int read = read_varint(&c.position, c.end, most, number)
    if unlikely(read <= 0):
        return refuse(c, NO_NUMBER if read == 0 else LONG_NUMBER, c.position, most, 0)
    return True


cdef inline int64_t wrapped(int64_t base, int64_t delta) noexcept nogil:
    return <int64_t>(<uint64_t>base + <uint64_t>delta)  # as Java adds


cdef inline int read_varint(const uint8_t** position, const uint8_t* end, int most, uint64_t* number) noexcept nogil:
    """Bytes read; 0 at the end of the data, -1 if the number is longer than ``most`` bytes or than 64 bits."""
    cdef const uint8_t* place = position[0]
    cdef uint64_t raw = 0
    cdef int i
    for i in range(most):
        if place >= end:
            return 0
        if i == 9 and place[0] > 1:
            return -1
        raw |= <uint64_t>(place[0] & 0x7F) << (7 * i)
        if place[0] < 0x80:
            position[0], number[0] = place + 1, raw
            return i + 1
        place += 1
    return -1
