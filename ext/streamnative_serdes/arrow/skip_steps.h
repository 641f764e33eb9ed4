/* The steps of skip.h, which includes them twice: once with, once without comparing what they read with the end. */

static SNS_NOINLINE struct sns_skipped SNS_STEPS(const struct sns_skip *skip, const uint8_t *p, const uint8_t *end,
                                                 const uint8_t *limit) {
    struct sns_skipped skipped;
    uint64_t there, last;
    (void)end;
    (void)limit;
    SNS_STEPS_BEGIN
    SNS_STEP(fixed, SKIP_FIXED)
        SNS_SKIP(0)
    SNS_STEP(text, SKIP_TEXT)
        if (SNS_READABLE(1) && SNS_LIKELY(!(p[0] & 0x81))) SNS_SKIP((p[0] >> 1))
        goto stop;
    SNS_STEP(number, SKIP_NUMBER)
        if (SNS_READABLE(8)) {
            last = ~sns_word_le(p) & skip->ends;
            if (SNS_LIKELY(last)) SNS_SKIP(sns_bytes_before(last))
        } else if (SNS_READABLE(1) && p[0] < 0x80) SNS_SKIP(0)
        goto stop;
    SNS_STEP(byte, SKIP_BYTE)
        if (SNS_READABLE(1) && SNS_LIKELY(!(p[0] & skip->bits) && p[0] < skip->most)) SNS_SKIP(0)
        goto stop;
    SNS_STEP(optional_fixed, SKIP_OPTIONAL_FIXED)
        if (SNS_READABLE(1) && SNS_LIKELY(!SNS_NO_BRANCH)) SNS_SKIP((int64_t)(SNS_THERE & skip->size))
        goto stop;
    SNS_STEP(optional_text, SKIP_OPTIONAL_TEXT)
        if (SNS_READABLE(2)) {
            there = SNS_THERE;
            if (SNS_LIKELY(!(SNS_NO_BRANCH | (p[1] & 0x81 & there))))
                SNS_SKIP((int64_t)(there & (1 + (p[1] >> 1))))
        }
        goto stop;
    SNS_STEP(optional_number, SKIP_OPTIONAL_NUMBER)
        if (SNS_READABLE(9)) {
            there = SNS_THERE;
            last = (~sns_word_le(p + 1) & skip->ends) | ~there;
            if (SNS_LIKELY(!SNS_NO_BRANCH && last))
                SNS_SKIP((int64_t)(there & (1 + sns_bytes_before(last))))
        }
        goto stop;
    SNS_STEP(optional_byte, SKIP_OPTIONAL_BYTE)
        if (SNS_READABLE(2)) {
            there = SNS_THERE;
            if (SNS_LIKELY(!(SNS_NO_BRANCH | (p[1] & skip->bits & there)) && (p[1] & there) < skip->most))
                SNS_SKIP((int64_t)(there & 1))
        }
        goto stop;
    SNS_STEPS_END
stop:
    skipped.p = p;
    skipped.skip = skip;
    return skipped;
}

#undef SNS_STEPS
#undef SNS_READABLE
#undef SNS_SKIP
