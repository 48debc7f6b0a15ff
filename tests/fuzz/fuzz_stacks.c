/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a text with stacks: the parts of a line lie in the line and do not depend on the
 * lines before, and an address that is said to be the binary's is in its code. Folded stacks have
 * the frames that were added.
 */
#include <stdlib.h>
#include <string.h>

#include "bat_symbolizer.h"
#include "demo.h"
#include "fuzz.h"

static struct bat_symbolizer *open_binary(void)
{
    struct bat_symbolizer *symbolizer;
    struct bat_error error;
    if (bat_symbolizer_open(demo_bolted(), NULL, &symbolizer, &error) != BAT_OK)
        fuzz_fail(error.message);
    return symbolizer;
}

static void expect_inside(struct bat_slice slice, const char *line, size_t length)
{
    if (slice.length == 0)
        return;
    fuzz_expect(slice.text >= line && slice.length <= length &&
                    (size_t)(slice.text - line) <= length - slice.length,
                "a slice lies in its line");
}

static void check_line(const char *line, size_t length, const struct bat_stack_line *read)
{
    expect_inside(read->name, line, length);
    expect_inside(read->module, line, length);
    fuzz_expect(read->address_end <= length, "an address ends in its line");
    fuzz_expect(read->number_start <= read->number_end && read->number_end <= length,
                "a number lies in its line");
    fuzz_expect(read->form < BAT_FORMS, "forms are known");
    bool has_frame = read->kind == BAT_LINE_FRAME || read->kind == BAT_LINE_QUERY;
    fuzz_expect(!has_frame || read->form != BAT_FORM_NONE, "a frame has a form");
    fuzz_expect(has_frame || read->kind == BAT_LINE_PC || !read->has_address,
                "frames alone have addresses");
    fuzz_expect(!read->has_number ||
                    (read->number_end > read->number_start && line[read->number_start] >= '0' &&
                     line[read->number_start] <= '9'),
                "a number has digits");
}

static void fold(struct bat_folded *folded, const struct bat_stack_line *read)
{
    if (read->kind == BAT_LINE_FRAME) {
        bat_folded_frame(folded, read->name.text, read->name.length);
        return;
    }
    bat_folded_end(folded, 1);
    bat_folded_begin(folded);
}

static void check_folded(struct bat_folded *folded)
{
    size_t count;
    char *before = NULL;
    fuzz_expect(bat_folded_sort(folded, &count, NULL) == BAT_OK, "stacks add up");
    for (size_t i = 0; i < count; i++) {
        uint64_t times;
        const char *text = bat_folded_stack(folded, i, &times);
        fuzz_expect(text && times != 0 && text[0] != '\0', "no stack is empty");
        fuzz_expect(!strchr(text, '\n'), "a stack is one line");
        fuzz_expect(!before || strcmp(before, text) < 0, "stacks are sorted, each once");
        free(before);
        before = strdup(text);
    }
    free(before);
}

/* One line, in separate memory, so that the sanitizer notices a read outside of it. */
static void check(struct bat_symbolizer *symbolizer, struct bat_stack_place *place,
                  struct bat_folded *folded, const char *text, size_t length)
{
    static const struct bat_frames_options options = {.size = sizeof(options)};
    char *line = malloc(length ? length : 1);
    if (!line)
        fuzz_fail("no memory");
    if (length != 0)
        memcpy(line, text, length);
    struct bat_stack_line read;
    bat_stack_line_read(line, length, &read);
    check_line(line, length, &read);
    struct bat_slice command;
    uint64_t pid = 0;
    if (bat_sample_head(line, length, &command, &pid))
        expect_inside(command, line, length);
    enum bat_frame_pc pc = bat_stack_place_next(place, &read);
    bat_symbolizer_learn(symbolizer, &read, pid);
    uint64_t address;
    if (bat_symbolizer_address(symbolizer, &read, pid, &address)) {
        const struct bat_source_frame *frames;
        size_t count;
        bat_symbolizer_frames(symbolizer, address, pc, &options, &frames, &count);
        fuzz_expect(count != 0, "there is a frame");
    }
    fold(folded, &read);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bat_symbolizer *symbolizer = open_binary();
    struct bat_stack_place place = {0};
    struct bat_folded *folded = bat_folded_new();
    if (!folded)
        fuzz_fail("no memory");
    bat_folded_begin(folded);
    const char *at = (const char *)data;
    for (size_t left = size; left != 0;) {
        const char *newline = memchr(at, '\n', left);
        size_t length = newline ? (size_t)(newline - at) : left;
        check(symbolizer, &place, folded, at, length);
        left -= length + (newline ? 1 : 0);
        at += length + (newline ? 1 : 0);
    }
    bat_folded_end(folded, 1);
    check_folded(folded);
    bat_folded_free(folded);
    bat_symbolizer_close(symbolizer);
    return 0;
}
