# A plan as a table of ops: they refer to each other by number while the plan is compiled, and by pointers once it is
# complete. Errors find the name of an op's type, and the path of open containers, by the op's number.

ctypedef fused AnyOp:
    Op
    WriteOp

ctypedef fused AnyStep:
    Step
    WriteStep


cdef class OpTable:
    """Facts about the ops of a plan, by number, besides the ops themselves."""
    cdef int count, room
    cdef list parts             # numbers of its parts
    cdef list labels            # name of its type in errors
    cdef list notes             # field names, symbols, or why it cannot be read
    cdef list kept              # objects that ops point into, kept alive

    def __cinit__(self, *args, **kwargs):
        self.parts, self.labels, self.notes, self.kept = [], [], [], []

    cdef int enter(self, str label, list parts, object note) except -1:
        """Return the number of a new op."""
        self.parts.append(parts or [])
        self.labels.append(clipped_label(label))
        self.notes.append(note)
        self.count += 1
        return self.count - 1

    cdef int fill_symbols(self, Symbol** out, object symbols) except -1:
        """Set the texts of an op's enum symbols, where None stands for none. The op owns the memory."""
        cdef int i
        out[0] = <Symbol*>PyMem_Calloc(max(len(symbols), 1), sizeof(Symbol))
        if out[0] is NULL:
            raise MemoryError()
        for i, symbol in enumerate(symbols):
            text = b"" if symbol is None else symbol_text(symbol)
            padded = text + bytes(SNS_SHORT)    # so that 32 bytes can be read
            self.kept.append(padded)
            out[0][i].text = <const uint8_t*>PyBytes_AS_STRING(padded)
            out[0][i].size = -1 if symbol is None else PyBytes_GET_SIZE(text)
        return 0


cdef bytes symbol_text(object symbol):
    try:
        return symbol.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{symbol!r:.80} cannot be stored in Arrow: it is not valid UTF-8") from None


cdef AnyOp* with_room(AnyOp* ops, OpTable table) except NULL:
    """Return ``ops`` with room for one more. Invalidates pointers to ops."""
    cdef int room = table.room if table.count < table.room else 2 * table.room + 16
    cdef AnyOp* made = ops
    if room > table.room:
        made = <AnyOp*>PyMem_Realloc(ops, room * sizeof(AnyOp))
        if made is NULL:
            raise MemoryError()
        table.room = room
    memset(&made[table.count], 0, sizeof(AnyOp))
    made[table.count].number = table.count
    return made


cdef AnyOp** link(AnyOp* ops, OpTable table) except NULL:
    """Replace the numbers of parts by pointers. Returns the memory that they are in, which the caller frees."""
    cdef int i, at = 0, total = sum(map(len, table.parts))
    cdef AnyOp** edges = <AnyOp**>PyMem_Malloc(max(total, 1) * sizeof(AnyOp*))
    if edges is NULL:
        raise MemoryError()
    for i in range(table.count):
        ops[i].parts, ops[i].count = &edges[at], <int>len(table.parts[i])
        for part in table.parts[i]:
            edges[at] = &ops[<int>part]
            at += 1
    return edges


cdef str path_of(OpTable table, const AnyStep* steps, int depth):
    """Return the path of the field where an error occurred."""
    cdef list segments = []
    cdef const AnyStep* step
    cdef int i
    for i in range(depth):
        step = &steps[i]
        if table.labels[step.op.number] == "map":
            if step.key_size >= 0:
                segments.append(key_segment((<char*>step.key)[:step.key_size].decode("utf-8", "replace")))
        elif step.index >= 0:
            names = table.notes[step.op.number]
            segments.append(item_segment(step.index) if names is None else field_segment(names[step.index]))
    return joined(segments)
