/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "foreign_profile.h"

#include "bat_autofdo.h"
#include "tools/common/profile_warnings.h"
#include "tools/common/tool.h"
#include "translate_report.h"

static void print_report(const struct foreign_profile *wanted,
                         const struct bat_autofdo_counters *done)
{
    const struct bat_to_input_counters none = {0};
    const struct bat_to_input_counters *moved = wanted->moved ? wanted->moved : &none;
    const struct figure first[] = {
        {"samples", "samples", done->samples, 0},
        {"outside", "outside of the program's code", done->outside, done->samples},
    };
    const struct figure of_moved[] = {
        {"folded", "in functions that were folded", moved->folded, moved->samples},
        {"folded_known", "of these, in a known function", moved->folded_known, moved->folded},
    };
    const struct figure of_ranges[] = {
        {"invalid", "not one run of code", done->invalid, done->samples},
        {"ranges", "ranges", done->ranges, 0},
        {"branches", "branches", done->branches, 0},
    };
    const struct figure of_code[] = {
        {"without_debug", "in functions without debug information", done->without_debug,
         done->samples},
        {"functions", "functions written", done->functions, 0},
        {"units", "units with code", done->units, 0},
        {"units_read", "read", done->units_read, done->units},
    };
    struct figures figures = {.count = 0};
    figures_add(&figures, first, 2);
    if (wanted->moved)
        figures_add(&figures, of_moved, 2);
    if (wanted->by_addresses || wanted->kind == BAT_PROFILE_BRANCHES)
        figures_add(&figures, of_ranges, 3);
    if (!wanted->by_addresses)
        figures_add(&figures, of_code, 4);
    figures_print(wanted->report, wanted->json_report, 40, &figures);
    if (wanted->moved)
        report_by_note(wanted->report, wanted->json_report, moved);
}

static enum tool_exit write_symbolized(const struct foreign_profile *wanted,
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
    enum tool_exit status = code == BAT_OK ? TOOL_FINE : tool_report_output(path, &error);
    if (bat_elf_section(wanted->elf, ".pseudo_probe") && status == TOOL_FINE)
        tool_message(path, "warning: was compiled with -fpseudo-probe-for-profiling: the profile "
                           "written is by lines, and a compiler with that option accepts only one "
                           "by probes (llvm-profgen makes it)");
    split_units_warn(path, done->units_missing, done->units_read);
    bat_debuginfo_close(debuginfo);
    return status;
}

enum tool_exit compiler_profile_write(const struct foreign_profile *wanted)
{
    struct bat_autofdo_counters done = {0};
    enum tool_exit status = TOOL_FINE;
    struct bat_error error;
    if (!wanted->by_addresses)
        status = write_symbolized(wanted, &done);
    else if (bat_profgen_write(wanted->profile, wanted->elf, wanted->output, &done, &error) !=
             BAT_OK)
        status = tool_report_output(bat_elf_path(wanted->elf), &error);
    if (status == TOOL_FINE && wanted->report)
        print_report(wanted, &done);
    return status;
}
