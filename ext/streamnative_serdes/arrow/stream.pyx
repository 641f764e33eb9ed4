# Arrow data that comes in several arrays, one after the other: the C stream interface.

@cython.final
cdef class Stream:
    """The arrays of ``capsule``, an Arrow stream: iterating gives the capsules of one after the other, once.

    Raises SerdesError, here and while iterating, for a stream that was read already, and for what its producer says.
    """
    cdef object capsule
    cdef readonly object schema     # the arrays', as a capsule

    def __cinit__(self, capsule):
        cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        cdef ArrowSchema* schema
        cdef int code
        if stream.release is NULL:
            raise SerdesError("the Arrow stream was read already")
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
        with nogil:                     # whoever makes the array may need the interpreter for it, in another thread
            code = stream.get_next(stream, array)
        if code:
            raise self.error(stream, code)
        if array.release is NULL:
            raise StopIteration
        return capsule

    cdef object error(self, ArrowArrayStream* stream, int code):
        cdef const char* text = stream.get_last_error(stream)
        said = f"error {code}" if text is NULL else (<bytes>text).decode("utf-8", "replace")
        return SerdesError(f"the Arrow stream failed: {said}"[:1000])
