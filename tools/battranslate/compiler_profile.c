/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler_profile.h"

#include <inttypes.h>

#include "bat_autofdo.h"
#include "tools/common/split_units.h"
#include "tools/common/tool.h"

/* A line of the report. */
struct figure {
    const char *key;   /* in JSON */
    const char *label; /* for people */
    uint64_t value;
    uint64_t whole; /* value is a part of it; 0 for none */
};

#define FIGURES_MAX 12u

static size_t gather(const struct compiler_profile *wanted, const struct bat_autofdo_counters *done,
                     struct figure *figures)
{
    size_t count = 0;
    figures[count++] = (struct figure){"samples", "samples", done->samples, 0};
    figures[count++] =
        (struct figure){"outside", "outside of the program's code", done->outside, done->samples};
    if (wanted->moved) {
        figures[count++] = (struct figure){"folded", "in functions that were folded",
                                           wanted->moved->folded, wanted->moved->samples};
        figures[count++] = (struct figure){"folded_known", "of these, in a known function",
                                           wanted->moved->folded_known, wanted->moved->folded};
    }
    if (wanted->by_addresses || wanted->kind == BAT_PROFILE_BRANCHES) {
        figures[count++] =
            (struct figure){"invalid", "not one run of code", done->invalid, done->samples};
        figures[count++] = (struct figure){"ranges", "ranges", done->ranges, 0};
        figures[count++] = (struct figure){"branches", "branches", done->branches, 0};
    }
    if (wanted->by_addresses)
        return count;
    figures[count++] = (struct figure){"without_debug", "in functions without debug information",
                                       done->without_debug, done->samples};
    figures[count++] = (struct figure){"functions", "functions written", done->functions, 0};
    figures[count++] = (struct figure){"units", "units with code", done->units, 0};
    figures[count++] = (struct figure){"units_read", "read", done->units_read, done->units};
    return count;
}

static void print_report(const struct compiler_profile *wanted,
                         const struct bat_autofdo_counters *done)
{
    struct figure figures[FIGURES_MAX];
    size_t count = gather(wanted, done, figures);
    for (size_t i = 0; i < count; i++) {
        const struct figure *figure = &figures[i];
        if (wanted->json_report) {
            fprintf(wanted->report, "%s\"%s\":%" PRIu64, i ? "," : "{", figure->key, figure->value);
            continue;
        }
        int indent = figure->whole ? 2 : 0;
        fprintf(wanted->report, "%*s%-*s %14" PRIu64, indent, "", 40 - indent, figure->label,
                figure->value);
        if (figure->whole)
            fprintf(wanted->report, "  %5.1f%%",
                    100.0 * (double)figure->value / (double)figure->whole);
        fputc('\n', wanted->report);
    }
}

/* Print an error. That of an output has its path already. */
static enum tool_exit fail(const struct compiler_profile *wanted, const struct bat_error *error)
{
    bool is_output = error->code == BAT_ERR_IO;
    return tool_report(is_output ? NULL : bat_elf_path(wanted->elf), error);
}

static enum tool_exit write_symbolized(const struct compiler_profile *wanted,
                                       struct bat_autofdo_counters *done)
{
    const char *path = bat_elf_path(wanted->elf);
    struct bat_debuginfo *debuginfo;
    struct bat_error error;
    if (bat_debuginfo_open(wanted->whole, wanted->debug_file, &debuginfo, &error) != BAT_OK)
        return tool_report(wanted->debug_file ? wanted->debug_file : path, &error);
    bat_debuginfo_set_threads(debuginfo, wanted->threads);
    enum bat_code code = bat_autofdo_write(wanted->profile, wanted->elf, debuginfo, wanted->kind,
                                           wanted->output, done, &error);
    enum tool_exit status = code == BAT_OK ? TOOL_FINE : fail(wanted, &error);
    if (bat_elf_section(wanted->elf, ".pseudo_probe") && status == TOOL_FINE)
        tool_message(path, "warning: was compiled with -fpseudo-probe-for-profiling: the profile "
                           "written is by lines, and a compiler with that option accepts only one "
                           "by probes (llvm-profgen makes it)");
    split_units_warn(path, done->units_missing, done->units_read);
    bat_debuginfo_close(debuginfo);
    return status;
}

enum tool_exit compiler_profile_write(const struct compiler_profile *wanted)
{
    struct bat_autofdo_counters done = {0};
    enum tool_exit status = TOOL_FINE;
    struct bat_error error;
    if (!wanted->by_addresses)
        status = write_symbolized(wanted, &done);
    else if (bat_profgen_write(wanted->profile, wanted->elf, wanted->output, &done, &error) !=
             BAT_OK)
        status = fail(wanted, &error);
    if (status == TOOL_FINE && wanted->report)
        print_report(wanted, &done);
    return status;
}
