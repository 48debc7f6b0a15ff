/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts stacks: folded, or with lines and addresses for viewers. */
#include <stdlib.h>

#include "symbolize_text.h"
#include "tools/common/demangle.h"

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
static bool find_frame(struct symbolize_text *text, size_t i, struct text_frame *frame)
{
    text_frame_find(text, i, frame);
    bool is_frame = frame->read.kind == BAT_LINE_FRAME || frame->read.kind == BAT_LINE_QUERY;
    if (!is_frame || text_frame_is_replaced(text, i))
        return false;
    /* Looking at other lines has changed what frames points to. */
    text_frame_find(text, i, frame);
    return true;
}

/* The frame's function, which stays in place. */
static const char *kept_function(struct symbolize_text *text, const struct bat_source_frame *frame)
{
    const struct symbolize_printer *printer = text->printer;
    const bool is_demangled = frame->function && printer->options.demangle;
    return is_demangled ? demangled_kept(printer->names, frame->function) : frame->function;
}

/* --- Folded --------------------------------------------------------------------------------- */

static void fold(struct symbolize_text *text)
{
    bat_folded_begin(text->folded);
    if (text->with_command && text->command)
        bat_folded_frame(text->folded, text->command, strlen(text->command));
    for (size_t i = text->stack.count; i != 0; i--) {
        struct text_frame frame;
        if (!find_frame(text, i - 1, &frame))
            continue;
        for (size_t k = frame.count; k != 0; k--) {
            const char *name = kept_function(text, &frame.frames[k - 1]);
            bat_folded_lasting_frame(text->folded, name ? name : "");
        }
        char room[256];
        struct bat_slice name = name_as_read(&frame.read, room);
        if (frame.count == 0)
            bat_folded_frame(text->folded, name.text, name.length);
    }
    bat_folded_end(text->folded, 1);
}

/* --- With lines ----------------------------------------------------------------------------- */

/* No compiler inlines so deeply. */
#define INLINED_MAX 256u

static void sample_frame(struct symbolize_text *text, const struct text_frame *frame)
{
    struct bat_sampled_frame frames[INLINED_MAX];
    size_t count = frame->count < INLINED_MAX ? frame->count : INLINED_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct bat_source_frame *source = &frame->frames[i];
        frames[i] =
            (struct bat_sampled_frame){.function = kept_function(text, source),
                                       .linkage = source->function,
                                       .file = printed_file(text->printer, source, source->file),
                                       .line = source->line,
                                       .column = source->column,
                                       .start_line = source->start_line,
                                       .is_lasting = true};
    }
    bat_sampled_stacks_place(text->sampled, frame->address, frames, count);
}

static void sample_as_read(struct symbolize_text *text, const struct bat_stack_line *read)
{
    char room[256];
    struct bat_slice slice = name_as_read(read, room);
    char *name = strndup(slice.text, slice.length);
    const struct bat_sampled_frame frame = {.function = name};
    text->no_memory = text->no_memory || !name;
    bat_sampled_stacks_place(text->sampled, 0, &frame, 1);
    free(name);
}

static void sample(struct symbolize_text *text)
{
    bat_sampled_stacks_begin(text->sampled);
    bool has_frames = false;
    for (size_t i = 0; i < text->stack.count; i++) {
        struct text_frame frame;
        if (!find_frame(text, i, &frame))
            continue;
        has_frames = true;
        if (frame.count != 0)
            sample_frame(text, &frame);
        else
            sample_as_read(text, &frame.read);
    }
    const struct bat_sampled_frame command = {.function = text->command};
    if (has_frames && text->with_command && text->command)
        bat_sampled_stacks_place(text->sampled, 0, &command, 1);
    bat_sampled_stacks_end(text->sampled, 1);
}

void text_stack_count(struct symbolize_text *text)
{
    if (text->folded)
        fold(text);
    else
        sample(text);
}
