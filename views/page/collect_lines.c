/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The source lines of the blocks of functions with samples, if there is debug information. */
#include <stdlib.h>
#include <string.h>

#include "bat_debuginfo.h"
#include "report.h"

/* Set the line of a block by the address of its first instruction. False without memory. */
static bool find_line(struct report *report, struct bat_debuginfo *debuginfo, uint64_t address,
                      struct report_line *line)
{
    struct bat_frame frame;
    if (!bat_debuginfo_line(debuginfo, address, &frame) || !frame.file)
        return true;
    uint32_t file;
    if (bat_strings_add(&report->files, frame.file, strlen(frame.file), &file) != BAT_OK)
        return false;
    *line = (struct report_line){file + 1, frame.line};
    return true;
}

static bool find_lines_of(struct report *report, struct bat_debuginfo *debuginfo,
                          const struct report_piece *piece)
{
    const struct report_function *function = &report->functions[piece->function];
    bool fits = true;
    for (uint32_t i = 0; fits && i < piece->block_count; i++) {
        uint32_t block = piece->first_block + i;
        uint64_t address = report->original ? function->input_address + report->blocks[block].input
                                            : piece->address + report->blocks[block].output;
        fits = find_line(report, debuginfo, address, &report->lines[block]);
    }
    return fits && !bat_debuginfo_lacks_memory(debuginfo);
}

/* The lines of the instructions of the layout that the debug information is of. */
static bool find_lines_of_code(struct report *report, struct bat_debuginfo *debuginfo)
{
    struct report_listing *listing =
        &report->listings[report->original ? REPORT_BEFORE : REPORT_AFTER];
    bool fits = true;
    for (uint32_t i = 0; fits && i < listing->count; i++)
        fits = find_line(report, debuginfo, listing->all[i].address, &listing->all[i].line);
    return fits && !bat_debuginfo_lacks_memory(debuginfo);
}

/* Debug information of the input, or, without --original, of the output if BOLT kept it there. */
static enum bat_code open_debuginfo(struct report *report, struct bat_debuginfo **debuginfo)
{
    const struct bat_page_request *request = report->request;
    const char *path =
        report->original ? request->original : bat_stored_or(&report->stored, request->binary);
    *debuginfo = NULL;
    enum bat_code code = bat_debuginfo_open(path, NULL, debuginfo, &report->error);
    if (code == BAT_ERR_MEMORY)
        return report_no_memory(report);
    if (code != BAT_OK && code != BAT_ERR_NO_DEBUG) {
        char text[BAT_MESSAGE_SIZE + 64];
        bat_error_text(&report->error, text, sizeof(text));
        report_warn(report, report->original ? path : request->binary, "no source lines: %s", text);
    }
    return BAT_OK;
}

enum bat_code report_collect_lines(struct report *report)
{
    struct bat_debuginfo *debuginfo;
    enum bat_code code = report->samples ? open_debuginfo(report, &debuginfo) : BAT_OK;
    if (code != BAT_OK || report->samples == 0 || !debuginfo)
        return code;
    report->lines = calloc((size_t)report->block_count + 1, sizeof(*report->lines));
    bool fits = report->lines != NULL;
    for (uint32_t i = 0; fits && i < report->piece_count; i++) {
        const struct report_function *function = &report->functions[report->pieces[i].function];
        if (function->samples != 0 && (!report->original || function->input_section != BAT_NONE))
            fits = find_lines_of(report, debuginfo, &report->pieces[i]);
    }
    fits = fits && find_lines_of_code(report, debuginfo);
    bat_debuginfo_close(debuginfo);
    return fits ? BAT_OK : report_no_memory(report);
}
