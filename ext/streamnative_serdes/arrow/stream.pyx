# Reads Arrow data in several arrays through the C stream interface.

@cython.final
cdef class Stream:
    """An iterator over the arrays of ``capsule``, an Arrow stream. Yields their capsules; can be iterated only once.

    Raises SerdesError, here and during iteration, if the stream was already read or its producer fails.
    """
    cdef object capsule
    cdef readonly object schema     # capsule of the arrays' schema
    cdef int taken                  # by a thread that waits for the producer

    def __cinit__(self, capsule):
        cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        cdef ArrowSchema* schema
        cdef int code
        if stream.release is NULL:
            raise SerdesError("the Arrow stream has already been read")
        self.capsule, self.schema = capsule, sns_new_schema()
        schema = <ArrowSchema*>PyCapsule_GetPointer(self.schema, "arrow_schema")
        with nogil:
            code = stream.get_schema(stream, schema)
        if code:
            raise self.error(stream, code)

    def __iter__(self):
        return self

    def __next__(self):
        cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(self.capsule, "arrow_array_stream")
        cdef object capsule = sns_new_array()
        cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
        cdef int code
        if not sns_take(&self.taken):
            raise SerdesError("another thread reads the Arrow stream at this moment")
        with nogil:                     # the producer may need the GIL in another thread
            code = stream.get_next(stream, array)
        sns_leave(&self.taken)
        if code:
            raise self.error(stream, code)
        if array.release is NULL:
            raise StopIteration
        return capsule

    cdef object error(self, ArrowArrayStream* stream, int code):
        cdef const char* text = stream.get_last_error(stream)
        said = f"error {code}" if text is NULL else (<bytes>text).decode("utf-8", "replace")
        return SerdesError(f"the Arrow stream failed: {said}"[:1000])
