/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * profile.proto (github.com/google/pprof/proto/profile.proto), packed by gzip without a time.
 * Messages inside the profile are made in memory one by one, everything else is passed on as it is
 * made.
 */
#include <batkit/bat_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "bat_views.h"
#include "spec/grow.h"
#include "stack_tables.h"

/* Field numbers of the messages. */
enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
};
enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum mapping_field {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    MAPPING_HAS_INLINES = 10,
};
enum location_field {
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION = 1, LINE_LINE = 2, LINE_COLUMN = 3 };
enum function_field {
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5,
};

/* A message inside the profile, or the packed numbers in one. */
struct message {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

/* Segments with code that are mappings. */
#define MAPPINGS_MAX 128u

struct pprof {
    const struct bat_sampled_stacks *stacks;
    struct bat_strings strings; /* behind the names: those of types, mappings and the comment */
    struct bat_segment mappings[MAPPINGS_MAX];
    uint32_t mapping_count;
    struct message message;
    struct message inner;
    z_stream packer;
    uint8_t packed[1 << 14];
    struct bat_output *output;
    struct bat_error *error;
    enum bat_code code; /* the first error */
};

static void fail_memory(struct pprof *pprof)
{
    if (pprof->code == BAT_OK)
        pprof->code = bat_fail_memory(pprof->error, "for the profile");
}

/* --- Packing -------------------------------------------------------------------------------- */

static void pack(struct pprof *pprof, const void *bytes, size_t size, bool is_end)
{
    pprof->packer.next_in = bytes;
    pprof->packer.avail_in = (uInt)size;
    int status = Z_OK;
    do {
        pprof->packer.next_out = pprof->packed;
        pprof->packer.avail_out = sizeof(pprof->packed);
        status = deflate(&pprof->packer, is_end ? Z_FINISH : Z_NO_FLUSH);
        size_t made = sizeof(pprof->packed) - pprof->packer.avail_out;
        if (pprof->code == BAT_OK && made != 0)
            pprof->code = bat_output_write(pprof->output, pprof->packed, made, pprof->error);
    } while (pprof->packer.avail_out == 0 && status != Z_STREAM_END);
}

/* --- Encoding ------------------------------------------------------------------------------- */

enum wire { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static bool reserve(struct pprof *pprof, struct message *message, size_t more)
{
    if (bat_reserve(&message->bytes, &message->capacity, message->size, more, 1))
        return true;
    fail_memory(pprof);
    return false;
}

static void add_varint(struct pprof *pprof, struct message *message, uint64_t value)
{
    if (reserve(pprof, message, 10))
        message->size =
            (size_t)(put_varint(message->bytes + message->size, value) - message->bytes);
}

/* A field with a number; 0 is what a missing one means. */
static void add_number(struct pprof *pprof, struct message *message, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    add_varint(pprof, message, field << 3 | WIRE_NUMBER);
    add_varint(pprof, message, value);
}

/* Add the inner message as a field, and empty it. */
static void add_inner(struct pprof *pprof, unsigned field)
{
    struct message *message = &pprof->message;
    add_varint(pprof, message, field << 3 | WIRE_BYTES);
    add_varint(pprof, message, pprof->inner.size);
    if (reserve(pprof, message, pprof->inner.size) && pprof->inner.size != 0) {
        memcpy(message->bytes + message->size, pprof->inner.bytes, pprof->inner.size);
        message->size += pprof->inner.size;
    }
    pprof->inner.size = 0;
}

/* Write bytes as a field of the profile. */
static void write_bytes(struct pprof *pprof, unsigned field, const void *bytes, size_t size)
{
    uint8_t head[20];
    uint8_t *end = put_varint(put_varint(head, field << 3 | WIRE_BYTES), size);
    pack(pprof, head, (size_t)(end - head), false);
    if (size != 0)
        pack(pprof, bytes, size, false);
}

/* Write the message as a field of the profile, and empty it. */
static void write_message(struct pprof *pprof, unsigned field)
{
    write_bytes(pprof, field, pprof->message.bytes, pprof->message.size);
    pprof->message.size = 0;
}

/* --- Strings -------------------------------------------------------------------------------- */

/* Number 0 is "", then come the names, then the other strings. */
static uint64_t number_of_name(uint64_t name)
{
    return name + 1;
}

static uint64_t number_of_string(struct pprof *pprof, const char *string)
{
    uint32_t number = 0;
    if (bat_strings_add(&pprof->strings, string, strlen(string), &number) != BAT_OK)
        fail_memory(pprof);
    return number_of_name((uint64_t)pprof->stacks->names.count + number);
}

static void write_strings(struct pprof *pprof)
{
    const struct bat_strings *const both[] = {&pprof->stacks->names, &pprof->strings};
    write_bytes(pprof, PROFILE_STRING, "", 0);
    for (size_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < both[k]->count; i++) {
            const char *string = bat_strings_get(both[k], i);
            write_bytes(pprof, PROFILE_STRING, string, strlen(string));
        }
}

/* --- Messages ------------------------------------------------------------------------------- */

static void write_type(struct pprof *pprof, const char *unit)
{
    add_number(pprof, &pprof->message, VALUE_TYPE, number_of_string(pprof, unit));
    add_number(pprof, &pprof->message, VALUE_UNIT, number_of_string(pprof, "count"));
    write_message(pprof, PROFILE_SAMPLE_TYPE);
}

static void write_samples(struct pprof *pprof)
{
    const struct bat_sampled_stacks *stacks = pprof->stacks;
    for (uint32_t i = 0; i < stacks->counts.count; i++) {
        const uint64_t *item = bat_counts_item(&stacks->counts, i);
        const char *places = bat_strings_get(&stacks->stacks, (uint32_t)item[0]);
        uint64_t place;
        while (stack_next_number(&places, &place))
            add_varint(pprof, &pprof->inner, place + 1);
        add_inner(pprof, SAMPLE_LOCATIONS);
        add_varint(pprof, &pprof->inner, item[1]);
        add_inner(pprof, SAMPLE_VALUES);
        write_message(pprof, PROFILE_SAMPLE);
    }
}

static void find_mappings(struct pprof *pprof, const struct bat_elf *program)
{
    struct bat_segment segment;
    for (size_t i = 0; program && bat_elf_segment(program, i, &segment); i++)
        if (segment.flags & 1 && pprof->mapping_count < MAPPINGS_MAX) /* PF_X */
            pprof->mappings[pprof->mapping_count++] = segment;
}

/* The number of the mapping that has the address; 0 if none has. */
static uint64_t mapping_of(const struct pprof *pprof, uint64_t address)
{
    for (uint32_t i = 0; i < pprof->mapping_count; i++)
        if (address - pprof->mappings[i].address < pprof->mappings[i].memory_size)
            return i + 1;
    return 0;
}

static void write_mappings(struct pprof *pprof, const struct bat_sampled_subject *subject,
                           bool has_lines, bool has_inlines)
{
    size_t size = 0;
    const uint8_t *id = subject->program ? bat_elf_build_id(subject->program, &size) : NULL;
    char text[129] = "";
    if (id)
        bat_hex_bytes(text, sizeof(text), id, size);
    for (uint32_t i = 0; i < pprof->mapping_count; i++) {
        const struct bat_segment *mapping = &pprof->mappings[i];
        struct message *message = &pprof->message;
        add_number(pprof, message, MAPPING_ID, i + 1);
        add_number(pprof, message, MAPPING_START, mapping->address);
        add_number(pprof, message, MAPPING_LIMIT, mapping->address + mapping->memory_size);
        add_number(pprof, message, MAPPING_OFFSET, mapping->offset);
        add_number(pprof, message, MAPPING_FILE, number_of_string(pprof, subject->title));
        if (text[0])
            add_number(pprof, message, MAPPING_BUILD_ID, number_of_string(pprof, text));
        add_number(pprof, message, MAPPING_HAS_FUNCTIONS, 1);
        add_number(pprof, message, MAPPING_HAS_FILES, has_lines);
        add_number(pprof, message, MAPPING_HAS_LINES, has_lines);
        add_number(pprof, message, MAPPING_HAS_INLINES, has_inlines);
        write_message(pprof, PROFILE_MAPPING);
    }
}

/* Write all places; *has_inlines: one of them has several lines. */
static void write_locations(struct pprof *pprof, bool *has_inlines)
{
    const struct bat_sampled_stacks *stacks = pprof->stacks;
    for (uint32_t i = 0; i < stacks->places.count; i++) {
        const char *lines = bat_strings_get(&stacks->places, i);
        uint64_t number;
        struct message *message = &pprof->message;
        stack_next_number(&lines, &number);
        add_number(pprof, message, LOCATION_ID, (uint64_t)i + 1);
        add_number(pprof, message, LOCATION_MAPPING, mapping_of(pprof, number));
        add_number(pprof, message, LOCATION_ADDRESS, number);
        for (unsigned count = 0; stack_next_number(&lines, &number); count++) {
            const uint64_t *line = bat_counts_item(&stacks->lines, (uint32_t)number);
            add_number(pprof, &pprof->inner, LINE_FUNCTION, line[0] + 1);
            add_number(pprof, &pprof->inner, LINE_LINE, line[1]);
            add_number(pprof, &pprof->inner, LINE_COLUMN, line[2]);
            add_inner(pprof, LOCATION_LINE);
            *has_inlines |= count != 0;
        }
        write_message(pprof, PROFILE_LOCATION);
    }
}

static void write_functions(struct pprof *pprof)
{
    const struct bat_counts *functions = &pprof->stacks->functions;
    for (uint32_t i = 0; i < functions->count; i++) {
        const uint64_t *function = bat_counts_item(functions, i);
        struct message *message = &pprof->message;
        add_number(pprof, message, FUNCTION_ID, (uint64_t)i + 1);
        add_number(pprof, message, FUNCTION_NAME, number_of_name(function[0]));
        add_number(pprof, message, FUNCTION_SYSTEM_NAME, number_of_name(function[1]));
        add_number(pprof, message, FUNCTION_FILE, number_of_name(function[2]));
        add_number(pprof, message, FUNCTION_START_LINE, function[3]);
        write_message(pprof, PROFILE_FUNCTION);
    }
}

static void write_comment(struct pprof *pprof)
{
    char comment[64];
    snprintf(comment, sizeof(comment), "batkit %s", bat_version());
    add_varint(pprof, &pprof->inner, number_of_string(pprof, comment));
    write_bytes(pprof, PROFILE_COMMENT, pprof->inner.bytes, pprof->inner.size);
    pprof->inner.size = 0;
}

static bool has_lines(const struct bat_sampled_stacks *stacks)
{
    for (uint32_t i = 0; i < stacks->lines.count; i++)
        if (bat_counts_item(&stacks->lines, i)[1] != 0)
            return true;
    return false;
}

static void write_profile(struct pprof *pprof, const struct bat_sampled_subject *subject)
{
    bool has_inlines = false;
    find_mappings(pprof, subject->program);
    write_type(pprof, subject->unit);
    write_samples(pprof);
    write_locations(pprof, &has_inlines);
    write_mappings(pprof, subject, has_lines(pprof->stacks), has_inlines);
    write_functions(pprof);
    write_comment(pprof);
    write_strings(pprof);
    pack(pprof, "", 0, true);
}

enum bat_code write_pprof(const struct bat_sampled_stacks *stacks,
                          const struct bat_sampled_subject *subject, struct bat_output *output,
                          struct bat_error *error)
{
    struct pprof *pprof = calloc(1, sizeof(*pprof));
    if (!pprof)
        return bat_fail_memory(error, "for the profile");
    pprof->stacks = stacks;
    pprof->output = output;
    pprof->error = error;
    /* 15 bits of window, and 16 for gzip, whose header then has no time and no name. */
    if (deflateInit2(&pprof->packer, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) == Z_OK) {
        write_profile(pprof, subject);
        deflateEnd(&pprof->packer);
    } else {
        fail_memory(pprof);
    }
    enum bat_code code = pprof->code;
    bat_strings_free(&pprof->strings);
    free(pprof->message.bytes);
    free(pprof->inner.bytes);
    free(pprof);
    return code;
}
