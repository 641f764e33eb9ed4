# Declares c_data.h for Cython, once for all modules: the structs of the Arrow C data interface.

from libc.stdint cimport int64_t, uint8_t

cdef extern from "arrow/c_data.h":
    const int64_t ARROW_FLAG_NULLABLE
    ctypedef struct ArrowSchema "struct ArrowSchema":
        const char* format
        const char* name
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept nogil
    ctypedef struct ArrowArray "struct ArrowArray":
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept nogil
    ctypedef struct ArrowArrayStream "struct ArrowArrayStream":
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*) noexcept nogil
    int sns_fill_schema(ArrowSchema*, const char*, const char*, int64_t, int64_t) noexcept nogil
    ctypedef struct sns_tree "struct sns_tree":
        const uint8_t* slab
        const uint8_t* slab_end
    sns_tree* sns_new_tree(int64_t, int64_t) noexcept nogil
    void sns_fill_array(ArrowArray*, sns_tree*, int64_t, int64_t, int64_t, int64_t) noexcept nogil
    object sns_new_schema()
    object sns_new_array()
    void sns_keep_freed_memory(size_t) noexcept nogil
    void* sns_new_block(size_t, size_t*) noexcept nogil
    void* sns_resized(void*, size_t) noexcept nogil
    void sns_free(void*) noexcept nogil
