/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "foreign_profile.h"

#include <string.h>

#include "bat_symbolizer.h"
#include "profile/report/report.h"
#include "support/counts.h"
#include "support/demangled_names.h"
#include "tools/common/tool.h"

/* The most frames of one address; no compiler inlines so deeply. */
#define FRAMES_MAX 256u

struct viewing {
    const struct foreign_profile *wanted;
    struct bat_counts addresses; /* key: address */
    struct bat_sampled_stacks *stacks;
    struct bat_symbolizer *symbolizer; /* NULL: names has the functions */
    struct bat_names names;
    struct demangled_names *demangled;
    uint64_t counted;  /* samples or branches */
    uint64_t outside;  /* ... that are not in the binary's code */
    uint64_t no_lines; /* ... in code without a known line */
    struct bat_error error;
};

/* --- Counting ------------------------------------------------------------------------------- */

static enum bat_code count_at(struct viewing *viewing, uint64_t address, uint64_t count)
{
    viewing->counted += count;
    if (address == BAT_ADDRESS_EXTERNAL || address >= BAT_TRACE_EXTERNAL_RETURN) {
        viewing->outside += count;
        return BAT_OK;
    }
    return bat_counts_fail(&viewing->error, bat_counts_add(&viewing->addresses, &address, count, 0),
                           "the profile");
}

static enum bat_code count_all(struct viewing *viewing)
{
    const struct bat_profile *profile = viewing->wanted->profile;
    enum bat_code code = BAT_OK;
    struct bat_trace trace;
    uint64_t address;
    uint64_t count;
    if (viewing->wanted->kind == BAT_PROFILE_BRANCHES) {
        /* A run whose branch is not known is no taken branch. */
        for (uint64_t i = 0; code == BAT_OK && bat_profile_trace(profile, i, &trace); i++)
            if (trace.branch != BAT_TRACE_FALLTHROUGH_ONLY)
                code = count_at(viewing, trace.branch, trace.count);
    } else {
        for (uint64_t i = 0; code == BAT_OK && bat_profile_sample(profile, i, &address, &count);
             i++)
            code = count_at(viewing, address, count);
    }
    /* The order in which a profile returns its records depends on threads. */
    bat_counts_sort(&viewing->addresses);
    return code;
}

/* --- Naming --------------------------------------------------------------------------------- */

static enum tool_exit open_names(struct viewing *viewing)
{
    const struct foreign_profile *wanted = viewing->wanted;
    viewing->stacks = bat_sampled_stacks_new();
    viewing->demangled = demangled_names_new(demangle_name);
    if (!viewing->stacks || !viewing->demangled)
        return tool_no_memory(NULL);
    if (wanted->bolted)
        return bat_names_collect(wanted->bolted, &viewing->names, &viewing->error) == BAT_OK
                   ? TOOL_FINE
                   : tool_report_output(bat_elf_path(viewing->wanted->elf), &viewing->error);
    const char *path = bat_elf_path(wanted->elf);
    const struct bat_symbolizer_options options = {.size = sizeof(options),
                                                   .debug_file = wanted->debug_file};
    enum bat_code code =
        bat_symbolizer_open(wanted->whole, &options, &viewing->symbolizer, &viewing->error);
    const struct bat_error *no_debug =
        code == BAT_OK ? bat_symbolizer_no_debug(viewing->symbolizer) : &viewing->error;
    /* Without debug information there are names of functions; it must not be what failed. */
    if (!no_debug || no_debug->code == BAT_ERR_NO_DEBUG)
        return TOOL_FINE;
    return tool_report(wanted->debug_file ? wanted->debug_file : path, no_debug);
}

/* Name an address by the note: the input's function alone. False if it is in none. */
static bool name_by_note(struct viewing *viewing, uint64_t address, struct bat_sampled_frame *frame)
{
    struct bat_binary_place place;
    bool is_branch = viewing->wanted->kind == BAT_PROFILE_BRANCHES;
    *frame = (struct bat_sampled_frame){.is_lasting = true};
    if (!bat_binary_input_of(viewing->wanted->bolted, &viewing->names, address, is_branch,
                             &place) ||
        !place.symbol)
        return false;
    frame->linkage = place.symbol->name;
    frame->function = demangled_kept(viewing->demangled, place.symbol->name);
    return true;
}

/* Name an address by symbols and debug information. Returns the number of frames. */
static size_t name_by_symbols(struct viewing *viewing, uint64_t address,
                              struct bat_sampled_frame *frames)
{
    const struct bat_source_frame *found;
    size_t count;
    if (bat_symbolizer_frames(viewing->symbolizer, address, BAT_PC_EXACT, NULL, &found, &count) ==
        BAT_FOUND_NOWHERE)
        return 0;
    if (count > FRAMES_MAX)
        count = FRAMES_MAX;
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct bat_sampled_frame){
            .linkage = found[i].function,
            .function =
                found[i].function ? demangled_kept(viewing->demangled, found[i].function) : NULL,
            .file = found[i].file,
            .line = found[i].line,
            .column = found[i].column,
            .start_line = found[i].start_line,
            .is_lasting = true};
    return count;
}

static void name_all(struct viewing *viewing)
{
    for (uint32_t i = 0; i < viewing->addresses.count; i++) {
        const uint64_t *item = bat_counts_item(&viewing->addresses, i);
        struct bat_sampled_frame frames[FRAMES_MAX];
        size_t count = viewing->symbolizer ? name_by_symbols(viewing, item[0], frames)
                                           : name_by_note(viewing, item[0], frames);
        if (count == 0) {
            viewing->outside += item[1];
            continue;
        }
        if (frames[0].line == 0)
            viewing->no_lines += item[1];
        bat_sampled_stacks_begin(viewing->stacks);
        bat_sampled_stacks_place(viewing->stacks, item[0], frames, count);
        bat_sampled_stacks_end(viewing->stacks, item[1]);
    }
}

/* --- Writing -------------------------------------------------------------------------------- */

static void print_report(const struct viewing *viewing, const char *unit)
{
    FILE *report = viewing->wanted->report;
    if (viewing->wanted->json_report) {
        fprintf(report, "{\"%s\":%lu,\"outside\":%lu,\"without_lines\":%lu", unit, viewing->counted,
                viewing->outside, viewing->no_lines);
        return;
    }
    fprintf(report, "%-40s %14lu\n", unit, viewing->counted);
    fprintf(report, "%-40s %14lu\n", "  outside of the program's code", viewing->outside);
    fprintf(report, "%-40s %14lu\n", "  without a known line", viewing->no_lines);
}

static enum tool_exit write_stacks(struct viewing *viewing)
{
    const struct foreign_profile *wanted = viewing->wanted;
    const char *path = bat_elf_path(wanted->elf);
    const char *unit = wanted->kind == BAT_PROFILE_BRANCHES ? "branches" : "samples";
    const struct bat_sampled_subject subject = {
        .title = basename(path), .unit = unit, .program = wanted->elf};
    if (bat_sampled_stacks_write(viewing->stacks, wanted->format, &subject, wanted->output,
                                 &viewing->error) != BAT_OK)
        return tool_report_output(bat_elf_path(viewing->wanted->elf), &viewing->error);
    char warning[KEPT_NAMES_WARNING_SIZE];
    if (demangled_names_warning(viewing->demangled, warning))
        tool_message(path, "warning: %s", warning);
    if (wanted->report)
        print_report(viewing, unit);
    if (wanted->report && wanted->moved)
        report_by_note(wanted->report, wanted->json_report, wanted->moved);
    return TOOL_FINE;
}

static enum tool_exit view(struct viewing *viewing)
{
    const char *path = bat_elf_path(viewing->wanted->elf);
    enum tool_exit status = open_names(viewing);
    if (status == TOOL_FINE && count_all(viewing) != BAT_OK)
        status = tool_report_output(bat_elf_path(viewing->wanted->elf), &viewing->error);
    if (status != TOOL_FINE)
        return status;
    name_all(viewing);
    if (viewing->symbolizer && bat_symbolizer_lacks_memory(viewing->symbolizer))
        return tool_message(path, "not enough memory to read debug information");
    if (viewing->symbolizer) {
        uint64_t read = 0;
        uint64_t missing = bat_symbolizer_units_missing(viewing->symbolizer, &read);
        split_units_warn(path, missing, read);
    }
    if (viewing->counted == viewing->outside)
        return tool_message(path, "expected samples in the program's code, found none in %lu",
                            viewing->counted);
    return write_stacks(viewing);
}

enum tool_exit viewer_profile_write(const struct foreign_profile *wanted)
{
    struct viewing viewing = {.wanted = wanted, .addresses = bat_counts_new(1)};
    enum tool_exit status = view(&viewing);
    bat_sampled_stacks_free(viewing.stacks);
    bat_counts_free(&viewing.addresses);
    demangled_names_free(viewing.demangled);
    bat_names_free(&viewing.names);
    bat_symbolizer_close(viewing.symbolizer);
    return status;
}
