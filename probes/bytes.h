/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads fields of the sections with probes. Internal to probes/. */
#ifndef BAT_PROBES_BYTES_H
#define BAT_PROBES_BYTES_H

#include "bat.h"

/*
 * A section, read from its start to its end. Each function reads the next field, called `what` in
 * its error, which names section, offset, what was expected and what was found.
 */
struct probe_bytes {
    const char *section;
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    struct bat_error *error;
};

static inline size_t probe_bytes_left(const struct probe_bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

/* Fails, with the offset of `at`; what was expected and found follow in one format. */
enum bat_code probe_bytes_fail(const struct probe_bytes *bytes, const uint8_t *at,
                               enum bat_code code, const char *format, ...) BAT_PRINTF(4, 5);

enum bat_code probe_bytes_byte(struct probe_bytes *bytes, const char *what, uint8_t *value);
enum bat_code probe_bytes_word(struct probe_bytes *bytes, const char *what, uint64_t *value);

/*
 * A number of up to 32 bits as ULEB128, or one of 64 bits as SLEB128. Either may be padded, as
 * assemblers do it when a distance turns out shorter than they thought.
 */
enum bat_code probe_bytes_number(struct probe_bytes *bytes, const char *what, uint32_t *value);
enum bat_code probe_bytes_signed(struct probe_bytes *bytes, const char *what, int64_t *value);

/* A number of things of at least `least` bytes each that follow in this section. */
enum bat_code probe_bytes_count(struct probe_bytes *bytes, const char *what, size_t least,
                                uint32_t *value);

#endif
