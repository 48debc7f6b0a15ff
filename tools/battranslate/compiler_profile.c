/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "debuginfo/optional_elf.h"
#include "foreign_profile.h"

#include <string.h>

#include "bat_autofdo.h"
#include "spec/hex_bytes.h"
#include "tools/common/tool.h"
#include "translate_work.h"

/* --- The report ------------------------------------------------------------------------------- */

static void print_report(const struct foreign_profile *wanted, bool by_probes,
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
    const struct figure of_probes[] = {
        {"without_probes", "in code without pseudo probes", done->without_probes, done->samples},
        {"probes", "pseudo probes counted", done->probes, 0},
        {"functions", "functions written", done->functions, 0},
    };
    const struct figure of_lines[] = {
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
    if (by_probes)
        figures_add(&figures, of_probes, 3);
    else if (!wanted->by_addresses)
        figures_add(&figures, of_lines, 4);
    figures_print(wanted->report, wanted->json_report, 40, &figures);
    if (wanted->moved)
        report_by_note(wanted->report, wanted->json_report, moved);
}

/* --- By lines --------------------------------------------------------------------------------- */

static enum tool_exit write_by_lines(const struct foreign_profile *wanted,
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
    if (!wanted->by_lines && bat_elf_section(wanted->elf, ".pseudo_probe") && status == TOOL_FINE)
        tool_message(path, "warning: was compiled with -fpseudo-probe-for-profiling: the profile "
                           "written is by lines, as basic samples are counted, and a compiler with "
                           "that option accepts only one by probes, from branch stacks");
    split_units_warn(path, done->units_missing, done->units_read);
    bat_debuginfo_close(debuginfo);
    return status;
}

/* --- By probes -------------------------------------------------------------------------------- */

/* The files that a program's probes and symbols are read from. */
struct probe_files {
    struct bat_elf *whole;   /* opened, if it is not the program; or NULL */
    struct bat_elf *debug;   /* of --debug-file, or found for a program without symbols; or NULL */
    struct bat_elf *probes;  /* the one with probes; NULL: there are none */
    struct bat_elf *symbols; /* the one with symbols, as far as there are some */
};

/* Open the debug file. It needs no DWARF if it was named. */
static enum bat_code open_debug_file(const struct foreign_profile *wanted,
                                     struct probe_files *files, struct bat_error *error)
{
    if (!wanted->debug_file)
        return separate_symbols_open(wanted->whole, NULL, &files->debug, error);
    BAT_TRY(bat_elf_open(wanted->debug_file, &files->debug, error));
    size_t size;
    size_t debug_size;
    const uint8_t *id = bat_elf_build_id(wanted->elf, &size);
    const uint8_t *debug_id = bat_elf_build_id(files->debug, &debug_size);
    if (!id || !debug_id || (size == debug_size && memcmp(id, debug_id, size) == 0))
        return BAT_OK;
    char own[48];
    char found[48];
    bat_hex_bytes(own, sizeof(own), id, size);
    bat_hex_bytes(found, sizeof(found), debug_id, debug_size);
    return bat_fail(error, BAT_ERR_MISMATCH, "expected the debug file of build-id %s, found %s",
                    own, found);
}

static enum bat_code find_probes(const struct foreign_profile *wanted, struct probe_files *files,
                                 struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    if (strcmp(wanted->whole, bat_elf_path(wanted->elf)) != 0)
        code = optional_elf_open(wanted->whole, &files->whole, error);
    BAT_TRY(code);
    BAT_TRY(open_debug_file(wanted, files, error));
    struct bat_elf *program = files->whole ? files->whole : wanted->elf;
    files->symbols = files->debug && !bat_elf_has_symbols(program) ? files->debug : program;
    if (bat_probes_are_in(program))
        files->probes = program;
    else if (files->debug && bat_probes_are_in(files->debug))
        files->probes = files->debug;
    return BAT_OK;
}

/* Samples on their way from recordings. */
struct samples_reading {
    struct bat_contexts *contexts;    /* NULL: samples are written */
    struct bat_chains_writer *writer; /* NULL: they go into contexts */
    struct bat_chain_mover *mover;    /* to the input's addresses; or NULL */
    struct bat_autofdo_counters *done;
    enum bat_code code; /* of the last sample */
};

static bool add_chain(const struct bat_call_chain *chain, void *context)
{
    struct samples_reading *reading = context;
    struct bat_call_chain moved = *chain;
    if (chain->run_count == 0)
        return true;
    if (chain->count > INT64_MAX - reading->done->samples) {
        reading->code = BAT_ERR_RANGE;
        return false;
    }
    reading->done->samples += chain->count;
    if (reading->mover)
        reading->code = bat_chain_move(reading->mover, chain, &moved);
    if (reading->contexts && reading->code == BAT_OK)
        reading->code = bat_contexts_add(reading->contexts, &moved);
    else if (reading->code == BAT_OK)
        bat_chains_writer_add(reading->writer, &moved);
    return reading->code == BAT_OK;
}

static enum tool_exit read_samples(const struct foreign_profile *wanted,
                                   struct samples_reading *reading)
{
    struct work *work = wanted->work;
    const struct translate_request *request = work->arguments;
    struct bat_error error;
    enum bat_code code = BAT_OK;
    if (work->original)
        code = bat_chain_mover_new(&work->binary, work->original, &reading->mover, &error);
    const char *path = bat_elf_path(wanted->elf);
    for (size_t i = 0; i < request->profile_count && code == BAT_OK; i++) {
        const struct bat_read_options options = {.size = sizeof(options),
                                                 .processes = request->reading.processes,
                                                 .process_count = request->reading.process_count};
        path = request->profiles[i];
        code = bat_profile_call_chains(wanted->profile, path, &options, add_chain, reading, &error);
    }
    bat_chain_mover_free(reading->mover);
    if (reading->code == BAT_ERR_RANGE)
        return tool_message(path, "expected counts that add up to less than 2^63, found more");
    return code == BAT_OK ? TOOL_FINE : tool_report(path, &error);
}

static enum tool_exit write_contexts(const struct foreign_profile *wanted,
                                     const struct probe_files *files,
                                     struct bat_autofdo_counters *done)
{
    const char *path = bat_elf_path(wanted->elf);
    struct bat_probes *probes;
    struct bat_contexts *contexts;
    struct bat_error error;
    if (bat_probes_read(files->probes, files->symbols, &probes, &error) != BAT_OK)
        return tool_report(bat_elf_path(files->probes), &error);
    if (bat_contexts_new(wanted->elf, files->symbols, probes, &contexts, &error) != BAT_OK) {
        bat_probes_free(probes);
        return tool_report(path, &error);
    }
    struct samples_reading reading = {.contexts = contexts, .done = done};
    enum tool_exit status = read_samples(wanted, &reading);
    if (status == TOOL_FINE &&
        bat_contexts_write(contexts, wanted->threads, wanted->output, done, &error) != BAT_OK)
        status = tool_report_output(path, &error);
    bat_contexts_free(contexts);
    bat_probes_free(probes);
    return status;
}

static enum tool_exit write_samples(const struct foreign_profile *wanted,
                                    struct bat_autofdo_counters *done)
{
    const char *path = bat_elf_path(wanted->elf);
    struct samples_reading reading = {.done = done};
    struct bat_error error;
    if (bat_chains_writer_new(wanted->output, &reading.writer, &error) != BAT_OK)
        return tool_report(path, &error);
    enum tool_exit status = read_samples(wanted, &reading);
    if (bat_chains_writer_end(reading.writer, BAT_OK) != BAT_OK && status == TOOL_FINE)
        status = tool_report_output(path, &error);
    if (status == TOOL_FINE && done->samples == 0)
        status = tool_message(path, "expected samples with a call stack and a branch stack (perf "
                                    "record -b -g), found none");
    return status;
}

static enum tool_exit write_by_probes(const struct foreign_profile *wanted,
                                      const struct probe_files *files,
                                      struct bat_autofdo_counters *done)
{
    const char *path = bat_elf_path(files->probes);
    enum tool_exit status = TOOL_FINE;
    struct bat_error error;
    if (wanted->work)
        status = write_contexts(wanted, files, done);
    else if (bat_autofdo_write_probes(wanted->profile, wanted->elf, files->symbols, files->probes,
                                      wanted->threads, wanted->output, done, &error) != BAT_OK)
        status = tool_report_output(path, &error);
    if (status == TOOL_FINE && !bat_elf_has_symbols(files->symbols))
        tool_message(path, "warning: has no symbols: the profile has neither names of called "
                           "functions nor blocks that were not executed (--debug-file)");
    return status;
}

/* --- All formats ------------------------------------------------------------------------------ */

/* Write LLVM's sample profile, by probes if there are some, as llvm-profgen does. */
static enum tool_exit write_symbolized(const struct foreign_profile *wanted, bool *by_probes,
                                       struct bat_autofdo_counters *done)
{
    struct probe_files files = {.whole = NULL};
    struct bat_error error;
    enum tool_exit status = TOOL_FINE;
    if (!wanted->by_lines && wanted->kind == BAT_PROFILE_BRANCHES &&
        find_probes(wanted, &files, &error) != BAT_OK)
        status = tool_report(wanted->debug_file ? wanted->debug_file : wanted->whole, &error);
    *by_probes = files.probes != NULL;
    if (status == TOOL_FINE && wanted->work && !*by_probes)
        status = tool_message(bat_elf_path(wanted->elf),
                              "expected pseudo probes (clang -fpseudo-probe-for-profiling), which "
                              "contexts are written by, found none");
    if (status == TOOL_FINE)
        status = *by_probes ? write_by_probes(wanted, &files, done) : write_by_lines(wanted, done);
    bat_elf_close(files.whole);
    bat_elf_close(files.debug);
    return status;
}

enum tool_exit compiler_profile_write(const struct foreign_profile *wanted)
{
    struct bat_autofdo_counters done = {0};
    bool by_probes = false;
    enum tool_exit status = TOOL_FINE;
    struct bat_error error;
    if (wanted->work && wanted->by_addresses)
        status = write_samples(wanted, &done);
    else if (!wanted->by_addresses)
        status = write_symbolized(wanted, &by_probes, &done);
    else if (bat_profgen_write(wanted->profile, wanted->elf, wanted->output, &done, &error) !=
             BAT_OK)
        status = tool_report_output(bat_elf_path(wanted->elf), &error);
    if (status == TOOL_FINE && wanted->report)
        print_report(wanted, by_probes, &done);
    return status;
}
