/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Looks up the frames of stacks, and writes them in the form of their lines. */
#include <string.h>

#include "stacks/symbolizer.h"
#include "symbolize_text.h"

/* --- Looking up ----------------------------------------------------------------------------- */

/* The binary of a frame, and the frame's address in it; NULL if they cannot be determined. */
static struct bat_symbolizer *find_binary(struct bat_symbolize *text, struct text_frame *frame,
                                          uint64_t *address)
{
    struct bat_stack_line read = frame->read;
    struct bat_symbolizer *given = symbolize_files_given(text->files);
    const struct bat_symbolizer *same;
    uint64_t pid = read.pid ? read.pid : text->pid;
    if (read.form != BAT_FORM_PERF)
        read.address -= text->options.adjust;
    if (given && bat_symbolizer_address(given, &read, pid, address)) {
        frame->module = symbolize_files_at(text->files, 0, &same, NULL);
        return given;
    }
    /* Look in other files only if the text has no name for the frame. */
    if (read.module.length == 0 || (given && (read.name.length != 0 || !read.has_module_offset)))
        return NULL;
    struct bat_error error;
    struct bat_symbolizer *other = symbolize_files_find(text->files, read.module, &error);
    return other && bat_symbolizer_address(other, &read, pid, address) ? other : NULL;
}

/* Fill in the source frames of an address of a binary. */
static void find_frames(struct bat_symbolize *text, struct bat_symbolizer *symbolizer,
                        uint64_t address, enum bat_frame_pc pc, struct text_frame *frame)
{
    frame->address = symbolizer == symbolize_files_given(text->files) ? address : 0;
    const struct bat_symbolize_options *options = &text->options;
    struct bat_frames_options wanted = {
        .size = sizeof(wanted),
        .plain_names = options->functions == BAT_FUNCTIONS_SHORT,
        .folders = options->paths == BAT_PATHS_RELATIVE,
        .no_inlines = !options->inlines,
    };
    enum bat_symbolizer_found found =
        bat_symbolizer_frames(symbolizer, address, pc, &wanted, &frame->frames, &frame->count);
    bool is_known = frame->frames[0].function || frame->frames[0].file;
    if (found == BAT_FOUND_NOWHERE || !is_known)
        frame->count = 0;
}

void symbolize_frame_find(struct bat_symbolize *text, size_t i, struct text_frame *frame)
{
    const struct text_stack_line *line = &text->stack.lines[i];
    *frame = (struct text_frame){
        .line = text->stack.bytes + line->start,
        .length = line->length,
        .module = "",
    };
    bat_stack_line_read(frame->line, frame->length, &frame->read);
    uint64_t address;
    struct bat_symbolizer *symbolizer = find_binary(text, frame, &address);
    if (!symbolizer)
        return;
    find_frames(text, symbolizer, address, line->pc, frame);
}

/* The file of a place: the given one, or if the profile has no names for it, that at its path. */
static struct bat_symbolizer *file_of_place(struct bat_symbolize *text,
                                            const struct stack_place *place)
{
    const struct stack_mapping *mapping = place->mapping;
    if (!mapping || mapping->is_own)
        return mapping ? symbolize_files_given(text->files) : NULL;
    if (place->line_count != 0 || !*mapping->build_id || *mapping->path != '/')
        return NULL;
    struct bat_error error;
    const struct bat_slice path = {mapping->path, strlen(mapping->path)};
    struct bat_symbolizer *other = symbolize_files_find(text->files, path, &error);
    return other && stack_mapping_is_build(mapping, other->elf) ? other : NULL;
}

/* The frames that the profile has of a place. */
static size_t frames_of_lines(const struct stack_place *place, struct bat_source_frame *room)
{
    const size_t count = place->line_count < INLINED_MAX ? place->line_count : INLINED_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct stack_line *line = &place->lines[i];
        room[i] =
            (struct bat_source_frame){.function = *line->function ? line->function : line->linkage,
                                      .file = *line->file ? line->file : NULL,
                                      .line = line->line,
                                      .column = line->column,
                                      .start_line = line->start_line};
    }
    return count;
}

void symbolize_place_find(struct bat_symbolize *text, const struct stack_place *place,
                          enum bat_frame_pc pc, struct text_frame *frame,
                          struct bat_source_frame *room)
{
    *frame = (struct text_frame){.module = ""};
    struct bat_symbolizer *symbolizer = file_of_place(text, place);
    const uint64_t address =
        symbolizer ? stack_place_own(place, symbolizer->elf) : BAT_ADDRESS_EXTERNAL;
    if (address != BAT_ADDRESS_EXTERNAL)
        find_frames(text, symbolizer, address, pc, frame);
    if (frame->count != 0)
        return;
    frame->frames = room;
    frame->count = frames_of_lines(place, room);
    const char *path = place->mapping ? place->mapping->path : "";
    frame->read.module = (struct bat_slice){path, strlen(path)};
}

/* The next frame that is not inlined, from line i on; false if there is none. */
static bool next_real_frame(struct bat_symbolize *text, size_t i, struct text_frame *frame)
{
    /* perf may print a source line behind each frame. */
    for (size_t tried = 0; i < text->stack.count && tried < INLINED_MAX; i++, tried++) {
        const struct text_stack_line *line = &text->stack.lines[i];
        struct bat_stack_line read;
        bat_stack_line_read(text->stack.bytes + line->start, line->length, &read);
        if (read.kind != BAT_LINE_FRAME || read.is_inlined)
            continue;
        symbolize_frame_find(text, i, frame);
        return true;
    }
    return false;
}

bool symbolize_frame_is_replaced(struct bat_symbolize *text, size_t i)
{
    struct bat_stack_line read;
    const struct text_stack_line *line = &text->stack.lines[i];
    bat_stack_line_read(text->stack.bytes + line->start, line->length, &read);
    struct text_frame frame;
    if (read.kind == BAT_LINE_TEXT && i != 0) {
        /* A source line belongs to the frame before it. */
        symbolize_frame_find(text, i - 1, &frame);
        return frame.count != 0 ||
               (frame.read.is_inlined && symbolize_frame_is_replaced(text, i - 1));
    }
    if (!read.is_inlined || !next_real_frame(text, i + 1, &frame))
        return false;
    return frame.count != 0 && frame.read.address == read.address;
}

/* --- Writing -------------------------------------------------------------------------------- */

static const char *function_name(struct bat_symbolize *text, const struct bat_source_frame *frame)
{
    const char *name = symbolize_printed_function(&text->printer, frame);
    return name ? name : "??";
}

/* "a.c:3:5" behind the text `before`; unknown parts are left out. */
static void write_location(struct bat_symbolize *text, const char *before,
                           const struct bat_source_frame *frame, bool with_column)
{
    struct bat_text_writer *output = text->printer.output;
    if (!frame->file)
        return;
    bat_text_name(output, before, symbolize_printed_file(&text->printer, frame, frame->file), "");
    bat_text_format(output, ":%u", frame->line);
    if (with_column && frame->column != 0)
        bat_text_format(output, ":%u", frame->column);
}

/* Write the line's start, up to end, with the frame's new number. */
static void write_start(struct bat_symbolize *text, const struct text_frame *frame, size_t inlined,
                        size_t end)
{
    struct bat_text_writer *output = text->printer.output;
    const struct bat_stack_line *read = &frame->read;
    if (!read->has_number) {
        bat_text_bytes(output, frame->line, end);
        return;
    }
    char digits[24];
    uint64_t number = read->number + text->shift + inlined;
    size_t length = (size_t)(bat_put_decimal(digits, number) - digits);
    size_t before = read->number_end - read->number_start;
    bat_text_bytes(output, frame->line, read->number_start);
    bat_text_bytes(output, digits, length);
    /* A longer number takes blanks that follow it, so that the rest stays in its column. */
    size_t rest = read->number_end;
    while (before < length && rest + 1 < end && frame->line[rest] == ' ' &&
           frame->line[rest + 1] == ' ') {
        rest++;
        before++;
    }
    bat_text_bytes(output, frame->line + rest, end - rest);
}

static void write_gdb(struct bat_symbolize *text, const struct text_frame *frame)
{
    struct bat_text_writer *output = text->printer.output;
    for (size_t i = 0; i < frame->count; i++) {
        const struct bat_source_frame *source = &frame->frames[i];
        /* gdb prints an address only if it is not the first of a line: in the innermost frame. */
        write_start(text, frame, i, i == 0 ? frame->read.address_end : frame->read.number_end);
        bat_text_name(output, i == 0 ? " in " : "  ", function_name(text, source), " ()");
        write_location(text, " at ", source, false);
        bat_text_string(output, "\n");
    }
}

/* The forms of the sanitizers, systemd and glog: only the address has a fixed place, in front. */
static void write_simple(struct bat_symbolize *text, const struct text_frame *frame)
{
    struct bat_text_writer *output = text->printer.output;
    const char *before = frame->read.form == BAT_FORM_SANITIZER ? " in " : "  ";
    for (size_t i = 0; i < frame->count; i++) {
        const struct bat_source_frame *source = &frame->frames[i];
        write_start(text, frame, i, frame->read.address_end);
        bat_text_name(output, before, function_name(text, source), "");
        write_location(text, " ", source, true);
        bat_text_string(output, "\n");
    }
}

/* Write inlined calls and source lines in perf's own form. */
static void write_perf(struct bat_symbolize *text, const struct text_frame *frame)
{
    struct bat_text_writer *output = text->printer.output;
    for (size_t i = 0; i < frame->count; i++) {
        const struct bat_source_frame *source = &frame->frames[i];
        write_start(text, frame, i, frame->read.address_end);
        bat_text_name(output, " ", function_name(text, source), "");
        if (i + 1 < frame->count) {
            bat_text_string(output, " (inlined)");
        } else if (frame->read.module.length != 0) {
            bat_text_string(output, " (");
            bat_text_bytes(output, frame->read.module.text, frame->read.module.length);
            bat_text_string(output, ")");
        }
        write_location(text, "\n  ", source, false);
        bat_text_string(output, "\n");
    }
}

/* Write the line up to end, and the frames behind it. */
static void write_behind(struct bat_symbolize *text, const struct text_frame *frame, size_t end)
{
    struct bat_text_writer *output = text->printer.output;
    bat_text_bytes(output, frame->line, end);
    for (size_t i = 0; i < frame->count; i++) {
        const struct bat_source_frame *source = &frame->frames[i];
        bat_text_name(output, i == 0 ? " " : " (inlined by) ", function_name(text, source), "");
        write_location(text, " at ", source, true);
    }
    bat_text_string(output, "\n");
}

static void write_json(struct bat_symbolize *text, const struct text_frame *frame)
{
    if (frame->read.kind != BAT_LINE_FRAME && frame->read.kind != BAT_LINE_PC)
        return;
    struct symbolize_request request = {frame->module, frame->read.address,
                                        frame->read.has_address};
    if (frame->count != 0) {
        symbolize_print_frames(&text->printer, &request, frame->frames, frame->count);
        return;
    }
    char name[1024];
    size_t length =
        frame->read.name.length < sizeof(name) ? frame->read.name.length : sizeof(name) - 1;
    if (length != 0)
        memcpy(name, frame->read.name.text, length);
    name[length] = '\0';
    struct bat_source_frame as_read = {.function = length != 0 ? name : NULL};
    struct demangled_names *names = text->printer.names;
    text->printer.names = NULL; /* the name's memory is not kept */
    symbolize_print_frames(&text->printer, &request, &as_read, 1);
    text->printer.names = names;
}

void symbolize_frame_write(struct bat_symbolize *text, const struct text_frame *frame)
{
    const struct bat_stack_line *read = &frame->read;
    if (text->options.style == BAT_STYLE_JSON) {
        write_json(text, frame);
        return;
    }
    if (read->has_number && read->number == 0)
        text->shift = 0;
    if (frame->count == 0) {
        write_start(text, frame, 0, frame->length);
        bat_text_string(text->printer.output, "\n");
        return;
    }
    switch (read->form) {
    case BAT_FORM_GDB:
        write_gdb(text, frame);
        break;
    case BAT_FORM_PERF:
        write_perf(text, frame);
        break;
    case BAT_FORM_BACKTRACE:
        write_behind(text, frame, frame->length);
        break;
    case BAT_FORM_PERF_SAMPLE:
        write_behind(text, frame, read->address_end);
        break;
    default:
        write_simple(text, frame);
        break;
    }
    if (read->has_number)
        text->shift += frame->count - 1;
}
