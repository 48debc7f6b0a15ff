/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of translating the profile of one binary. */
#include <malloc.h>
#include <string.h>

#include "debuginfo/optional_elf.h"
#include "elfnote/shipped.h"
#include "profile/profile.h"
#include "translate_work.h"

const char *work_note_path(const struct translate_request *arguments)
{
    return arguments->note ? arguments->note : arguments->binary;
}

enum tool_exit work_find_stored(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    if (work->stored.file >= 0 || arguments->stores.count == 0)
        return TOOL_FINE;
    return tool_stores_find_whole(&arguments->stores, arguments->binary, &work->stored) ? TOOL_FINE
                                                                                        : TOOL_BAD;
}

/* Open the binary's ELF file: the shipped one's whole, by the shipped one's name. */
enum tool_exit work_open_elf(struct work *work, struct bat_elf **elf)
{
    const char *path = work->arguments->binary;
    enum bat_code code = bat_elf_open(bat_stored_or(&work->stored, path), elf, &work->error);
    if (code == BAT_OK && work->stored.file >= 0)
        code = bat_elf_rename(*elf, path, &work->error);
    return code == BAT_OK ? TOOL_FINE : tool_report(path, &work->error);
}

/* Open the binary, and the note in a separate file. */
static enum tool_exit open_with_note(struct work *work)
{
    const char *path = work->arguments->note;
    struct bat_elf *elf;
    BAT_TRY(work_open_elf(work, &elf));
    enum bat_code code = bat_binary_find_note(path, &work->binary, &work->error);
    if (code == BAT_OK && work->binary.elf)
        code = bat_fail(&work->error, BAT_ERR_MISMATCH,
                        "expected a BAT note alone (see batinject --extract), found an ELF file");
    bat_elf_close(work->binary.elf);
    work->binary.elf = elf;
    return code == BAT_OK ? TOOL_FINE : tool_report(path, &work->error);
}

enum tool_exit work_open_binary(struct work *work)
{
    const char *path = work->arguments->binary;
    if (work->arguments->note)
        return open_with_note(work);
    enum bat_code code = bat_binary_find_note_if_any(bat_stored_or(&work->stored, path),
                                                     &work->binary, &work->error);
    if (code == BAT_OK && work->stored.file >= 0)
        code = bat_elf_rename(work->binary.elf, path, &work->error);
    if (code == BAT_OK && !work->binary.elf)
        code = bat_fail(&work->error, BAT_ERR_MISMATCH,
                        "expected an ELF file (a BAT note goes with --note), found a BAT note");
    if (code != BAT_OK)
        return tool_report(path, &work->error);
    if (!work->binary.note && !work->arguments->quiet && !work->arguments->is_one_of_several &&
        work->arguments->row->viewer == BAT_VIEWER_NONE && !work->arguments->next)
        tool_message(path, "warning: no BAT note: the binary is treated as one that BOLT has not "
                           "written");
    /* With a note, arrays of this size leave holes in the heap that would not be filled again. */
    if (work->binary.note)
        mallopt(M_MMAP_THRESHOLD, 16 << 20);
    return TOOL_FINE;
}

enum tool_exit work_open_symbols(struct work *work)
{
    const char *path = work->arguments->symbols;
    if (!path && work->arguments->is_one_of_several && !bat_elf_has_symbols(work->binary.elf) &&
        separate_symbols_open(work->arguments->binary, NULL, &work->symbols, &work->error) !=
            BAT_OK)
        return tool_report(work->arguments->binary, &work->error);
    if (!path)
        return TOOL_FINE;
    if (bat_elf_open(path, &work->symbols, &work->error) != BAT_OK)
        return tool_report(path, &work->error);
    size_t own_size;
    size_t size;
    const uint8_t *own = bat_elf_build_id(work->binary.elf, &own_size);
    const uint8_t *id = bat_elf_build_id(work->symbols, &size);
    if (work->arguments->ignore_build_id ||
        (id && own && size == own_size && memcmp(id, own, size) == 0))
        return TOOL_FINE;
    char own_text[64];
    char text[64];
    report_build_id(work->binary.elf, own_text, sizeof(own_text));
    report_build_id(work->symbols, text, sizeof(text));
    return tool_message(path,
                        "expected the build-id of %s, %s, found %s (--ignore-build-id accepts it)",
                        work->arguments->binary, own_text, text);
}

/* Open the input binary, if it is given: its functions are paired with the BOLTed binary's. */
static enum tool_exit open_original(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    if (!arguments->original)
        return TOOL_FINE;
    if (separate_symbols_open(arguments->original, arguments->debug_file, &work->original_symbols,
                              &work->error) != BAT_OK)
        return tool_report(arguments->original, &work->error);
    const struct bat_original_options original_options = {.size = sizeof(original_options),
                                                          .output_symbols = work->symbols,
                                                          .input_symbols = work->original_symbols,
                                                          .ignore_build_id =
                                                              arguments->ignore_build_id,
                                                          .threads = arguments->reading.threads};
    if (bat_original_open(arguments->original, &work->binary, &original_options, &work->original,
                          &work->error) != BAT_OK)
        return tool_report(work->error.place == BAT_PLACE_SECTION ? work_note_path(arguments)
                                                                  : arguments->original,
                           &work->error);
    return TOOL_FINE;
}

static enum tool_exit check_symbols(struct work *work)
{
    struct bat_elf *elf = work->symbols ? work->symbols : work->binary.elf;
    const char *path = work->symbols ? work->arguments->symbols : work->arguments->binary;
    if (bat_elf_has_symbols(elf))
        return TOOL_FINE;
    return tool_message(path,
                        "expected a symbol table, found a stripped file: give an unstripped copy "
                        "with --symbols=FILE");
}

/* What profiles are read for. */
static struct bat_profile_target target_of(const struct work *work)
{
    size_t size;
    struct bat_profile_target target = {.size = sizeof(target),
                                        .ignore_build_id = work->arguments->ignore_build_id};
    target.build_id = bat_elf_build_id(work->binary.elf, &size);
    target.build_id_size = size;
    target.elf = work->binary.elf;
    const uint8_t *note;
    target.is_bolted = work->binary.note != NULL ||
                       bat_elf_note(work->binary.elf, &note, &size, NULL, NULL) == BAT_OK;
    return target;
}

enum tool_exit work_make_profile(struct work *work, bool prepares)
{
    const struct translate_request *arguments = work->arguments;
    const struct bat_profile_target target = target_of(work);
    if (bat_profile_new(&target, &work->profile, &work->error) != BAT_OK)
        return tool_report(NULL, &work->error);
    prepares = prepares && arguments->reading.threads != 1;
    if (prepares && arguments->format <= FORMAT_YAML && (!arguments->original || arguments->parity))
        work->preparation = bat_preparation_begin(&work->binary, work->symbols);
    return TOOL_FINE;
}

/* Read a profile; as basic samples, if nothing else is there and --check is to say so. */
static enum bat_code read_in_any_form(struct bat_profile *profile, const char *path,
                                      const struct bat_read_options *options, bool has_check,
                                      struct bat_error *error)
{
    enum bat_code code = bat_profile_read(profile, path, options, error);
    if (code != BAT_ERR_MISMATCH || !has_check || options->basic_samples)
        return code;
    struct bat_read_options again = *options;
    struct bat_error other;
    again.basic_samples = true;
    return bat_profile_read(profile, path, &again, &other) == BAT_OK ? BAT_OK : code;
}

/* True if a profile that could not be read can be if build-ids are ignored. */
static bool is_of_other_build(const struct work *work, const char *path,
                              const struct bat_read_options *options)
{
    struct bat_profile_target target = target_of(work);
    struct bat_profile *profile;
    struct bat_error error;
    if (target.ignore_build_id)
        return false;
    target.ignore_build_id = true;
    if (bat_profile_new(&target, &profile, &error) != BAT_OK)
        return false;
    bool is_read = read_in_any_form(profile, path, options, true, &error) == BAT_OK;
    bat_profile_free(profile);
    return is_read;
}

static enum bat_code read_profile(void *context, const char *path,
                                  const struct bat_read_options *options, struct bat_error *error)
{
    struct work *work = context;
    bool has_check = work->arguments->wants_check;
    uint64_t before = bat_profile_records_read(work->profile);
    enum bat_code code = read_in_any_form(work->profile, path, options, has_check, error);
    if (code != BAT_OK && has_check)
        bat_verdict_note_unreadable(
            &work->check, code == BAT_ERR_MISMATCH && is_of_other_build(work, path, options),
            error);
    work->profiles_with_records += bat_profile_records_read(work->profile) > before;
    return code;
}

enum tool_exit work_read_profiles(struct work *work, struct parts *parts)
{
    BAT_TRY(work_make_profile(work, true));
    work->parts = parts;
    enum tool_exit status = work_read_parts(parts, work->arguments, read_profile, work);
    tool_warn_branch_filter(work->arguments->binary, work->profile);
    return status;
}

enum tool_exit work_begin_outputs(struct work *work)
{
    const char *const paths[OUTPUTS_MAX] = {work->arguments->output, work->arguments->yaml};
    for (size_t i = 0; i < OUTPUTS_MAX; i++) {
        if (!paths[i])
            continue;
        if (bat_output_begin(paths[i], &work->outputs[work->output_count], &work->error) != BAT_OK)
            return tool_report(NULL, &work->error);
        work->output_count++;
    }
    if (!work->arguments->heatmap.path)
        return TOOL_FINE;
    enum bat_code code =
        heatmap_begin(&work->arguments->heatmap, work->outputs + work->output_count,
                      &work->heatmap_count, &work->error);
    work->output_count += work->heatmap_count;
    return code == BAT_OK ? TOOL_FINE : tool_report(NULL, &work->error);
}

enum tool_exit work_check(struct work *work, const struct bat_verdict_next *next,
                          const struct report_judgements *judgements)
{
    const struct bat_to_input_counters *to_input = work->input ? &work->to_input : NULL;
    const struct translate_request *arguments = work->arguments;
    bool is_wanted = arguments->wants_check;
    if (arguments->quiet && !is_wanted)
        return TOOL_FINE;
    struct bat_verdict_baseline baseline = {0};
    const char *former = is_wanted ? arguments->check.baseline_path : NULL;
    if (former && baseline_compare(former, work->records, &baseline, &work->error) != BAT_OK)
        return tool_report(former, &work->error);
    struct bat_records *all_records = NULL;
    if (is_wanted && !to_input && !work_translate_again(work, &all_records))
        return tool_report(arguments->binary, &work->error);
    const struct bat_verdict_subject subject = {
        .profile = work->profile,
        .moved = work->input ? work->input : work->profile,
        .binary = &work->binary,
        .symbols = work->symbols,
        .records = work->records,
        .all_records = all_records,
        .to_input = to_input,
        .judgement = judgements->has_fdata ? &judgements->fdata : &judgements->yaml,
        .is_yaml = !judgements->has_fdata,
        .wants_samples = arguments->reading.basic_samples,
        .profiles = arguments->once ? parts_count(work->parts) : work->profiles_with_records,
        .density_cutoff = arguments->density_cutoff,
        .density_threshold = arguments->density_threshold,
        .baseline = former ? &baseline : NULL,
        .next = next};
    enum tool_exit status = TOOL_FINE;
    if (is_wanted)
        tool_step("checking the profile");
    if (is_wanted)
        status = bat_verdict_judge(&work->check, &subject, &work->error) == BAT_OK
                     ? TOOL_FINE
                     : tool_report(arguments->binary, &work->error);
    else
        bat_verdict_judge_counters(&work->check, &arguments->check, &subject);
    bat_records_free(all_records);
    return status;
}

/* End the report with the line that every report has. */
static void print_check_line(struct work *work)
{
    FILE *file = work_report_file(work);
    if (work->arguments->quiet)
        return;
    check_warn(&work->check, work->arguments->binary);
    if (!work->arguments->json_report) {
        check_print_line(&work->check, file);
        return;
    }
    fputs(",", file);
    check_print_line_json(&work->check, file);
    fputs("}\n", file);
}

enum tool_exit work_finish_check(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    enum tool_exit status = TOOL_FINE;
    if (!arguments->wants_check) {
        print_check_line(work);
        return TOOL_FINE;
    }
    FILE *file = work_report_file(work);
    if (!arguments->quiet && arguments->json_report) {
        fputs(work->records ? ",\"check\":" : "{\"check\":", file);
        status = check_print(&work->check, NULL, file);
        fputs("}\n", file);
    } else if (!arguments->quiet) {
        status = check_print(&work->check, arguments->binary, file);
    }
    if (work->check.is_fit || status != TOOL_FINE)
        return status;
    if (work->output_count != 0)
        tool_message(arguments->binary, "the profile is unfit: no output is written");
    return TOOL_BAD;
}

void work_end_report(struct work *work, const struct bat_to_input_counters *to_input,
                     bool wants_samples)
{
    const struct translate_request *arguments = work->arguments;
    const struct bat_verdict_subject subject = {.profile = work->profile,
                                                .binary = &work->binary,
                                                .to_input = to_input,
                                                .wants_samples = wants_samples,
                                                .density_threshold = arguments->density_threshold};
    if (arguments->quiet)
        return;
    bat_verdict_judge_counters(&work->check, &arguments->check, &subject);
    print_check_line(work);
}

enum tool_exit records_open(struct work *work)
{
    enum tool_exit status = work_find_stored(work);
    status = status ? status : work_open_binary(work);
    status = status ? status : work_open_symbols(work);
    status = status ? status : check_symbols(work);
    return status ? status : open_original(work);
}

enum tool_exit work_move(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    tool_step("moving the profile to the input's code");
    if (bat_profile_to_input(work->profile, &work->binary, work->original, &work->input,
                             &work->to_input, &work->error) != BAT_OK)
        return tool_report(arguments->binary, &work->error);
    /* perf2bolt writes empty fdata and YAML too; other profiles without records are of no use. */
    bool may_be_empty = arguments->row->is_records;
    if (may_be_empty && arguments->wants_check && bat_profile_distinct(work->profile) == 0)
        return TOOL_FINE; /* the checks will say so */
    return report_check_moved(arguments->binary, work->binary.elf, work->profile, &work->to_input,
                              may_be_empty, tool_tell, &work->error) == BAT_OK
               ? TOOL_FINE
               : tool_report(arguments->binary, &work->error);
}

enum tool_exit work_prepare_profile(struct work *work)
{
    if (work->arguments->drop_memory)
        bat_profile_drop_memory(work->profile);
    if (work->arguments->impute_runs &&
        bat_profile_impute_runs(work->profile, &work->error) != BAT_OK)
        return tool_report(NULL, &work->error);
    return TOOL_FINE;
}

void work_close(struct work *work)
{
    for (size_t i = 0; i < work->output_count; i++)
        bat_output_abandon(work->outputs[i]);
    bat_records_free(work->records);
    bat_preparation_free(work->preparation);
    bat_profile_free(work->input);
    bat_profile_free(work->profile);
    bat_original_close(work->original);
    bat_elf_close(work->original_symbols);
    bat_elf_close(work->symbols);
    bat_binary_close(&work->binary);
    bat_stored_close(&work->stored);
    bat_verdict_free(&work->check);
    *work = (struct work){.stored = bat_stored_nothing()};
}

FILE *work_report_file(const struct work *work)
{
    if (work->report)
        return work->report;
    for (size_t i = 0; i < work->output_count; i++)
        if (bat_output_is_standard(work->outputs[i]))
            return stderr;
    return stdout;
}

bool work_writes_probes(const struct translate_request *request)
{
    return request->yaml_probes && (request->yaml || request->format == FORMAT_YAML);
}

struct bat_translate_options work_translate_options(const struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    return (struct bat_translate_options){.size = sizeof(struct bat_translate_options),
                                          .symbols = work->symbols,
                                          .original = work->original,
                                          .preparation = work->preparation,
                                          .basic_samples = arguments->reading.basic_samples,
                                          .keep_all_records = arguments->parity,
                                          .keep_unknown_data = arguments->keep_unknown_data,
                                          .yaml_extern = arguments->yaml_extern,
                                          .yaml_probes = work_writes_probes(arguments),
                                          .will_be_judged =
                                              !arguments->quiet || arguments->wants_check,
                                          .threads = arguments->reading.threads};
}

bool work_translate_again(struct work *work, struct bat_records **records)
{
    *records = NULL;
    if (work->arguments->parity || !bat_records_have_note(work->records))
        return true;
    struct bat_translate_options options = work_translate_options(work);
    options.keep_all_records = true;
    options.will_be_judged = false;
    return bat_profile_translate(work->profile, &work->binary, &options, records, &work->error) ==
           BAT_OK;
}
