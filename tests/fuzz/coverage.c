/* Tells libFuzzer which code ran: linked into each compiled module that is built with gcc's -fsanitize-coverage.
 *
 * gcc calls __sanitizer_cov_trace_pc() in each basic block; libFuzzer wants an array of counters, one a block, which
 * clang would lay out. So blocks are counted here, by a hash of their address. Comparisons are handed on as they are.
 * ATHERIS_CORE names the shared object that libFuzzer is in; it is not linked to, since AddressSanitizer has functions
 * of the same names. Without the variable, nothing is counted and nothing is handed on.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define BITS 15
#define SLOTS (1 << BITS)
#define HERE __attribute__((visibility("hidden")))

static uint8_t counters[SLOTS];
static uintptr_t blocks[2 * SLOTS]; /* address and flags of the block in each slot, in libFuzzer's format */

HERE void __sanitizer_cov_trace_pc(void) {
    uintptr_t block = (uintptr_t)__builtin_return_address(0);
    uint64_t slot = block * 0x9E3779B97F4A7C15ULL >> (64 - BITS);
    counters[slot]++;
    blocks[2 * slot] = block;
}

/* A tail call, because libFuzzer uses the return address as the place of the comparison. */
#define HAND_ON(name, type) \
    static void (*to_##name)(type, type); \
    HERE void __sanitizer_cov_trace_##name(type a, type b) { if (to_##name) to_##name(a, b); }

HAND_ON(cmp1, uint8_t)
HAND_ON(cmp2, uint16_t)
HAND_ON(cmp4, uint32_t)
HAND_ON(cmp8, uint64_t)
HAND_ON(const_cmp1, uint8_t)
HAND_ON(const_cmp2, uint16_t)
HAND_ON(const_cmp4, uint32_t)
HAND_ON(const_cmp8, uint64_t)

static void (*to_switch)(uint64_t, uint64_t *);
HERE void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases) { if (to_switch) to_switch(value, cases); }
HERE void __sanitizer_cov_trace_cmpf(float a, float b) { (void)a; (void)b; } /* libFuzzer does not use these */
HERE void __sanitizer_cov_trace_cmpd(double a, double b) { (void)a; (void)b; }

#define FIND(name) to_##name = dlsym(core, "__sanitizer_cov_trace_" #name)

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("ATHERIS_CORE");
    void *core = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*take_counters)(uint8_t *, uint8_t *);
    void (*take_blocks)(uintptr_t *, uintptr_t *);
    if (core == NULL) return;
    take_counters = dlsym(core, "__sanitizer_cov_8bit_counters_init");
    take_blocks = dlsym(core, "__sanitizer_cov_pcs_init");
    if (take_counters == NULL || take_blocks == NULL) abort();
    take_counters(counters, counters + SLOTS);
    take_blocks(blocks, blocks + 2 * SLOTS);
    FIND(cmp1); FIND(cmp2); FIND(cmp4); FIND(cmp8);
    FIND(const_cmp1); FIND(const_cmp2); FIND(const_cmp4); FIND(const_cmp8);
    FIND(switch);
}
