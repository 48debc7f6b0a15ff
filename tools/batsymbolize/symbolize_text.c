/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_text.h"

#include <stdlib.h>

#include "spec/grow.h"

/* A stack with more lines is split. */
#define STACK_MAX ((size_t)1 << 14)

/* --- The stack that is being read ----------------------------------------------------------- */

static bool stack_add(struct text_stack *stack, const char *line, size_t length,
                      enum bat_frame_pc pc)
{
    if (!bat_reserve(&stack->bytes, &stack->byte_capacity, stack->size, length, 1) ||
        !bat_grow(&stack->lines, &stack->line_capacity, stack->count, sizeof(*stack->lines)))
        return false;
    if (length != 0)
        memcpy(stack->bytes + stack->size, line, length);
    stack->lines[stack->count++] = (struct text_stack_line){stack->size, length, pc};
    stack->size += length;
    return true;
}

static void stack_free(struct text_stack *stack)
{
    free(stack->bytes);
    free(stack->lines);
    *stack = (struct text_stack){0};
}

/* --- Addresses outside of stacks ------------------------------------------------------------ */

static struct bat_symbolizer *find_file(struct symbolize_text *text,
                                        const struct bat_stack_line *read, struct bat_error *error)
{
    struct bat_symbolizer *given = symbolize_files_given(text->files);
    if (read->module.length != 0) {
        struct bat_symbolizer *found = symbolize_files_find(text->files, read->module, error);
        text->unreadable = text->unreadable || !found;
        return found;
    }
    if (!given) {
        bat_fail(error, BAT_ERR_ARGUMENT, "expected the address's file (-e FILE), found none");
        text->no_file = true;
    }
    return given;
}

/* --- Of the given file ---------------------------------------------------------------------- */

/* Put a query off, to answer it with others. */
static bool put_off(struct symbolize_text *text, const struct bat_stack_line *read)
{
    if (read->module.length != 0 || read->is_data || read->is_locals || text->printer->in_list ||
        !symbolize_files_given(text->files))
        return false;
    batches_add(text, read->address);
    return true;
}

void symbolize_text_answer(struct symbolize_text *text)
{
    batches_answer(text);
}

/* --- Any query ------------------------------------------------------------------------------ */

static void answer(struct symbolize_text *text, const char *path, const struct bat_stack_line *read)
{
    struct symbolize_request request = {path, read->address, true};
    struct bat_error error;
    struct bat_symbolizer *symbolizer = find_file(text, read, &error);
    if (!symbolizer)
        print_error(text->printer, &request, error.message);
    else if (read->is_data)
        print_data(text->printer, &request,
                   bat_symbolizer_symbol(symbolizer, read->address - text->adjust));
    else if (read->is_locals)
        print_no_locals(text->printer, &request);
    else
        text_note_found(text, request.address,
                        text_print_request(text, symbolizer, text->printer, &request));
}

static void answer_query(struct symbolize_text *text, const struct bat_stack_line *read)
{
    const struct bat_symbolizer *symbolizer;
    const char *given = "";
    if (read->module.length == 0) {
        if (symbolize_files_given(text->files))
            given = symbolize_files_at(text->files, 0, &symbolizer);
        answer(text, given, read);
        return;
    }
    char *path = strndup(read->module.text, read->module.length);
    if (path)
        answer(text, path, read);
    text->no_memory = text->no_memory || !path;
    free(path);
}

/* --- Stacks --------------------------------------------------------------------------------- */

static void learn(struct symbolize_text *text, const struct bat_stack_line *read)
{
    struct bat_symbolizer *given = symbolize_files_given(text->files);
    if (given)
        bat_symbolizer_learn(given, read, read->pid ? read->pid : text->pid);
}

static void write_stack(struct symbolize_text *text)
{
    for (size_t i = 0; i < text->stack.count; i++) {
        if (text_frame_is_replaced(text, i))
            continue;
        struct text_frame frame;
        text_frame_find(text, i, &frame);
        text_frame_write(text, &frame);
    }
}

/* Write or count the stack, which is complete. */
static void finish_stack(struct symbolize_text *text)
{
    struct text_stack *stack = &text->stack;
    if (stack->count == 0)
        return;
    for (size_t i = 0; i < stack->count; i++) {
        struct bat_stack_line read;
        bat_stack_line_read(stack->bytes + stack->lines[i].start, stack->lines[i].length, &read);
        learn(text, &read);
    }
    if (text_is_counted(text))
        text_stack_count(text);
    else
        write_stack(text);
    stack->count = 0;
    stack->size = 0;
}

/* True for a line that belongs to the stack that is being read, or begins one. */
static bool is_of_stack(const struct symbolize_text *text, const struct bat_stack_line *read,
                        const char *line, size_t length)
{
    switch (read->kind) {
    case BAT_LINE_FRAME:
    case BAT_LINE_SIGNAL:
        return true;
    case BAT_LINE_QUERY:
        return text_is_counted(text);
    case BAT_LINE_TEXT:
        /* perf's source lines. */
        return text->stack.count != 0 && text->place.of == BAT_FORM_PERF && length >= 2 &&
               memcmp(line, "  ", 2) == 0;
    default:
        return false;
    }
}

static void add_to_stack(struct symbolize_text *text, const struct bat_stack_line *read,
                         enum bat_frame_pc pc, const char *line, size_t length)
{
    bool alone = read->form == BAT_FORM_PERF_SAMPLE;
    if (alone || (read->has_number && read->number == 0) || text->stack.count == STACK_MAX)
        finish_stack(text);
    if (read->kind == BAT_LINE_QUERY && text->stack.count != 0)
        pc = BAT_PC_RETURN;
    if (!stack_add(&text->stack, line, length, pc))
        text->no_memory = true;
    if (alone)
        finish_stack(text);
}

/* Read the process from the first line of a sample; other lines change nothing. */
static void read_head(struct symbolize_text *text, const char *line, size_t length)
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
static void process_other_line(struct symbolize_text *text, const struct bat_stack_line *read,
                               const char *line, size_t length)
{
    if (read->kind == BAT_LINE_MAPPING || read->kind == BAT_LINE_PC)
        learn(text, read);
    if (text_is_counted(text))
        return;
    if (read->kind == BAT_LINE_PC) {
        if (stack_add(&text->stack, line, length, BAT_PC_EXACT))
            finish_stack(text);
    } else if (text->printer->options.style != STYLE_JSON || read->kind == BAT_LINE_TEXT) {
        print_unread(text->printer, line, length);
    }
}

/* --- Lines ---------------------------------------------------------------------------------- */

void symbolize_text_line(struct symbolize_text *text, const char *line, size_t length)
{
    struct bat_stack_line read;
    bat_stack_line_read(line, length, &read);
    bool of_stack = is_of_stack(text, &read, line, length);
    enum bat_frame_pc pc = bat_stack_place_next(&text->place, &read);
    if (of_stack) {
        symbolize_text_answer(text);
        add_to_stack(text, &read, pc, line, length);
        return;
    }
    finish_stack(text);
    if (read.kind == BAT_LINE_QUERY && put_off(text, &read))
        return;
    symbolize_text_answer(text);
    if (read.kind == BAT_LINE_QUERY) {
        answer_query(text, &read);
        return;
    }
    if (read.kind == BAT_LINE_TEXT)
        read_head(text, line, length);
    process_other_line(text, &read, line, length);
}

void symbolize_text_part(struct symbolize_text *text, const char *part, size_t length, bool is_end)
{
    symbolize_text_answer(text);
    finish_stack(text);
    if (text_is_counted(text))
        return;
    if (text->printer->options.style != STYLE_JSON) {
        output_bytes(text->printer->output, part, length);
        if (is_end)
            output_bytes(text->printer->output, "\n", 1);
    } else if (is_end) {
        print_unread(text->printer, part, length);
    }
}

void symbolize_text_end(struct symbolize_text *text)
{
    symbolize_text_answer(text);
    finish_stack(text);
    batches_free(text->batches);
    text->batches = NULL;
    stack_free(&text->stack);
    free(text->command);
    text->command = NULL;
}
