/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "foreign_profile.h"

#include "bat_autofdo.h"
#include "tools/common/tool.h"
#include "translate_report.h"

#define FIGURES_MAX 12u

static size_t gather(const struct foreign_profile *wanted, const struct bat_autofdo_counters *done,
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

static void print_report(const struct foreign_profile *wanted,
                         const struct bat_autofdo_counters *done)
{
    struct figure figures[FIGURES_MAX];
    size_t count = gather(wanted, done, figures);
    figures_print(wanted->report, wanted->json_report, 40, figures, count);
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
