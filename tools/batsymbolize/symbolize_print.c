/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_print.h"

#include <inttypes.h>

#include "tools/common/output.h"

#define UNKNOWN "??"

/* No line of numbers is longer. */
#define LINE_SIZE_MAX 128u

const char *printed_function(struct symbolize_printer *printer,
                             const struct bat_source_frame *frame)
{
    if (!frame->function)
        return NULL;
    return printer->options.demangle ? demangled(printer->names, frame->function) : frame->function;
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

const char *printed_file(const struct symbolize_printer *printer,
                         const struct bat_source_frame *frame, const char *file)
{
    if (!file || printer->options.paths == PATHS_ABSOLUTE)
        return file;
    if (printer->options.paths == PATHS_RELATIVE)
        return without_folder(file, frame->folder);
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* --- Plain ---------------------------------------------------------------------------------- */

static void print_header(struct symbolize_printer *printer, uint64_t address)
{
    if (!printer->options.addresses)
        return;
    char *at = output_reserve(printer->output, LINE_SIZE_MAX);
    at = bat_put_text(at, "0x");
    at = bat_put_hex(at, address);
    at = bat_put_text(at, printer->options.pretty ? ": " : "\n");
    output_commit(printer->output, at);
}

static void print_end(struct symbolize_printer *printer)
{
    if (printer->options.style == STYLE_LLVM)
        output_bytes(printer->output, "\n", 1);
}

static void print_line(struct output *output, const char *label, const char *text)
{
    output_name(output, label, text, "\n");
}

static void print_verbose(struct symbolize_printer *printer, const struct bat_source_frame *frame)
{
    struct output *output = printer->output;
    const char *file = printed_file(printer, frame, frame->file);
    const char *start_file = printed_file(printer, frame, frame->start_file);
    print_line(output, "  Filename: ", file ? file : UNKNOWN);
    if (frame->start_line != 0) {
        print_line(output, "  Function start filename: ", start_file ? start_file : "");
        output_format(output, "  Function start line: %" PRIu32 "\n", frame->start_line);
    }
    if (printer->options.style == STYLE_LLVM && frame->has_start_address)
        output_format(output, "  Function start address: 0x%" PRIx64 "\n", frame->start_address);
    output_format(output, "  Line: %" PRIu32 "\n  Column: %" PRIu32 "\n", frame->line,
                  frame->column);
    if (frame->discriminator != 0)
        output_format(output, "  Discriminator: %" PRIu32 "\n", frame->discriminator);
}

static void print_location(struct symbolize_printer *printer, const struct bat_source_frame *frame)
{
    const char *file = printed_file(printer, frame, frame->file);
    output_escaped(printer->output, file ? file : UNKNOWN);
    char *at = output_reserve(printer->output, LINE_SIZE_MAX);
    at = bat_put_text(at, ":");
    at = bat_put_decimal(at, frame->line);
    if (printer->options.style == STYLE_LLVM) {
        at = bat_put_text(at, ":");
        at = bat_put_decimal(at, frame->column);
    } else if (frame->discriminator != 0) {
        at = bat_put_text(at, " (discriminator ");
        at = bat_put_decimal(at, frame->discriminator);
        at = bat_put_text(at, ")");
    }
    at = bat_put_text(at, "\n");
    output_commit(printer->output, at);
}

static void print_frame(struct symbolize_printer *printer, const struct bat_source_frame *frame,
                        bool is_caller)
{
    struct output *output = printer->output;
    bool pretty = printer->options.pretty;
    if (printer->options.functions != FUNCTIONS_NONE) {
        if (pretty && is_caller)
            output_text(output, " (inlined by) ");
        const char *function = printed_function(printer, frame);
        output_name(output, "", function ? function : UNKNOWN, pretty ? " at " : "\n");
    }
    if (printer->options.verbose)
        print_verbose(printer, frame);
    else
        print_location(printer, frame);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Members are printed in the order of their names. */
static void json_begin(struct symbolize_printer *printer)
{
    if (printer->in_list && printer->has_first)
        output_text(printer->output, ",");
    printer->has_first = true;
    output_text(printer->output, "{");
}

static void json_address(struct symbolize_printer *printer, const struct symbolize_request *request)
{
    if (request->has_address)
        output_format(printer->output, "\"Address\":\"0x%" PRIx64 "\",", request->address);
}

static void json_module(struct symbolize_printer *printer, const struct symbolize_request *request)
{
    output_json_member(printer->output, "\"ModuleName\":", request->module);
}

static void json_end(struct symbolize_printer *printer)
{
    output_text(printer->output, printer->in_list ? "}" : "}\n");
}

static void json_string(struct output *output, const char *member, const char *value)
{
    output_json_member(output, member, value ? value : "");
}

static void json_number(struct output *output, const char *member, uint64_t value)
{
    char *at = output_reserve(output, LINE_SIZE_MAX);
    at = bat_put_text(at, member);
    at = bat_put_decimal(at, value);
    output_commit(output, at);
}

static void json_frame(struct symbolize_printer *printer, const struct bat_source_frame *frame)
{
    struct output *output = printer->output;
    bool functions = printer->options.functions != FUNCTIONS_NONE;
    json_number(output, "{\"Column\":", frame->column);
    json_number(output, ",\"Discriminator\":", frame->discriminator);
    json_string(output, ",\"FileName\":", printed_file(printer, frame, frame->file));
    json_string(output, ",\"FunctionName\":", functions ? printed_function(printer, frame) : NULL);
    json_number(output, ",\"Line\":", frame->line);
    output_text(output, ",\"StartAddress\":\"");
    if (frame->has_start_address)
        output_format(output, "0x%" PRIx64, frame->start_address);
    json_string(output, "\",\"StartFileName\":", printed_file(printer, frame, frame->start_file));
    json_number(output, ",\"StartLine\":", frame->start_line);
    output_text(output, "}");
}

static void json_frames(struct symbolize_printer *printer, const struct symbolize_request *request,
                        const struct bat_source_frame *frames, size_t count)
{
    json_begin(printer);
    json_address(printer, request);
    json_module(printer, request);
    output_text(printer->output, ",\"Symbol\":[");
    for (size_t i = 0; i < count; i++) {
        if (i != 0)
            output_text(printer->output, ",");
        json_frame(printer, &frames[i]);
    }
    output_text(printer->output, "]");
    json_end(printer);
}

/* --- Answers -------------------------------------------------------------------------------- */

void print_frames(struct symbolize_printer *printer, const struct symbolize_request *request,
                  const struct bat_source_frame *frames, size_t count)
{
    if (printer->options.style == STYLE_JSON) {
        json_frames(printer, request, frames, count);
        return;
    }
    print_header(printer, request->address);
    for (size_t i = 0; i < count; i++)
        print_frame(printer, &frames[i], i != 0);
    print_end(printer);
}

void print_data(struct symbolize_printer *printer, const struct symbolize_request *request,
                const struct bat_symbol *symbol)
{
    static const struct bat_symbol unknown = {.name = NULL};
    struct output *output = printer->output;
    const char *name = symbol ? symbol->name : NULL;
    if (name && printer->options.demangle)
        name = demangled(printer->names, name);
    if (!symbol)
        symbol = &unknown;
    if (printer->options.style != STYLE_JSON) {
        print_header(printer, request->address);
        print_line(output, "", name ? name : UNKNOWN);
        output_format(output, "%" PRIu64 " %" PRIu64 "\n", symbol->address, symbol->size);
        output_name(output, "", symbol->file ? symbol->file : UNKNOWN,
                    symbol->file ? ":0\n" : ":?\n");
        print_end(printer);
        return;
    }
    json_begin(printer);
    json_address(printer, request);
    json_string(output, "\"Data\":{\"Name\":", name);
    output_format(output, ",\"Size\":\"0x%" PRIx64 "\",\"Start\":\"0x%" PRIx64 "\"},", symbol->size,
                  symbol->address);
    json_module(printer, request);
    json_end(printer);
}

void print_no_locals(struct symbolize_printer *printer, const struct symbolize_request *request)
{
    if (printer->options.style != STYLE_JSON) {
        print_header(printer, request->address);
        output_text(printer->output, UNKNOWN "\n");
        print_end(printer);
        return;
    }
    json_begin(printer);
    json_address(printer, request);
    output_text(printer->output, "\"Frame\":[],");
    json_module(printer, request);
    json_end(printer);
}

void print_error(struct symbolize_printer *printer, const struct symbolize_request *request,
                 const char *message)
{
    if (printer->options.style != STYLE_JSON) {
        static const struct bat_source_frame unknown = {.function = NULL};
        print_frames(printer, request, &unknown, 1);
        return;
    }
    json_begin(printer);
    json_address(printer, request);
    json_string(printer->output, "\"Error\":{\"Message\":", message);
    output_text(printer->output, "},");
    json_module(printer, request);
    json_end(printer);
}

void print_unread(struct symbolize_printer *printer, const char *line, size_t length)
{
    if (printer->options.style != STYLE_JSON) {
        output_bytes(printer->output, line, length);
        output_bytes(printer->output, "\n", 1);
        return;
    }
    static const struct symbolize_request nothing = {.module = ""};
    print_error(printer, &nothing, "expected an address or a frame, found neither in the line");
}

void print_list_begin(struct symbolize_printer *printer)
{
    printer->in_list = true;
    printer->has_first = false;
    output_text(printer->output, "[");
}

void print_list_end(struct symbolize_printer *printer)
{
    output_text(printer->output, "]\n");
    printer->in_list = false;
}
