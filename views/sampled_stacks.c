/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_views.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "spec/escape_controls.h"
#include "stack_tables.h"
#include "support/text_writer.h"

enum bat_viewer_format bat_viewer_format_named(const char *name)
{
    static const char *const names[] = {
        [BAT_VIEWER_FOLDED] = "folded",
        [BAT_VIEWER_PPROF] = "pprof",
        [BAT_VIEWER_SPEEDSCOPE] = "speedscope",
        [BAT_VIEWER_FIREFOX] = "firefox",
        [BAT_VIEWER_OTLP] = "otlp",
    };
    for (size_t i = BAT_VIEWER_FOLDED; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum bat_viewer_format)i;
    return BAT_VIEWER_NONE;
}

struct bat_sampled_stacks *bat_sampled_stacks_new(void)
{
    struct bat_sampled_stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return NULL;
    stacks->known = bat_counts_new(1);
    stacks->functions = bat_counts_new(4);
    stacks->lines = bat_counts_new(3);
    stacks->counts = bat_counts_new(1);
    return stacks;
}

void bat_sampled_stacks_free(struct bat_sampled_stacks *stacks)
{
    if (!stacks)
        return;
    bat_strings_free(&stacks->names);
    bat_counts_free(&stacks->known);
    bat_counts_free(&stacks->functions);
    bat_counts_free(&stacks->lines);
    bat_strings_free(&stacks->places);
    bat_strings_free(&stacks->stacks);
    bat_counts_free(&stacks->counts);
    BAT_FREE_ALL(stacks->place.bytes, stacks->stack.bytes, stacks->name.bytes, stacks);
}

/* --- Numbers of names, functions and lines -------------------------------------------------- */

/* Make room for more bytes. False without memory. */
static bool reserve(struct bat_sampled_stacks *stacks, struct stack_text *text, size_t more)
{
    if (bat_reserve(&text->bytes, &text->capacity, text->size, more, 1))
        return true;
    stacks->no_memory = true;
    return false;
}

/*
 * Make a clean copy of a name in stacks->name: controls are escaped first, so what is left of bytes
 * that are not UTF-8 are single ones.
 */
static bool clean_name(struct bat_sampled_stacks *stacks, const char *name)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const size_t most = sizeof(replacement) - 1;
    struct stack_text *text = &stacks->name;
    size_t size = strlen(name);
    text->size = 0;
    if (!reserve(stacks, text, (BAT_ESCAPED_BYTE + 1) * (size + 1)))
        return false;
    char *at = text->bytes;
    while (size != 0) {
        size_t length;
        if (bat_is_control(name, size, &length))
            at = bat_put_bytes_escaped(at, name, length);
        else if (bat_utf8_length(name, size) == 0)
            at = mempcpy(at, replacement, most);
        else
            at = mempcpy(at, name, length);
        name += length;
        size -= length;
    }
    text->size = (size_t)(at - text->bytes);
    return true;
}

/* The number of a string of these bytes. */
static uint64_t number_of_text(struct bat_sampled_stacks *stacks, struct bat_strings *strings,
                               const char *bytes, size_t size)
{
    uint32_t number = 0;
    if (bat_strings_add(strings, bytes, size, &number) != BAT_OK)
        stacks->no_memory = true;
    return number;
}

static uint64_t read_name(struct bat_sampled_stacks *stacks, const char *name)
{
    if (!clean_name(stacks, name))
        return 0;
    return number_of_text(stacks, &stacks->names, stacks->name.bytes, stacks->name.size);
}

/* The number of a name; that of "" for NULL. */
static uint64_t number_of_name(struct bat_sampled_stacks *stacks, const char *name, bool is_lasting)
{
    if (!name || !is_lasting)
        return read_name(stacks, name ? name : "");
    const uint64_t key = (uintptr_t)name;
    const uint64_t *known = bat_counts_find(&stacks->known, &key);
    if (known)
        return known[1];
    const uint64_t number = read_name(stacks, name);
    if (bat_counts_add(&stacks->known, &key, number, 0) != BAT_OK)
        stacks->no_memory = true;
    return number;
}

static uint64_t number_of_line(struct bat_sampled_stacks *stacks,
                               const struct bat_sampled_frame *frame)
{
    const char *name = frame->function && frame->function[0] ? frame->function : "[unknown]";
    const bool is_lasting = frame->is_lasting;
    const uint64_t function[4] = {
        number_of_name(stacks, name, is_lasting),
        number_of_name(stacks, frame->linkage ? frame->linkage : name, is_lasting),
        number_of_name(stacks, frame->file, is_lasting),
        frame->start_line,
    };
    const uint64_t line[3] = {stack_key_number(&stacks->functions, function, &stacks->no_memory),
                              frame->line, frame->column};
    return stack_key_number(&stacks->lines, line, &stacks->no_memory);
}

/* --- Stacks --------------------------------------------------------------------------------- */

static void append_number(struct bat_sampled_stacks *stacks, struct stack_text *text,
                          uint64_t number)
{
    if (!reserve(stacks, text, 24))
        return;
    char *at = text->bytes + text->size;
    if (text->size != 0)
        *at++ = ' ';
    text->size = (size_t)(bat_put_decimal(at, number) - text->bytes);
}

void bat_sampled_stacks_begin(struct bat_sampled_stacks *stacks)
{
    stacks->stack.size = 0;
}

void bat_sampled_stacks_place(struct bat_sampled_stacks *stacks, uint64_t address,
                              const struct bat_sampled_frame *frames, size_t count)
{
    stacks->place.size = 0;
    append_number(stacks, &stacks->place, address);
    for (size_t i = 0; i < count; i++)
        append_number(stacks, &stacks->place, number_of_line(stacks, &frames[i]));
    if (!stacks->no_memory)
        append_number(
            stacks, &stacks->stack,
            number_of_text(stacks, &stacks->places, stacks->place.bytes, stacks->place.size));
}

void bat_sampled_stacks_end(struct bat_sampled_stacks *stacks, uint64_t count)
{
    if (stacks->stack.size == 0 || stacks->no_memory)
        return;
    const uint64_t number =
        number_of_text(stacks, &stacks->stacks, stacks->stack.bytes, stacks->stack.size);
    enum bat_code code = bat_counts_add(&stacks->counts, &number, count, 0);
    stacks->no_memory |= code == BAT_ERR_MEMORY;
    stacks->is_too_large |= code == BAT_ERR_RANGE;
}

/* True if all counts together are below 2^63: the formats have signed numbers. */
static bool fits(const struct bat_sampled_stacks *stacks)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stacks->counts.count; i++) {
        uint64_t count = bat_counts_item(&stacks->counts, i)[1];
        if (count > INT64_MAX - sum)
            return false;
        sum += count;
    }
    return !stacks->is_too_large;
}

static enum bat_code write_as(const struct bat_sampled_stacks *stacks,
                              enum bat_viewer_format format,
                              const struct bat_sampled_subject *subject, struct bat_output *output,
                              struct bat_error *error)
{
    switch (format) {
    case BAT_VIEWER_PPROF:
        return write_pprof(stacks, subject, output, error);
    case BAT_VIEWER_SPEEDSCOPE:
        return write_speedscope(stacks, subject, output, error);
    case BAT_VIEWER_FIREFOX:
        return write_firefox(stacks, subject, output, error);
    case BAT_VIEWER_OTLP:
        return write_otlp(stacks, subject, output, error);
    default:
        return write_folded(stacks, output, error);
    }
}

enum bat_code bat_sampled_stacks_write(struct bat_sampled_stacks *stacks,
                                       enum bat_viewer_format format,
                                       const struct bat_sampled_subject *subject,
                                       struct bat_output *output, struct bat_error *error)
{
    struct bat_sampled_subject clean = *subject;
    if (clean_name(stacks, subject->title)) {
        stacks->name.bytes[stacks->name.size] = '\0';
        clean.title = stacks->name.bytes;
    }
    if (stacks->no_memory)
        return bat_fail_memory(error, "for the stacks");
    if (!fits(stacks))
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^63, found more");
    return write_as(stacks, format, &clean, output, error);
}
