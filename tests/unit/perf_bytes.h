/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes of perf.data put together piece by piece in tests. */
#pragma once

#include "profile/perf/format.h"
#include "unit_test.h"

struct perf_bytes {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

static inline void put(struct perf_bytes *out, const void *bytes, size_t size)
{
    while (out->size + size > out->capacity || !out->bytes) {
        out->capacity = out->capacity ? out->capacity * 2 : 64;
        out->bytes = kept_memory(out->bytes, out->capacity);
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static inline void put_u16(struct perf_bytes *out, uint16_t value)
{
    put(out, &value, sizeof(value));
}

static inline void put_u32(struct perf_bytes *out, uint32_t value)
{
    put(out, &value, sizeof(value));
}

static inline void put_u64(struct perf_bytes *out, uint64_t value)
{
    put(out, &value, sizeof(value));
}

/* A record's header; its body of that size must follow. */
static inline void put_header(struct perf_bytes *out, uint32_t type, uint16_t misc, size_t body)
{
    assert_true(body <= 65535 - PERF_RECORD_HEADER_SIZE);
    put_u32(out, type);
    put_u16(out, misc);
    put_u16(out, (uint16_t)(body + PERF_RECORD_HEADER_SIZE));
}

static inline void put_record(struct perf_bytes *out, uint32_t type, uint16_t misc,
                              const void *body, size_t size)
{
    put_header(out, type, misc, size);
    put(out, body, size);
}

/* perf_event_attr of 128 bytes. */
static inline void put_attribute(struct perf_bytes *out, uint64_t sample_type, uint64_t read_format,
                                 uint64_t flags, uint64_t branch_type)
{
    uint8_t attribute[128] = {0};
    const uint32_t size = sizeof(attribute);
    const uint64_t registers = 0x15;
    memcpy(attribute + ATTRIBUTE_SIZE, &size, sizeof(size));
    memcpy(attribute + ATTRIBUTE_SAMPLE_TYPE, &sample_type, 8);
    memcpy(attribute + ATTRIBUTE_READ_FORMAT, &read_format, 8);
    memcpy(attribute + ATTRIBUTE_FLAGS, &flags, 8);
    memcpy(attribute + ATTRIBUTE_BRANCH_TYPE, &branch_type, 8);
    memcpy(attribute + ATTRIBUTE_REGS_USER, &registers, 8);
    memcpy(attribute + ATTRIBUTE_REGS_INTR, &registers, 8);
    put(out, attribute, sizeof(attribute));
}
