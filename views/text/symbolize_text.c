/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_text.h"

#include <stdlib.h>

#include "spec/array.h"

/* A stack with more lines is split. */
#define STACK_MAX ((size_t)1 << 14)

/* --- The stack that is being read ----------------------------------------------------------- */

static bool stack_add(struct text_stack *stack, const char *line, size_t length,
                      enum bat_frame_pc pc)
{
    if (!bat_reserve(&stack->bytes, &stack->byte_capacity, stack->size, length, 1) ||
        !BAT_GROW(stack->lines, stack->count, stack->line_capacity))
        return false;
    if (length != 0)
        memcpy(stack->bytes + stack->size, line, length);
    stack->lines[stack->count++] = (struct text_stack_line){stack->size, length, pc};
    stack->size += length;
    return true;
}

/* --- Addresses outside of stacks ------------------------------------------------------------ */

static struct bat_symbolizer *find_file(struct bat_symbolize *text,
                                        const struct bat_stack_line *read, struct bat_error *error)
{
    struct bat_symbolizer *given = symbolize_files_given(text->files);
    if (read->module.length != 0) {
        struct bat_symbolizer *found = symbolize_files_find(text->files, read->module, error);
        text->findings.has_unreadable = text->findings.has_unreadable || !found;
        return found;
    }
    if (!given) {
        bat_fail(error, BAT_ERR_ARGUMENT, "expected the address's file (-e FILE), found none");
        text->findings.lacks_file = true;
    }
    return given;
}

/* --- Of the given file ---------------------------------------------------------------------- */

/* Put a query off, to answer it with others. */
static bool put_off(struct bat_symbolize *text, const struct bat_stack_line *read)
{
    if (read->module.length != 0 || read->is_data || read->is_locals || text->options.is_list ||
        !symbolize_files_given(text->files))
        return false;
    symbolize_batches_add(text, read->address);
    return true;
}

/* --- Any query ------------------------------------------------------------------------------ */

static void answer(struct bat_symbolize *text, const char *path, const struct bat_stack_line *read)
{
    struct symbolize_request request = {path, read->address, true};
    struct bat_error error;
    struct bat_symbolizer *symbolizer = find_file(text, read, &error);
    if (!symbolizer)
        symbolize_print_error(&text->printer, &request, error.message);
    else if (read->is_data)
        symbolize_print_data(
            &text->printer, &request,
            bat_symbolizer_symbol(symbolizer, read->address - text->options.adjust));
    else if (read->is_locals)
        symbolize_print_no_locals(&text->printer, &request);
    else
        symbolize_note_found(text, request.address,
                             symbolize_print_request(text, symbolizer, &text->printer, &request));
}

static void answer_query(struct bat_symbolize *text, const struct bat_stack_line *read)
{
    const struct bat_symbolizer *symbolizer;
    const char *given = "";
    if (read->module.length == 0) {
        if (symbolize_files_given(text->files))
            given = symbolize_files_at(text->files, 0, &symbolizer, NULL);
        answer(text, given, read);
        return;
    }
    char *path = strndup(read->module.text, read->module.length);
    if (path)
        answer(text, path, read);
    text->lacks_memory = text->lacks_memory || !path;
    free(path);
}

/* --- Stacks --------------------------------------------------------------------------------- */

static void learn(struct bat_symbolize *text, const struct bat_stack_line *read)
{
    struct bat_symbolizer *given = symbolize_files_given(text->files);
    if (given)
        bat_symbolizer_learn(given, read, read->pid ? read->pid : text->pid);
}

static void write_stack(struct bat_symbolize *text)
{
    for (size_t i = 0; i < text->stack.count; i++) {
        if (symbolize_frame_is_replaced(text, i))
            continue;
        struct text_frame frame;
        symbolize_frame_find(text, i, &frame);
        symbolize_frame_write(text, &frame);
    }
}

/* Write or count the stack, which is complete. */
static void finish_stack(struct bat_symbolize *text)
{
    struct text_stack *stack = &text->stack;
    if (stack->count == 0)
        return;
    for (size_t i = 0; i < stack->count; i++) {
        struct bat_stack_line read;
        bat_stack_line_read(stack->bytes + stack->lines[i].start, stack->lines[i].length, &read);
        learn(text, &read);
    }
    if (symbolize_is_counted(text))
        symbolize_stack_count(text);
    else
        write_stack(text);
    stack->count = 0;
    stack->size = 0;
}

/* True for a line that belongs to the stack that is being read, or begins one. */
static bool is_of_stack(const struct bat_symbolize *text, const struct bat_stack_line *read,
                        const char *line, size_t length)
{
    switch (read->kind) {
    case BAT_LINE_FRAME:
    case BAT_LINE_SIGNAL:
        return true;
    case BAT_LINE_QUERY:
        return symbolize_is_counted(text);
    case BAT_LINE_TEXT:
        /* perf's source lines. */
        return text->stack.count != 0 && text->place.of == BAT_FORM_PERF && length >= 2 &&
               memcmp(line, "  ", 2) == 0;
    default:
        return false;
    }
}

static void add_to_stack(struct bat_symbolize *text, const struct bat_stack_line *read,
                         enum bat_frame_pc pc, const char *line, size_t length)
{
    bool alone = read->form == BAT_FORM_PERF_SAMPLE;
    if (alone || (read->has_number && read->number == 0) || text->stack.count == STACK_MAX)
        finish_stack(text);
    if (read->kind == BAT_LINE_QUERY && text->stack.count != 0)
        pc = BAT_PC_RETURN;
    if (!stack_add(&text->stack, line, length, pc))
        text->lacks_memory = true;
    if (alone)
        finish_stack(text);
}

/* Read the process from the first line of a sample; other lines change nothing. */
static void read_head(struct bat_symbolize *text, const char *line, size_t length)
{
    struct bat_slice command;
    uint64_t pid;
    if (!bat_sample_head(line, length, &command, &pid))
        return;
    text->pid = pid;
    free(text->command);
    text->command = strndup(command.text, command.length);
}

/* Process a line that is neither of a stack nor a query. */
static void process_other_line(struct bat_symbolize *text, const struct bat_stack_line *read,
                               const char *line, size_t length)
{
    if (read->kind == BAT_LINE_MAPPING || read->kind == BAT_LINE_PC)
        learn(text, read);
    if (symbolize_is_counted(text))
        return;
    if (read->kind == BAT_LINE_PC) {
        if (stack_add(&text->stack, line, length, BAT_PC_EXACT))
            finish_stack(text);
    } else if (text->options.style != BAT_STYLE_JSON || read->kind == BAT_LINE_TEXT) {
        symbolize_print_unread(&text->printer, line, length);
    }
}

/* --- Lines ---------------------------------------------------------------------------------- */

void bat_symbolize_line(struct bat_symbolize *text, const char *line, size_t length)
{
    struct bat_stack_line read;
    bat_stack_line_read(line, length, &read);
    bool of_stack = is_of_stack(text, &read, line, length);
    enum bat_frame_pc pc = bat_stack_place_next(&text->place, &read);
    if (of_stack) {
        symbolize_batches_answer(text);
        add_to_stack(text, &read, pc, line, length);
        return;
    }
    finish_stack(text);
    if (read.kind == BAT_LINE_QUERY && put_off(text, &read))
        return;
    symbolize_batches_answer(text);
    if (read.kind == BAT_LINE_QUERY) {
        answer_query(text, &read);
        return;
    }
    if (read.kind == BAT_LINE_TEXT)
        read_head(text, line, length);
    process_other_line(text, &read, line, length);
}

void bat_symbolize_part(struct bat_symbolize *text, const char *part, size_t length, bool is_end)
{
    symbolize_batches_answer(text);
    finish_stack(text);
    if (symbolize_is_counted(text))
        return;
    if (text->options.style != BAT_STYLE_JSON) {
        bat_text_bytes(text->printer.output, part, length);
        if (is_end)
            bat_text_bytes(text->printer.output, "\n", 1);
    } else if (is_end) {
        symbolize_print_unread(&text->printer, part, length);
    }
}

void symbolize_text_end(struct bat_symbolize *text)
{
    symbolize_batches_answer(text);
    finish_stack(text);
}

void symbolize_text_free(struct bat_symbolize *text)
{
    BAT_FREE_ALL(text->stack.bytes, text->stack.lines, text->command);
    text->stack = (struct text_stack){0};
}
