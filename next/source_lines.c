/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "source_lines.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bat_debuginfo.h"
#include "spec/array.h"

/* What it answers is the same for one thread after the other. */
struct next_lines {
    struct bat_debuginfo *debuginfo;
    pthread_mutex_t mutex;
};

enum bat_code next_lines_open(struct next_program *program, const struct next_debug *debug,
                              struct bat_error *error)
{
    if (!debug->path)
        return BAT_OK;
    struct next_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return bat_fail_memory(error, "for debug information");
    const enum bat_code code =
        bat_debuginfo_open(debug->path, debug->file, &lines->debuginfo, error);
    if (code != BAT_OK) {
        free(lines);
        if (code != BAT_ERR_IO)
            return code == BAT_ERR_MEMORY ? code : BAT_OK;
        const struct bat_error why = *error;
        return bat_fail(error, code, "debug information in %s: %s",
                        debug->file ? debug->file : debug->path, why.message);
    }
    pthread_mutex_init(&lines->mutex, NULL);
    program->lines = lines;
    return BAT_OK;
}

void next_lines_close(struct next_program *program)
{
    if (!program->lines)
        return;
    bat_debuginfo_close(program->lines->debuginfo);
    pthread_mutex_destroy(&program->lines->mutex);
    free(program->lines);
    program->lines = NULL;
}

/* --- Places --------------------------------------------------------------------------------- */

#define KNOWN_NAMES 64u

/* Of functions that are inlined in one another, so many count: each is a feature. Damaged debug
 * information has hundreds. */
#define FRAMES_MAX 32u

struct known_name {
    const char *name;
    uint32_t hash;
};

struct source_reading {
    const struct next_program *program;
    const struct next_unit *unit;
    struct next_place_in_source *places;
    uint32_t place_count;
    size_t place_capacity;
    uint32_t *of;
    struct bat_counts indices; /* of each place */
    struct known_name known[KNOWN_NAMES];
};

/* The hash of a name. Names are the same pointers from instruction to instruction. */
static uint32_t function_of(struct source_reading *reading, const struct bat_frame *frame)
{
    const char *name = frame->linkage_name ? frame->linkage_name : frame->name;
    if (!name)
        return 0;
    struct known_name *known = &reading->known[(uintptr_t)name / 16 % KNOWN_NAMES];
    if (known->name != name)
        *known = (struct known_name){name, next_hash(name, next_plain_name_length(name), 0)};
    return known->hash;
}

/* The index of a place, which is new or not. False without memory. */
static bool find_place(struct source_reading *reading, const struct next_place_in_source *place,
                       uint32_t *index)
{
    const uint64_t key[] = {(uint64_t)place->function << 32 | place->line,
                            (uint64_t)place->column << 32 | place->caller};
    const uint64_t *found;
    bool is_new;
    if (bat_counts_find_or_add(&reading->indices, key, reading->place_count, 0, &found, &is_new) !=
        BAT_OK)
        return false;
    *index = (uint32_t)found[0];
    return !is_new ||
           BAT_APPEND(reading->places, reading->place_count, reading->place_capacity, *place);
}

static bool read_place(struct source_reading *reading, uint64_t address, uint32_t *index)
{
    const struct bat_frame *frames;
    struct bat_debuginfo *debuginfo = reading->program->lines->debuginfo;
    const size_t count = bat_debuginfo_frames(debuginfo, address, &frames);
    *index = BAT_NONE;
    if (count == 0 || frames[0].line == 0)
        return true;
    for (size_t i = count < FRAMES_MAX ? count : FRAMES_MAX; i-- > 0;) {
        const struct next_place_in_source place = {.function = function_of(reading, &frames[i]),
                                                   .line = frames[i].line - frames[i].start_line,
                                                   .column = frames[i].column,
                                                   .caller = *index};
        if (!find_place(reading, &place, index))
            return false;
    }
    return true;
}

/* False without memory. */
static bool read_places(struct source_reading *reading)
{
    const struct next_unit *unit = reading->unit;
    bool is_fine = true;
    for (uint32_t i = 0; i < unit->block_count && is_fine; i++) {
        const struct next_block *block = &unit->blocks[i];
        const uint64_t part = reading->program->all[block->function].address;
        const uint32_t end = block->first_instruction + block->instruction_count;
        for (uint32_t k = block->first_instruction; k < end && is_fine; k++)
            if (!(unit->instructions[k].flags & NEXT_IS_NOP))
                is_fine = read_place(reading, part + unit->instructions[k].offset, &reading->of[k]);
    }
    return is_fine && !bat_debuginfo_lacks_memory(reading->program->lines->debuginfo);
}

/* What was read, in one block of memory; NULL without any. */
static struct next_source *pack(const struct source_reading *reading)
{
    const size_t places = reading->place_count * sizeof(*reading->places);
    const size_t of = reading->unit->instruction_count * sizeof(*reading->of);
    char *memory = malloc(sizeof(struct next_source) + places + of);
    if (!memory)
        return NULL;
    char *rest = memory + sizeof(struct next_source);
    if (places > 0)
        memcpy(rest, reading->places, places);
    if (of > 0)
        memcpy(rest + places, reading->of, of);
    struct next_source *source = (void *)memory;
    *source =
        (struct next_source){.places = (const void *)rest, .of = (const void *)(rest + places)};
    return source;
}

enum bat_code next_source_get(const struct next_program *program, uint32_t unit,
                              struct bat_error *error)
{
    struct next_unit *read = program->units[unit];
    if (!program->lines || __atomic_load_n(&read->source, __ATOMIC_ACQUIRE))
        return BAT_OK;
    struct source_reading reading = {
        .program = program, .unit = read, .indices = bat_counts_new(2)};
    reading.of = malloc(((size_t)read->instruction_count + 1) * sizeof(*reading.of));
    struct next_source *source = NULL;
    for (uint32_t i = 0; i < read->instruction_count && reading.of; i++)
        reading.of[i] = BAT_NONE;
    if (reading.of) {
        pthread_mutex_lock(&program->lines->mutex);
        const bool is_fine = read_places(&reading);
        pthread_mutex_unlock(&program->lines->mutex);
        source = is_fine ? pack(&reading) : NULL;
    }
    bat_counts_free(&reading.indices);
    BAT_FREE_ALL(reading.places, reading.of);
    if (!source)
        return bat_fail_memory(error, "for the lines of %s", next_unit_name(program, unit));
    struct next_source *other = NULL; /* what another thread has read */
    if (!__atomic_compare_exchange_n(&read->source, &other, source, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        free(source);
    return BAT_OK;
}
