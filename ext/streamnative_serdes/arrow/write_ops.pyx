# The ops of a write plan, a table compiled once: their kinds, and the columns that they load.

cdef enum WriteKind:
    WRITE_NULL
    WRITE_BOOLEAN
    WRITE_INT                   # from a column of exactly this type, without a range check; same for WRITE_LONG
    WRITE_LONG
    WRITE_WHOLE                 # an integer or a time, from a column of any such type
    WRITE_DOUBLE
    WRITE_FLOAT
    WRITE_TEXT
    WRITE_BYTES
    WRITE_FIXED
    WRITE_ENUM
    WRITE_UUID_TEXT
    WRITE_UUID_FIXED
    WRITE_DECIMAL
    WRITE_CONSTANT              # the default of a field without a column
    WRITE_RECORD
    WRITE_MEMBERS               # a union, from a struct with one non-null child
    WRITE_INDEXED               # a dictionary index, whose value is written
    WRITE_ARRAY
    WRITE_MAP
    WRITE_EITHER                # an integer, as the first of two branches that can hold it
    WRITE_BIG_DECIMAL
    WRITE_PLAIN                 # one of Pulsar's primitive types
    WRITE_INLINE                # a KEY_VALUE message whose key is in the value

cdef enum:
    NO_BYTES = -2
    LAST_IN_BLOCKS = WRITE_MAP      # kinds up to here have a loop of their own (write_blocks.pyx)

cdef struct WriteOp:
    int kind
    int number                  # in the plan's table
    int source                  # the column
    int load
    int null_branch             # branch index for nulls; -1: a null is an error; NO_BYTES: the type itself is null
    int branch                  # branch index for other values; -1: not a union
    int count
    WriteOp** parts
    bint in_blocks              # there is a loop for it
    bint bare                   # a value of known size, without a branch
    int64_t room                # most bytes that it takes in a block, with its branch; 0: of any size
    int64_t items_room          # WRITE_ARRAY, _MAP: the same for an item
    int64_t times, by           # WRITE_WHOLE: number in Avro's unit = number in the column's * times / by, rounded down
    int64_t most                # WRITE_WHOLE, times above 1: the largest number that can be multiplied
    int64_t grain, exact_by     # WRITE_WHOLE, times 0: number / exact_by; it has to be a multiple of the grain
    int64_t low, high           # WRITE_WHOLE: valid range, both included
    int out                     # WRITE_PLAIN: a PlainKind
    Py_ssize_t size             # WRITE_FIXED, _DECIMAL, _UUID, _PLAIN: bytes, or -1; WRITE_CONSTANT: of text
    int precision
    int shift                   # WRITE_DECIMAL: Avro's scale minus the column's
    const uint8_t* text         # WRITE_CONSTANT
    Symbol* symbols             # WRITE_ENUM
    int32_t* table              # WRITE_ENUM: hash table of symbol indexes; -1: free
    uint32_t mask               # size of the table - 1

cdef struct WriteStep:          # an open container
    WriteOp* op
    int64_t index
    const uint8_t* key
    int64_t key_size            # -1 before the first
