# cython: language_level=3, boundscheck=False, wraparound=False, binding=True
"""Packs and reads the schema version header in front of a message (SNIP 42), and recognizes Confluent's framing."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from streamnative_serdes.errors import EncodeError


def pack(version):
    """Return the 10-byte header for schema ``version``. Raises EncodeError outside 0 to 2**63 - 1."""
    cdef uint8_t header[HEADER_SIZE]
    cdef int64_t number
    cdef int i
    if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version < 2 ** 63:
        raise EncodeError(f"expected a schema version from 0 to 2**63 - 1, got {version!r:.80}")
    number = version
    header[0], header[1] = 3, 4
    for i in range(8):
        header[2 + i] = <uint8_t>(number >> (56 - 8 * i))
    return PyBytes_FromStringAndSize(<char*>header, HEADER_SIZE)


def read(data):
    """Return the schema version in the header of ``data``, or None if it has no header."""
    cdef Py_buffer view
    cdef int64_t version
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    version = version_of(<uint8_t*>view.buf, view.len)
    PyBuffer_Release(&view)
    return None if version == NO_VERSION else version


def confluent_id(data):
    """Return the schema id if ``data`` may have Confluent's framing (0x00, int32 BE), or None.

    A guess: Avro without a header may begin with a zero byte too.
    """
    cdef Py_buffer view
    cdef int64_t number
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    number = confluent_id_of(<uint8_t*>view.buf, view.len)
    PyBuffer_Release(&view)
    return None if number == NO_VERSION else number


def foreign_prefix(data, int which):
    """Return the prefix of another vendor's framing that ``data`` begins with, or None.

    ``which`` are the framings that count, as bits: see ``Framings`` in _header.pxd.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    cdef int size = prefix_size(<uint8_t*>view.buf, view.len, which)
    found = PyBytes_FromStringAndSize(<char*>view.buf, size) if size else None
    PyBuffer_Release(&view)
    return found


cdef class SignTable:

    def __cinit__(self, int which, prefix_key):
        self.which, self.prefix_key = which, prefix_key
        self.signs = <Sign*>calloc(SIGN_SLOTS, sizeof(Sign))
        if self.signs is NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.signs)

    cdef int64_t learn(self, const uint8_t* p, int size) except 0:
        """Return the key of a prefix, and remember it."""
        cdef Sign* sign = slot_of(self, p, size)
        cdef int64_t key = self.prefix_key(PyBytes_FromStringAndSize(<char*>p, size))
        memcpy(sign.prefix, p, size)
        sign.key, sign.size = key, size
        return key
