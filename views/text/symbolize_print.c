/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_text.h"

#define UNKNOWN "??"

/* No line of numbers is longer. */
#define LINE_SIZE_MAX 128u

const char *symbolize_printed_function(struct symbolize_printer *printer,
                                       const struct bat_source_frame *frame)
{
    if (!frame->function)
        return NULL;
    return printer->names ? demangled(printer->names, frame->function) : frame->function;
}

/* file without folder in front; file itself if it is elsewhere. */
static const char *without_folder(const char *file, const char *folder)
{
    size_t length = folder ? strlen(folder) : 0;
    while (length > 1 && folder[length - 1] == '/')
        length--;
    bool inside = length != 0 && strncmp(file, folder, length) == 0 && file[length] == '/';
    return inside ? file + length + 1 : file;
}

const char *symbolize_printed_file(const struct symbolize_printer *printer,
                                   const struct bat_source_frame *frame, const char *file)
{
    if (!file || printer->options->paths == BAT_PATHS_ABSOLUTE)
        return file;
    if (printer->options->paths == BAT_PATHS_RELATIVE)
        return without_folder(file, frame->folder);
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* --- Plain ---------------------------------------------------------------------------------- */

static void print_header(struct symbolize_printer *printer, uint64_t address)
{
    if (!printer->options->addresses)
        return;
    char *at = bat_text_room(printer->output, LINE_SIZE_MAX);
    at = bat_put_text(at, "0x");
    at = bat_put_hex(at, address);
    at = bat_put_text(at, printer->options->pretty ? ": " : "\n");
    bat_text_end(printer->output, at);
}

static void print_end(struct symbolize_printer *printer)
{
    if (printer->options->style == BAT_STYLE_LLVM)
        bat_text_bytes(printer->output, "\n", 1);
}

static void print_verbose(struct symbolize_printer *printer, const struct bat_source_frame *frame)
{
    struct bat_text_writer *output = printer->output;
    const char *file = symbolize_printed_file(printer, frame, frame->file);
    const char *start_file = symbolize_printed_file(printer, frame, frame->start_file);
    bat_text_name(output, "  Filename: ", file ? file : UNKNOWN, "\n");
    if (frame->start_line != 0) {
        bat_text_name(output, "  Function start filename: ", start_file ? start_file : "", "\n");
        bat_text_format(output, "  Function start line: %u\n", frame->start_line);
    }
    if (printer->options->style == BAT_STYLE_LLVM && frame->has_start_address)
        bat_text_format(output, "  Function start address: 0x%lx\n", frame->start_address);
    bat_text_format(output, "  Line: %u\n  Column: %u\n", frame->line, frame->column);
    if (frame->discriminator != 0)
        bat_text_format(output, "  Discriminator: %u\n", frame->discriminator);
}

static void print_location(struct symbolize_printer *printer, const struct bat_source_frame *frame)
{
    const char *file = symbolize_printed_file(printer, frame, frame->file);
    bat_text_escaped(printer->output, file ? file : UNKNOWN);
    char *at = bat_text_room(printer->output, LINE_SIZE_MAX);
    at = bat_put_text(at, ":");
    at = bat_put_decimal(at, frame->line);
    if (printer->options->style == BAT_STYLE_LLVM) {
        at = bat_put_text(at, ":");
        at = bat_put_decimal(at, frame->column);
    } else if (frame->discriminator != 0) {
        at = bat_put_text(at, " (discriminator ");
        at = bat_put_decimal(at, frame->discriminator);
        at = bat_put_text(at, ")");
    }
    at = bat_put_text(at, "\n");
    bat_text_end(printer->output, at);
}

static void print_frame(struct symbolize_printer *printer, const struct bat_source_frame *frame,
                        bool is_caller)
{
    struct bat_text_writer *output = printer->output;
    bool pretty = printer->options->pretty;
    if (printer->options->functions != BAT_FUNCTIONS_NONE) {
        if (pretty && is_caller)
            bat_text_string(output, " (inlined by) ");
        const char *function = symbolize_printed_function(printer, frame);
        bat_text_name(output, "", function ? function : UNKNOWN, pretty ? " at " : "\n");
    }
    if (printer->options->verbose)
        print_verbose(printer, frame);
    else
        print_location(printer, frame);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Members are printed in the order of their names. */
static void json_begin(struct symbolize_printer *printer)
{
    if (printer->options->is_list && printer->has_first)
        bat_text_string(printer->output, ",");
    printer->has_first = true;
    bat_text_string(printer->output, "{");
}

static void json_address(struct symbolize_printer *printer, const struct symbolize_request *request)
{
    if (request->has_address)
        bat_text_format(printer->output, "\"Address\":\"0x%lx\",", request->address);
}

static void json_string(struct bat_text_writer *output, const char *member, const char *value)
{
    bat_text_member(output, member, value ? value : "");
}

static void json_number(struct bat_text_writer *output, const char *member, uint64_t value)
{
    char *at = bat_text_room(output, LINE_SIZE_MAX);
    at = bat_put_text(at, member);
    at = bat_put_decimal(at, value);
    bat_text_end(output, at);
}

static void json_frame(struct symbolize_printer *printer, const struct bat_source_frame *frame)
{
    struct bat_text_writer *output = printer->output;
    bool functions = printer->options->functions != BAT_FUNCTIONS_NONE;
    json_number(output, "{\"Column\":", frame->column);
    json_number(output, ",\"Discriminator\":", frame->discriminator);
    json_string(output, ",\"FileName\":", symbolize_printed_file(printer, frame, frame->file));
    json_string(output, ",\"FunctionName\":",
                functions ? symbolize_printed_function(printer, frame) : NULL);
    json_number(output, ",\"Line\":", frame->line);
    bat_text_string(output, ",\"StartAddress\":\"");
    if (frame->has_start_address)
        bat_text_format(output, "0x%lx", frame->start_address);
    json_string(output,
                "\",\"StartFileName\":", symbolize_printed_file(printer, frame, frame->start_file));
    json_number(output, ",\"StartLine\":", frame->start_line);
    bat_text_string(output, "}");
}

static void json_frames(struct symbolize_printer *printer, const struct symbolize_request *request,
                        const struct bat_source_frame *frames, size_t count)
{
    json_begin(printer);
    json_address(printer, request);
    bat_text_member(printer->output, "\"ModuleName\":", request->module);
    bat_text_string(printer->output, ",\"Symbol\":[");
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            bat_text_string(printer->output, ",");
        json_frame(printer, &frames[i]);
    }
    bat_text_string(printer->output, "]");
    bat_text_string(printer->output, printer->options->is_list ? "}" : "}\n");
}

/* --- Answers -------------------------------------------------------------------------------- */

void symbolize_print_frames(struct symbolize_printer *printer,
                            const struct symbolize_request *request,
                            const struct bat_source_frame *frames, size_t count)
{
    if (printer->options->style == BAT_STYLE_JSON) {
        json_frames(printer, request, frames, count);
        return;
    }
    print_header(printer, request->address);
    for (size_t i = 0; i < count; i++)
        print_frame(printer, &frames[i], i != 0);
    print_end(printer);
}

void symbolize_print_data(struct symbolize_printer *printer,
                          const struct symbolize_request *request, const struct bat_symbol *symbol)
{
    static const struct bat_symbol unknown = {.name = NULL};
    struct bat_text_writer *output = printer->output;
    const char *name = symbol ? symbol->name : NULL;
    if (name && printer->names)
        name = demangled(printer->names, name);
    if (!symbol)
        symbol = &unknown;
    if (printer->options->style != BAT_STYLE_JSON) {
        print_header(printer, request->address);
        bat_text_name(output, "", name ? name : UNKNOWN, "\n");
        bat_text_format(output, "%lu %lu\n", symbol->address, symbol->size);
        bat_text_name(output, "", symbol->file ? symbol->file : UNKNOWN,
                      symbol->file ? ":0\n" : ":?\n");
        print_end(printer);
        return;
    }
    json_begin(printer);
    json_address(printer, request);
    json_string(output, "\"Data\":{\"Name\":", name);
    bat_text_format(output, ",\"Size\":\"0x%lx\",\"Start\":\"0x%lx\"},", symbol->size,
                    symbol->address);
    bat_text_member(printer->output, "\"ModuleName\":", request->module);
    bat_text_string(printer->output, printer->options->is_list ? "}" : "}\n");
}

void symbolize_print_no_locals(struct symbolize_printer *printer,
                               const struct symbolize_request *request)
{
    if (printer->options->style != BAT_STYLE_JSON) {
        print_header(printer, request->address);
        bat_text_string(printer->output, UNKNOWN "\n");
        print_end(printer);
        return;
    }
    json_begin(printer);
    json_address(printer, request);
    bat_text_string(printer->output, "\"Frame\":[],");
    bat_text_member(printer->output, "\"ModuleName\":", request->module);
    bat_text_string(printer->output, printer->options->is_list ? "}" : "}\n");
}

void symbolize_print_error(struct symbolize_printer *printer,
                           const struct symbolize_request *request, const char *message)
{
    if (printer->options->style != BAT_STYLE_JSON) {
        static const struct bat_source_frame unknown = {.function = NULL};
        symbolize_print_frames(printer, request, &unknown, 1);
        return;
    }
    json_begin(printer);
    json_address(printer, request);
    json_string(printer->output, "\"Error\":{\"Message\":", message);
    bat_text_string(printer->output, "},");
    bat_text_member(printer->output, "\"ModuleName\":", request->module);
    bat_text_string(printer->output, printer->options->is_list ? "}" : "}\n");
}

void symbolize_print_unread(struct symbolize_printer *printer, const char *line, size_t length)
{
    if (printer->options->style != BAT_STYLE_JSON) {
        bat_text_bytes(printer->output, line, length);
        bat_text_bytes(printer->output, "\n", 1);
        return;
    }
    static const struct symbolize_request nothing = {.module = ""};
    symbolize_print_error(printer, &nothing,
                          "expected an address or a frame, found neither in the line");
}

void symbolize_print_list(struct symbolize_printer *printer, bool is_begin)
{
    if (printer->options->is_list)
        bat_text_string(printer->output, is_begin ? "[" : "]\n");
}
