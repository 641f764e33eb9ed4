# Decodes a batch of messages into columns, each row by the plan of its schema version. Rows with known versions are
# read in one loop without the GIL; an unknown version or a row that cannot be read leaves the loop.

cdef enum:
    ROUTES = 64                 # versions cached for the loop; a power of two
    PROBES = 4                  # routes in a row that a version may have; low bits of keys of several kinds coincide
    HEADERLESS = NO_VERSION     # the version of a message without a header
    MOST_UNKNOWN = 16           # ids that the second registry does not have, before bare Avro is tried first
    AMBIGUOUS = -2              # in counts, in place of the number of a plan

cdef enum Stop:                 # why the loop stopped
    DONE
    UNKNOWN                     # a version without a route
    FAILED                      # a row that cannot be read
    BARE                        # no route yet for a message that is read without a header first
    NEW_SIGN                    # a prefix whose key is not known yet

cdef struct Route:
    bint there
    int64_t version
    Op* root                    # NULL: rows of this version are read outside the loop
    int64_t offset              # of the datum in the message
    bint trailing               # extra bytes may follow the datum
    int64_t rows                # rows read by this route
    bint blocks                 # neighbours may be read as a block
    int number                  # of the attempt that it makes
    Op* own                     # with Confluent's prefix: skips a datum of this route's schema,
    Op* other                   # and one of the schema of messages without a header; or NULL
    int64_t ambiguous           # rows that both can read


def decode_batch(Layout layout not None, options, bint framed, schema, arrays, find, failed, error_column,
                 signs=None, keys=None, message_keys=None):
    """Decode the messages in ``arrays`` into a struct of the layout's columns, a row for each message.

    Returns (array capsule, {(version, index of the plan that read it, or the class of the error): rows}, bytes of all
    messages). Its schema is that of the layout, with the error column if there is one.

    ``options`` are validated codec options, by dotted key. Without ``framed``, messages have no header and count as
    version -1. ``schema`` is the capsule of the arrays' schema, of bytes; ``arrays`` yields the capsules of the arrays.
    With None as ``schema``, ``arrays`` yields Values.
    ``find(version)`` returns how to read messages of a version: (plan, offset, whole) tuples, tried in order, or an
    error for all of them. A first plan of None keeps the version out of the loop; ``whole`` forbids trailing bytes,
    whatever the options say.
    ``failed(version, errors, message)`` is called for a row that none of the plans could read; it returns more such
    tuples, or the error. With ``error_column``, a last column of that name holds the error texts; without it, the
    first error is raised. A row that is null, or cannot be read, is null in all columns.
    With ``signs`` (_reading/framings.py), messages with Confluent's framings are read too: ``find`` gets the key of
    their sign in place of a version. ``keys`` is a buffer with such a key as int64 for each row, from its header; 0
    where it has none. Rows that could be read both ways count under the index -2 too.
    ``message_keys``, for KEY_VALUE messages with the encoding SEPARATED: (schema capsule, array capsule) of an array of
    bytes with the key of each message, or (None, Values). A message that is null, but has a key, is read under
    version -1.
    """
    cdef int i
    cdef Batch batch = Batch(layout, options, framed, schema, find, failed, error_column)
    if signs is not None:
        batch.read_signs(signs, keys)
    if message_keys is not None:
        batch.read_message_keys(message_keys[0], message_keys[1])
    for array in arrays:
        batch.open(array)
        batch.read()
    if batch.paired and batch.done != batch.key_rows.length:
        raise other_number(batch.done, batch.key_rows.length)
    if batch.keyed and batch.done != batch.key_count:
        raise DecodeError(f"expected headers for {batch.done} messages, got headers for {batch.key_count}")
    for i in range(ROUTES):
        batch.count(&batch.routes[i])
    batch.count(&batch.bare_route)
    sns_add(&read_in_blocks, batch.in_blocks)
    return batch.exported(), batch.counts, batch.size + (batch.key_rows.size if batch.paired else 0)


def new_array():
    """Return a capsule of an array that is yet to be exported into it."""
    return sns_new_array()


cdef Py_ssize_t read_in_blocks = 0


def rows_in_blocks():
    """Return how many rows all calls have read in blocks: nothing else shows it, but how long a batch takes."""
    return read_in_blocks


def address_of(array not None):
    """Return where the struct is that the capsule of an array holds, as an int."""
    return <size_t>PyCapsule_GetPointer(array, "arrow_array")


@cython.final
cdef class Batch:
    """The state of one decode_batch call, which makes one batch of all arrays."""
    cdef Layout layout
    cdef bint framed, trailing
    cdef bint wrapped           # copied from the layout, since the loop runs without the GIL
    cdef int64_t empty, items
    cdef object find, failed
    cdef bytes error_name       # of the error column; None: errors are raised
    cdef int how                # layout of the arrays' bytes
    cdef int64_t width
    cdef BytesArray rows        # of the current array
    cdef int64_t done           # rows of the arrays before it
    cdef int64_t size           # bytes of all arrays so far
    cdef Column* columns
    cdef Reader r
    cdef Route[ROUTES] routes
    cdef dict known             # version -> result of find()
    cdef dict counts
    cdef list errors            # (row, text)
    cdef int64_t version        # of the row where the loop stopped
    cdef int64_t pool           # batch_slots_left before that row
    cdef bint signs             # messages with Confluent's framings are read too; the rest is for them
    cdef bint bare, prefix, prefix_second               # as in serdes/deserializer.pyx
    cdef SignTable prefixes     # of framings that are not Confluent's; only if there are some
    cdef bint foreign           # there are some
    cdef Py_buffer keys_view
    cdef bint keyed
    cdef const int64_t* keys    # if keyed: by row, 0 where its headers name no schema
    cdef int64_t key_count
    cdef Route bare_route       # of messages that show a sign, and are read without a header all the same
    cdef int unknown            # ids that the registry does not have
    cdef int64_t row            # of all arrays: the current one
    cdef Block block            # of the next rows
    cdef Budget[BLOCK_ROWS] left        # of each of its messages
    cdef int64_t in_blocks      # rows that were read in blocks
    cdef int refused            # how many of the last blocks could not be read as a whole
    cdef int64_t alone          # of all arrays: rows before this one are read one by one
    cdef bint absent            # it is null, but has a key
    cdef bint paired            # there are message keys
    cdef BytesArray key_rows
    cdef object key_array       # the capsule, kept alive
    cdef const uint8_t* half_start      # of a key where that is not within the message; else NULL

    def __cinit__(self, Layout layout, options, bint framed, schema, find, failed, error_column):
        self.layout, self.find, self.failed = layout, find, failed
        self.framed, self.wrapped, self.trailing = framed, layout.wrapped, options["ignore.trailing.bytes"]
        self.empty, self.items = options["max.empty.values"], options["max.items"]
        self.error_name = None if error_column is None else error_column.encode()
        self.known, self.counts, self.errors = {}, {}, []
        if schema is not None:
            format = format_of_bytes(<ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema"))
            self.how = how_bytes(format)
            self.width = width_of(format, b"w:") if self.how == FIXED_SLOTS else -1
        self.r.max_depth = options["max.depth"]
        self.r.batch_slots_left = self.items
        self.r.steps = <Step*>malloc((self.r.max_depth + 1 + MAX_LEVELS) * sizeof(Step))
        if self.r.steps is NULL:
            raise MemoryError()

    def __dealloc__(self):
        if self.columns is not NULL:
            free_columns(self.columns, self.layout.count)
        free(self.r.steps)
        free(self.r.places)
        if self.keyed:
            PyBuffer_Release(&self.keys_view)

    cdef int read_signs(self, object signs, object keys) except -1:
        self.signs, self.bare, self.prefix = True, signs.headerless, signs.prefix
        self.prefix_second, self.foreign = signs.prefix_second, signs.which
        self.prefixes = SignTable(signs.which, signs.prefix_key) if self.foreign else None
        if keys is not None:
            PyObject_GetBuffer(keys, &self.keys_view, PyBUF_SIMPLE)
            self.keyed = True
            self.keys, self.key_count = <const int64_t*>self.keys_view.buf, self.keys_view.len // sizeof(int64_t)
        return 0

    cdef int read_message_keys(self, object schema, object found) except -1:
        if schema is None:
            (<Values?>found).open(&self.key_rows)
        else:
            self.read_key_array(schema, found)
        self.paired, self.key_array = True, found
        return 0

    cdef int read_key_array(self, object schema, object capsule) except -1:
        cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
        cdef bytes format = format_of_bytes(<ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema"))
        cdef Span used
        used.first, used.count = 0, array.length
        fault = open_bytes(&self.key_rows, how_bytes(format), width_of(format, b"w:"), array, array.offset, used)
        if fault is not None:
            raise damaged_messages("keys", fault)
        return 0

    cdef int open(self, object given) except -1:
        """Open the next array. Columns are allocated for the rows of the first array, and grow for later ones."""
        if isinstance(given, Values):
            (<Values>given).open(&self.rows)
        else:
            self.open_array(<ArrowArray*>PyCapsule_GetPointer(given, "arrow_array"))
        self.size += self.rows.size
        if self.paired and self.done + self.rows.length > self.key_rows.length:
            raise other_number(self.done + self.rows.length, self.key_rows.length)
        if self.keyed and self.done + self.rows.length > self.key_count:
            raise DecodeError(f"expected headers for each message, got headers for {self.key_count} of them")
        return self.begin(self.rows.length, self.rows.size) if self.columns is NULL else 0

    cdef int open_array(self, ArrowArray* array) except -1:
        cdef Span used
        used.first, used.count = 0, array.length
        fault = open_bytes(&self.rows, self.how, self.width, array, array.offset, used)
        if fault is not None:
            raise damaged_messages("messages", fault)
        return 0

    cdef int begin(self, int64_t rows, int64_t size) except -1:
        self.columns = self.r.columns = new_columns(self.layout, rows, size)
        return 0

    cdef int read(self) except -1:
        """Decode the array that is open. It has to stay alive during the call."""
        cdef int64_t row = 0
        cdef int why = DONE
        while row < self.rows.length:
            with nogil:
                row = read_rows(self, row, &why)
            if self.r.fault == NO_MEMORY:
                raise MemoryError()
            if why == UNKNOWN:
                self.ask(self.version)
            elif why == BARE:
                self.direct(&self.bare_route, HEADERLESS)
            elif why == NEW_SIGN:
                self.learn(row)
            elif why == FAILED:
                self.rescue(row)
                row += 1
        self.done += self.rows.length
        return 0

    cdef int learn(self, int64_t row) except -1:
        """Find the key of the prefix that a row begins with."""
        cdef int64_t size = 0
        cdef const uint8_t* p = bytes_at(&self.rows, row, &size)
        self.prefixes.learn(p, prefix_size(p, size, self.prefixes.which))
        return 0

    cdef object ask(self, int64_t version):
        """Return the attempts for this version, and give the first of them to the loop as its route."""
        return self.direct(route_for(self, version), version)

    cdef object direct(self, Route* route, int64_t version):
        """Let ``route`` read messages of this version by the first of the attempts; return them all."""
        cdef tuple ways
        cdef Plan plan
        found = self.known.get(version)
        if found is None:
            found = self.known[version] = self.find(version)
            if prefix_of(version) and isinstance(found, tuple) and (<tuple>found)[0][0] is None:
                self.unknown += 1
        ways = found if isinstance(found, tuple) else ()
        self.count(route)
        route.there, route.version, route.blocks = True, version, False
        route.root, route.own, route.other = NULL, NULL, NULL
        # A message with a sign that names no schema is read without a header at once.
        route.number = version < NO_FRAMING and len(ways) > 1 and ways[0][0] is None
        if ways and ways[route.number][0] is not None:
            plan = ways[route.number][0]
            route.root = plan.ops + plan.root
            route.offset = ways[route.number][1]
            route.trailing = self.trailing and not ways[route.number][2]
            if prefix_of(version) and len(ways) > 1 and route.number == 0:
                route.own, route.other = skipper(plan), skipper(<Plan?>ways[1][0])
            route.blocks = (route.root.kind == READ_RECORD and route.root.in_blocks and route.root.null_index < 0
                            and route.other is NULL and not self.wrapped)
        return found

    cdef int count(self, Route* route) except -1:
        if route.rows:
            self.note(route.version, route.number, route.rows)
            route.rows = 0
        if route.ambiguous:
            self.note(route.version, AMBIGUOUS, route.ambiguous)
            route.ambiguous = 0
        return 0

    cdef int note(self, int64_t version, object way, int64_t rows) except -1:
        self.counts[version, way] = self.counts.get((version, way), 0) + rows
        return 0

    cdef int rescue(self, int64_t row) except -1:
        """Try the other plans for a row that the first route could not read."""
        cdef int64_t size = 0, version = self.version
        cdef const uint8_t* start = &NO_MESSAGE
        if not self.absent:
            start = bytes_at(&self.rows, row, &size)
        found = self.known[version]
        if not isinstance(found, tuple):
            return self.refuse(row, copy(found))
        errors = []
        if found[0][0] is not None:
            errors.append(self.error(<Plan>found[0][0], start, row))
        if self.reads_one_of(row, found[1:], 1, start, size, errors):
            return 0
        again = self.failed(version, errors, (<char*>start)[:size])
        if not isinstance(again, tuple):
            return self.refuse(row, again)
        self.known[version] = again
        self.ask(version)
        errors = []
        if not self.reads_one_of(row, again, 0, start, size, errors):
            again = self.failed(version, errors, (<char*>start)[:size])
            if isinstance(again, tuple):    # the topic's schemas have changed once more
                again = errors[len(errors) - 1] if errors else DecodeError("the schemas changed while it was read")
            self.refuse(row, again)
        return 0

    cdef bint reads_one_of(self, int64_t row, tuple ways, int number, const uint8_t* start, int64_t size,
                           list errors) except -1:
        """Try the plans in order, and return whether one could read the row. ``number`` is the index of the first."""
        for plan, offset, whole in ways:
            if plan is not None and self.reads(row, <Plan?>plan, start, size, offset, self.trailing and not whole,
                                               errors):
                self.note(self.version, number, 1)
                return True
            number += 1
        return False

    cdef bint reads(self, int64_t row, Plan plan, const uint8_t* start, int64_t size, int64_t offset, bint trailing,
                    list errors) except -1:
        """Return whether ``plan`` can read the row; if not, add the reason to ``errors``."""
        cdef bint done
        set_bytes(self, start + offset, start + size)
        with nogil:
            done = read_row(self, plan.ops + plan.root, &trailing)
        if not done:
            errors.append(self.error(plan, start, row))
        return done

    cdef object error(self, Plan plan, const uint8_t* start, int64_t row):
        """Return the row's fault as an error, and remove the row's slots."""
        cdef int fault = self.r.fault
        row += self.done
        if fault == NO_MEMORY:
            raise MemoryError()
        if row > 0 and (fault == OVERFLOW or fault == TOO_MANY_SLOTS and self.fits_alone()):
            raise batch_too_large(BATCH_FAULTS[fault], row, path_of(plan, self.r.steps, self.r.depth))
        error = decode_error(plan, &self.r, start if self.half_start is NULL else self.half_start)
        self.half_start = NULL
        truncate(self.columns, row)
        self.r.batch_slots_left = self.pool
        return error

    cdef bint fits_alone(self) noexcept:
        """Whether the row would fit within the slot limit of a batch of its own."""
        return self.pool - self.r.batch_slots_left - self.r.slots_left <= self.items

    cdef int refuse(self, int64_t row, object error) except -1:
        self.note(self.version, type(error).__qualname__, 1)
        if self.error_name is None:
            error.row = self.done + row
            raise error
        self.errors.append((self.done + row, str(error)))
        if put_null(self.columns):
            raise MemoryError()
        return 0

    # Export

    cdef object exported(self):
        """Return the capsule of the array."""
        cdef object capsule = sns_new_array()
        cdef ArrowArray* out = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
        cdef bint extra = self.error_name is not None, done
        if self.columns is NULL:
            self.begin(0, 0)
        with nogil:
            done = spread_structs(self.columns)
        if not done:
            raise MemoryError()
        # A null row is null in all columns, since a record batch has no null bitmap of its own.
        drop(self.columns, self.columns.valid)
        self.columns.valid, self.columns.nulls = NULL, 0
        give_away(self.columns, out, extra)
        if extra:
            self.export_errors(out.children[out.n_children - 1])
        return capsule

    cdef int export_errors(self, ArrowArray* out) except -1:
        cdef Column* c = <Column*>calloc(1, sizeof(Column))
        cdef bytes text
        cdef int fault = 0
        if c is NULL:
            raise MemoryError()
        try:
            c.storage, c.nullable = VARIABLE, True
            if not resize(c, self.done) or not resize_bytes(c, 0):
                raise MemoryError()
            memset(c.offsets, 0, 4)
            for row, said in self.errors:
                text = said.encode("utf-8", "replace")
                fault |= put_nulls(c, row) | put_bytes(c, <const uint8_t*>PyBytes_AS_STRING(text), len(text))
            if fault | put_nulls(c, self.done):
                raise MemoryError()
            give_away(c, out, 0)
        finally:
            free_columns(c, 1)
        return 0


cdef uint8_t NO_MESSAGE = 0


cdef object damaged_messages(str what, str fault):
    return DecodeError(f"the Arrow array of {what} is damaged: {fault}",
                       hint="pyarrow's array.validate(full=True) may give details")


cdef object other_number(int64_t messages, int64_t keys):
    return DecodeError(f"expected a key or null for each message, got {keys} keys for {messages} messages")


cdef bytes format_of_bytes(ArrowSchema* schema):
    """Return the layout of arrays of bytes or text. Raises TypeError for other types."""
    if schema.release is NULL or schema.format is NULL:
        raise TypeError("expected an Arrow array of bytes or text, got one that another reader has already consumed")
    if how_bytes(schema.format) < 0 or schema.dictionary is not NULL:
        name = type_name(schema.format) if schema.dictionary is NULL else "dictionary"
        hint = {"struct": " (hint: pass only the column of messages)",
                "dictionary": " (hint: cast it to binary)"}.get(name, "")
        raise TypeError(f"expected an Arrow array of bytes or text, got an array of {name}{hint}")
    return schema.format


cdef int put_nulls(Column* c, int64_t length) noexcept nogil:
    """Append nulls up to ``length`` slots. Returns 0 or the fault."""
    cdef int fault = 0
    while c.length < length and not fault:
        fault = put_null(c)
    return fault
