/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts stacks: folded, or with lines and addresses for viewers. */
#include <stdlib.h>

#include "symbolize_text.h"

/*
 * The name of a frame that was not found: its name in the text, or its file in brackets. Empty if
 * it has none. *room has 256 bytes.
 */
static struct bat_slice name_as_read(const struct bat_stack_line *read, char *room)
{
    if (read->name.length != 0)
        return read->name;
    struct bat_slice file = read->module;
    const char *slash = file.length != 0 ? memrchr(file.text, '/', file.length) : NULL;
    if (slash)
        file = (struct bat_slice){slash + 1, file.length - (size_t)(slash + 1 - file.text)};
    if (file.length > 0 && file.text[0] == '[')
        return file;
    if (file.length == 0 || file.length > 256 - 3)
        return (struct bat_slice){"", 0};
    room[0] = '[';
    memcpy(room + 1, file.text, file.length);
    room[file.length + 1] = ']';
    return (struct bat_slice){room, file.length + 2};
}

/* Look up the frame in line number i. False for a line that is no frame of its own. */
static bool find_frame(struct bat_symbolize *text, size_t i, struct text_frame *frame)
{
    symbolize_frame_find(text, i, frame);
    bool is_frame = frame->read.kind == BAT_LINE_FRAME || frame->read.kind == BAT_LINE_QUERY;
    if (!is_frame || symbolize_frame_is_replaced(text, i))
        return false;
    /* Looking at other lines has changed what frames points to. */
    symbolize_frame_find(text, i, frame);
    return true;
}

/* The frame's function, which stays in place. */
static const char *kept_function(struct bat_symbolize *text, const struct bat_source_frame *frame)
{
    struct demangled_names *names = text->printer.names;
    return frame->function && names ? demangled_kept(names, frame->function) : frame->function;
}

/* --- Folded --------------------------------------------------------------------------------- */

static void fold_frame(struct bat_symbolize *text, const struct text_frame *frame)
{
    for (size_t k = frame->count; k != 0; k--) {
        const char *name = kept_function(text, &frame->frames[k - 1]);
        bat_folded_lasting_frame(text->folded, name ? name : "");
    }
    char room[256];
    struct bat_slice name = name_as_read(&frame->read, room);
    if (frame->count == 0)
        bat_folded_frame(text->folded, name.text, name.length);
}

static void fold(struct bat_symbolize *text)
{
    bat_folded_begin(text->folded);
    if (text->options.with_command && text->command)
        bat_folded_frame(text->folded, text->command, strlen(text->command));
    for (size_t i = text->stack.count; i != 0; i--) {
        struct text_frame frame;
        if (find_frame(text, i - 1, &frame))
            fold_frame(text, &frame);
    }
    bat_folded_end(text->folded, 1);
}

/* --- With lines ----------------------------------------------------------------------------- */

static void sample_found(struct bat_symbolize *text, const struct text_frame *frame)
{
    struct bat_sampled_frame frames[INLINED_MAX];
    size_t count = frame->count < INLINED_MAX ? frame->count : INLINED_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct bat_source_frame *source = &frame->frames[i];
        frames[i] = (struct bat_sampled_frame){
            .function = kept_function(text, source),
            .linkage = source->function,
            .file = symbolize_printed_file(&text->printer, source, source->file),
            .line = source->line,
            .column = source->column,
            .start_line = source->start_line,
            .is_lasting = true};
    }
    bat_sampled_stacks_place(text->sampled, frame->address, frames, count);
}

static void sample_as_read(struct bat_symbolize *text, const struct bat_stack_line *read)
{
    char room[256];
    struct bat_slice slice = name_as_read(read, room);
    char *name = strndup(slice.text, slice.length);
    const struct bat_sampled_frame frame = {.function = name};
    text->lacks_memory = text->lacks_memory || !name;
    bat_sampled_stacks_place(text->sampled, 0, &frame, 1);
    free(name);
}

static void sample_frame(struct bat_symbolize *text, const struct text_frame *frame)
{
    if (frame->count != 0)
        sample_found(text, frame);
    else
        sample_as_read(text, &frame->read);
}

static void sample(struct bat_symbolize *text)
{
    bat_sampled_stacks_begin(text->sampled);
    bool has_frames = false;
    for (size_t i = 0; i < text->stack.count; i++) {
        struct text_frame frame;
        if (!find_frame(text, i, &frame))
            continue;
        has_frames = true;
        sample_frame(text, &frame);
    }
    const struct bat_sampled_frame command = {.function = text->command};
    if (has_frames && text->options.with_command && text->command)
        bat_sampled_stacks_place(text->sampled, 0, &command, 1);
    bat_sampled_stacks_end(text->sampled, 1);
}

void symbolize_stack_count(struct bat_symbolize *text)
{
    if (text->folded)
        fold(text);
    else
        sample(text);
}

/* --- Samples of profiles --------------------------------------------------------------------- */

void symbolize_sample_count(struct bat_symbolize *text, const struct stack_sample *sample)
{
    struct bat_source_frame room[INLINED_MAX];
    struct text_frame frame;
    if (text->folded)
        bat_folded_begin(text->folded);
    else
        bat_sampled_stacks_begin(text->sampled);
    for (size_t i = 0; i < sample->depth; i++) {
        /* Folded stacks begin with the outermost frame. */
        const size_t number = text->folded ? sample->depth - 1 - i : i;
        symbolize_place_find(text, sample->places[number],
                             number == 0 ? BAT_PC_EXACT : BAT_PC_RETURN, &frame, room);
        (text->folded ? fold_frame : sample_frame)(text, &frame);
    }
    if (text->folded)
        bat_folded_end(text->folded, sample->count);
    else
        bat_sampled_stacks_end(text->sampled, sample->count);
}

/* --- Writing -------------------------------------------------------------------------------- */

static enum bat_code write_folded(struct bat_symbolize *text, struct bat_error *error)
{
    size_t count;
    enum bat_code code = bat_folded_sort(text->folded, &count, error);
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        uint64_t times;
        const char *stack = bat_folded_stack(text->folded, i, &times);
        BAT_TRY_MEMORY(stack, error, "for a stack's text");
        bat_text_string(&text->writer, stack);
        bat_text_format(&text->writer, " %lu\n", times);
    }
    return code;
}

/* Write the counted stacks for a viewer. */
static enum bat_code write_sampled(const struct bat_symbolize *text, struct bat_error *error)
{
    const char *path = text->options.path;
    const char *slash = path ? strrchr(path, '/') : NULL;
    struct bat_sampled_subject subject = {
        .title = slash  ? slash + 1
                 : path ? path
                        : "stacks",
        .unit = text->profiles && *text->profiles->type ? text->profiles->type : "samples"};
    struct bat_elf *elf = NULL;
    enum bat_code code = path ? bat_elf_open(path, &elf, error) : BAT_OK;
    subject.program = elf;
    if (code == BAT_OK)
        code = bat_sampled_stacks_write(text->sampled, text->options.format, &subject,
                                        text->writer.output, error);
    bat_elf_close(elf);
    return code;
}

enum bat_code symbolize_write_counted(struct bat_symbolize *text, struct bat_error *error)
{
    return text->folded    ? write_folded(text, error)
           : text->sampled ? write_sampled(text, error)
                           : BAT_OK;
}
