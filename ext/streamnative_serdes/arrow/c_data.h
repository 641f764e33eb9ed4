/* The Arrow C data interface: its structs, allocated with malloc and exported as capsules; no Arrow library is needed.
 *
 * Source: https://arrow.apache.org/docs/format/CDataInterface.html, and its PyCapsule protocol. A consumer moves the
 * struct out of the capsule and sets `release` to NULL; a capsule that still owns its struct releases it when freed.
 */
#ifndef STREAMNATIVE_SERDES_C_DATA_H
#define STREAMNATIVE_SERDES_C_DATA_H

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* --- schemas ------------------------------------------------------------------------------------------------------ */

static void sns_release_schema(struct ArrowSchema *schema) {
    int64_t i;
    for (i = 0; i < schema->n_children; i++) {
        if (schema->children[i] == NULL) continue;
        if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    free(schema->private_data);
    schema->release = NULL;
}

/* Create a schema whose children the caller fills in; -1 if out of memory, and then it can be released. */
static int sns_fill_schema(struct ArrowSchema *out, const char *format, const char *name, int64_t flags, int64_t count) {
    size_t format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    char *text = (char *)malloc(format_size + name_size);
    memset(out, 0, sizeof(*out));
    out->release = sns_release_schema;
    out->private_data = text;
    out->flags = flags;
    if (text == NULL) return -1;
    out->format = (const char *)memcpy(text, format, format_size);
    out->name = (const char *)memcpy(text + format_size, name, name_size);
    if (count == 0) return 0;
    out->children = (struct ArrowSchema **)calloc((size_t)count, sizeof(*out->children));
    if (out->children == NULL) return -1;
    for (; out->n_children < count; out->n_children++) {
        out->children[out->n_children] = (struct ArrowSchema *)calloc(1, sizeof(*out));
        if (out->children[out->n_children] == NULL) return -1;
    }
    return 0;
}

/* glibc returns freed memory to the system above a threshold, which is twice the largest block freed so far. With the
 * initial threshold each batch would be built in fresh pages, and take up to twice as long. The pointer is volatile
 * because compilers remove a malloc whose result is only freed.
 */
static inline void sns_keep_freed_memory(size_t size) {
    void *volatile block = malloc(size);
    free(block);
}

/* One very large block that was freed is kept for the next batch: fresh pages are cleared by the system, which takes as
 * long as to fill them. Smaller ones are left to malloc.
 */
#define SNS_HUGE ((size_t)4 << 20) /* least size in bytes of a block of huge pages */
#define SNS_LEAST_KEPT ((size_t)32 << 20)
#define SNS_MOST_KEPT ((size_t)128 << 20)
#if defined(__linux__) && defined(__GLIBC__)
#define SNS_KEEPS 1
static void *sns_kept = NULL; /* exchanged atomically, since consumers free arrays in any thread and without the GIL */

/* The pages that lie wholly within the block. */
static inline void sns_advise(void *block, size_t size, int advice) {
    uintptr_t page = 4096, start = ((uintptr_t)block + page - 1) & ~(page - 1), end = ((uintptr_t)block + size) & ~(page - 1);
    if (end > start) (void)madvise((void *)start, end - start, advice); /* a hint: without it, nothing but speed changes */
}

static inline void *sns_take_kept(size_t least, size_t most) {
    void *block = __atomic_exchange_n(&sns_kept, NULL, __ATOMIC_ACQ_REL);
    size_t room = block == NULL ? 0 : malloc_usable_size(block);
    if (room >= least && room <= most) return block;
    free(__atomic_exchange_n(&sns_kept, block, __ATOMIC_ACQ_REL)); /* put it back; meanwhile there may be another one */
    return NULL;
}
#endif

/* free for the buffers of batches. */
static inline void sns_free(void *block) {
#ifdef SNS_KEEPS
    size_t size = block == NULL ? 0 : malloc_usable_size(block);
    if (size >= SNS_LEAST_KEPT && size <= SNS_MOST_KEPT)
        block = __atomic_exchange_n(&sns_kept, block, __ATOMIC_ACQ_REL);
#endif
    free(block);
}

/* realloc for the buffers of batches. Large ones get huge pages where the system offers them to those who ask: to fault
 * in 100 MB by pages of 4 KB takes longer than to copy them.
 */
static inline void *sns_resized(void *block, size_t size) {
#ifdef SNS_KEEPS
    void *made;
    if (block == NULL && size >= SNS_LEAST_KEPT) {
        made = sns_take_kept(size, 2 * size);
        if (made != NULL) return made;
    }
    made = realloc(block, size);
#ifdef MADV_HUGEPAGE
    if (made != NULL && size >= SNS_HUGE) sns_advise(made, size, MADV_HUGEPAGE);
#endif
    return made;
#else
    return realloc(block, size);
#endif
}

/* A new block for the buffer of a batch that takes about ``size`` bytes, and at least ``least``. Sets ``size`` to how many
 * there are, which may be a quarter less.
 */
static inline void *sns_new_block(size_t least, size_t *size) {
#ifdef SNS_KEEPS
    if (*size >= SNS_LEAST_KEPT) {
        size_t about = *size - *size / 4;
        void *made = sns_take_kept(about > least ? about : least, 2 * *size);
        if (made != NULL) {
            *size = malloc_usable_size(made);
            return made;
        }
    }
#endif
    if (*size < least) *size = least;
    return sns_resized(NULL, *size);
}

/* --- arrays, which own their buffers -------------------------------------------------------------------------------
 *
 * The structs of an array and of all below it are in one block, and so are most buffers of a small batch: to allocate and
 * to free each of them takes longer than to fill them. A consumer may move any of the arrays and release it on its own, in
 * any thread, so the last of them frees the blocks.
 */
struct sns_tree {
    int64_t alive; /* arrays that are not released */
    const uint8_t *slab, *slab_end; /* the buffers in here are freed together; malloc'ed */
    uint8_t *next; /* unused memory behind this struct */
};

static inline int64_t sns_count_down(int64_t *number) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_sub_fetch(number, 1, __ATOMIC_ACQ_REL);
#else
    return (int64_t)_InterlockedDecrement64((volatile long long *)number);
#endif
}

static void sns_release_array(struct ArrowArray *array) {
    struct sns_tree *tree = (struct sns_tree *)array->private_data;
    int64_t i;
    for (i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    for (i = 0; i < array->n_buffers; i++) {
        const uint8_t *buffer = (const uint8_t *)array->buffers[i];
        if (!(tree->slab <= buffer && buffer < tree->slab_end)) sns_free((void *)buffer);
    }
    array->release = NULL;
    if (sns_count_down(&tree->alive) == 0) {
        free((void *)tree->slab);
        free(tree);
    }
}

/* Memory for so many structs besides the outermost one, and for all pointers to children and buffers; or NULL. */
static inline struct sns_tree *sns_new_tree(int64_t structs, int64_t pointers) {
    size_t size = sizeof(struct sns_tree) + (size_t)structs * sizeof(struct ArrowArray) + (size_t)pointers * sizeof(void *);
    struct sns_tree *tree = (struct sns_tree *)calloc(1, size);
    if (tree != NULL) tree->next = (uint8_t *)(tree + 1);
    return tree;
}

/* Make an array whose children and buffers the caller fills in. A child that is not filled in counts as released. */
static inline void sns_fill_array(struct ArrowArray *out, struct sns_tree *tree, int64_t length, int64_t nulls,
                                  int64_t buffers, int64_t count) {
    int64_t i;
    memset(out, 0, sizeof(*out));
    out->release = sns_release_array;
    out->private_data = tree;
    out->length = length;
    out->null_count = nulls;
    out->n_buffers = buffers;
    out->n_children = count;
    out->buffers = (const void **)tree->next;
    out->children = (struct ArrowArray **)(out->buffers + buffers);
    tree->next = (uint8_t *)(out->children + count);
    for (i = 0; i < count; i++) out->children[i] = (struct ArrowArray *)tree->next + i;
    tree->next += (size_t)count * sizeof(struct ArrowArray);
    tree->alive++;
}

/* --- capsules ----------------------------------------------------------------------------------------------------- */

static void sns_drop_schema(PyObject *capsule) {
    struct ArrowSchema *schema = (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) schema->release(schema);
    free(schema);
}

static void sns_drop_array(PyObject *capsule) {
    struct ArrowArray *array = (struct ArrowArray *)PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL) array->release(array);
    free(array);
}

/* Create a capsule with a struct that the caller fills in. */
static PyObject *sns_new_schema(void) {
    struct ArrowSchema *schema = (struct ArrowSchema *)calloc(1, sizeof(*schema));
    PyObject *capsule = schema == NULL ? PyErr_NoMemory() : PyCapsule_New(schema, "arrow_schema", sns_drop_schema);
    if (capsule == NULL) free(schema);
    return capsule;
}

static PyObject *sns_new_array(void) {
    struct ArrowArray *array = (struct ArrowArray *)calloc(1, sizeof(*array));
    PyObject *capsule = array == NULL ? PyErr_NoMemory() : PyCapsule_New(array, "arrow_array", sns_drop_array);
    if (capsule == NULL) free(array);
    return capsule;
}

#endif
