/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds and prints the frames of an address of the given binary, and notes where it was found. */
#include "symbolize_text.h"

/* Look up and print an address. Without inlined calls, GNU's addr2line names the inlined function,
 * LLVM's the function that has the code. */
enum bat_symbolizer_found symbolize_print_request(const struct bat_symbolize *text,
                                                  struct bat_symbolizer *symbolizer,
                                                  struct symbolize_printer *printer,
                                                  const struct symbolize_request *request)
{
    const struct bat_source_frame *frames;
    size_t count;
    const struct bat_symbolize_options *options = &text->options;
    struct bat_frames_options wanted = {
        .size = sizeof(wanted),
        .plain_names = options->functions != BAT_FUNCTIONS_LINKAGE,
        .folders = options->paths == BAT_PATHS_RELATIVE,
        .no_inlines = !options->inlines && options->style != BAT_STYLE_GNU,
    };
    enum bat_frame_pc pc = text->options.return_addresses ? BAT_PC_RETURN : BAT_PC_EXACT;
    enum bat_symbolizer_found found = bat_symbolizer_frames(
        symbolizer, request->address - text->options.adjust, pc, &wanted, &frames, &count);
    symbolize_print_frames(printer, request, frames, options->inlines ? count : 1);
    return found;
}

enum bat_symbolizer_found symbolize_print_code(const struct bat_symbolize *text,
                                               struct bat_symbolizer *symbolizer,
                                               struct symbolize_printer *printer, uint64_t address)
{
    const struct bat_symbolizer *given;
    const struct symbolize_request request = {symbolize_files_at(text->files, 0, &given, NULL),
                                              address, true};
    return symbolize_print_request(text, symbolizer, printer, &request);
}

void symbolize_note_found(struct bat_symbolize *text, uint64_t address,
                          enum bat_symbolizer_found found)
{
    if (found == BAT_FOUND_NOWHERE && text->findings.outside++ == 0)
        text->findings.first_outside = address;
}
