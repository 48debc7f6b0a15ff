/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <stdarg.h>
#include <string.h>

#include "profile/verdict/words.h"
#include "spec/hex_bytes.h"
#include "support/text_memory.h"

/* If more of the traces do not fit the code, a warning doubts that the profile is the binary's. */
#define MISMATCH_PERCENT 10.0

/* The longest sentence of a warning, with two build-ids. */
#define SENTENCE_SIZE 1024u

/* Tell a warning. */
static void BAT_PRINTF(3, 4) warn(report_tell_fn *tell, const char *path, const char *format, ...)
{
    char sentence[SENTENCE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    tell(path, sentence);
}

static void warn_limited(report_tell_fn *tell, const char *path, const char *step, uint64_t limited)
{
    char text[PROFILE_WARNING_SIZE];
    if (profile_warning_limited(step, limited, text))
        warn(tell, path, "warning: %s", text);
}

void report_build_id(const struct bat_elf *elf, char *buffer, size_t size)
{
    size_t bytes;
    const uint8_t *id = bat_elf_build_id(elf, &bytes);
    if (!id) {
        snprintf(buffer, size, "none");
        return;
    }
    bat_hex_bytes(buffer, size, id, bytes);
}

/* The binary's build-id, and the one that the profile names most often. */
static void describe_ids(const struct bat_elf *elf, const struct bat_profile *profile, char *buffer,
                         size_t size)
{
    char own[64];
    report_build_id(elf, own, sizeof(own));
    const char *foreign = bat_profile_foreign_id(profile);
    if (foreign)
        snprintf(buffer, size, "the binary's build-id is %s, most other locations are of %s", own,
                 foreign);
    else
        snprintf(buffer, size, "the binary's build-id is %s, the profile names no other", own);
}

/* An empty profile, of an idle service for example, is no error, as in perf2bolt. */
static enum bat_code warn_empty(report_tell_fn *tell, const char *path, const struct bat_elf *elf,
                                const struct bat_profile *profile, uint64_t samples)
{
    char ids[512];
    snprintf(ids, sizeof(ids), "%s", bat_profile_elsewhere(profile));
    /* perf's processes have the binary; text may be of any. */
    if (bat_profile_counters(profile).perf_samples == 0)
        describe_ids(elf, profile, ids, sizeof(ids));
    warn(tell, path,
         "warning: the profile is empty: expected samples in functions of the binary, found none "
         "of %lu%s%s",
         samples, *ids ? ": " : "", ids);
    return BAT_OK;
}

/* --- Balances ----------------------------------------------------------------------------- */

/* A named balance; printed if there is anything in it. */
struct named_balance {
    const char *name;
    struct bat_balance balance;
};

#define BALANCES 6u

/* Titles of balances. */
#define MOVED "counts moved to the input binary:"
#define TRANSLATED "counts translated to records:"

/* All balances of one step. records may be NULL: the step has none. */
static void name_balances(const struct bat_balances *balances, const struct bat_balance *records,
                          struct named_balance named[BALANCES])
{
    const struct bat_balance none = {0};
    const struct named_balance all[BALANCES] = {{"branches", balances->branches},
                                                {"runs", balances->runs},
                                                {"mispredictions", balances->mispredictions},
                                                {"samples", balances->samples},
                                                {"loads", balances->loads},
                                                {"records", records ? *records : none}};
    memcpy(named, all, sizeof(all));
}

/* Print a balance as an equation. Counts that are missing, or too many, are its last term. */
static void print_equation(FILE *file, const struct named_balance *named)
{
    const struct bat_balance *balance = &named->balance;
    const uint64_t missing = bat_balance_missing(balance);
    const struct {
        const char *label;
        uint64_t count;
    } terms[] = {{"joined", balance->joined},
                 {"left out", balance->left_out},
                 {"invalid", balance->invalid},
                 {"outside", balance->outside},
                 {"NOT ACCOUNTED FOR", missing <= INT64_MAX ? missing : 0}};
    fprintf(file, "  %s: %lu", named->name, balance->in);
    if (balance->made)
        fprintf(file, " + %lu made", balance->made);
    if (missing > INT64_MAX)
        fprintf(file, " + %lu TOO MANY", 0 - missing);
    fprintf(file, " = %lu out", balance->out);
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
        if (terms[i].count)
            fprintf(file, " + %lu %s", terms[i].count, terms[i].label);
    fputc('\n', file);
}

/* Print what became of all counts in one step; key is for JSON, title for people. */
static void print_balances(FILE *file, bool as_json, const char *key, const char *title,
                           const struct bat_balances *balances, const struct bat_balance *records)
{
    struct named_balance all[BALANCES];
    name_balances(balances, records, all);
    if (!as_json)
        fprintf(file, "%s\n", title);
    else
        fprintf(file, ",\"%s\":{", key);
    for (size_t i = 0; i < BALANCES; i++) {
        const struct bat_balance *balance = &all[i].balance;
        bool is_empty = balance->in == 0 && balance->made == 0 && balance->out == 0;
        if (!as_json && !is_empty)
            print_equation(file, &all[i]);
        if (!as_json)
            continue;
        fprintf(file,
                "%s\"%s\":{\"in\":%lu,\"made\":%lu,\"out\":%lu,\"joined\":%lu,\"left_out\":%lu,"
                "\"invalid\":%lu,\"outside\":%lu,\"missing\":%ld}",
                i ? "," : "", all[i].name, balance->in, balance->made, balance->out,
                balance->joined, balance->left_out, balance->invalid, balance->outside,
                (int64_t)bat_balance_missing(balance));
    }
    if (as_json)
        fputs("}", file);
}

/* Warn of counts that are not accounted for. */
static void check_balances(report_tell_fn *tell, const char *path, const char *step,
                           const struct bat_balances *balances, const struct bat_balance *records)
{
    struct named_balance all[BALANCES];
    name_balances(balances, records, all);
    for (size_t i = 0; i < BALANCES; i++)
        if (bat_balance_missing(&all[i].balance) != 0)
            warn(tell, path,
                 "warning: counts of %s do not add up when the profile is %s: expected %lu to be "
                 "accounted for, found %ld less",
                 all[i].name, step, all[i].balance.in + all[i].balance.made,
                 (int64_t)bat_balance_missing(&all[i].balance));
}

void report_check_balances(const char *path, const struct bat_records *records,
                           report_tell_fn *tell)
{
    const struct bat_translate_counters done = bat_records_counters(records);
    check_balances(tell, path, "translated", &done.balances, &done.records);
    warn_limited(tell, path, "looking for inlined calls", done.limited);
}

/* --- Checks ------------------------------------------------------------------------------- */

enum bat_code report_check(const char *path, const struct bat_elf *elf,
                           const struct bat_profile *profile, const struct bat_records *records,
                           bool has_check, report_tell_fn *tell, struct bat_error *error)
{
    struct bat_translate_counters counters = bat_records_counters(records);
    struct bat_profile_counters read = bat_profile_counters(profile);
    if (counters.inside == 0 && bat_records_count(records) == 0) {
        uint64_t text = read.trace_records + read.sample_records + read.fdata_records;
        if (text + read.perf_samples == 0 && has_check)
            return BAT_OK;
        if (text + read.perf_samples == 0)
            return profile_fail_without_records(profile, error);
        if (text != 0 && counters.samples == 0)
            return bat_fail(error, BAT_ERR_MISMATCH,
                            "expected basic samples (S records), found none in the profile");
        return warn_empty(tell, path, elf, profile,
                          counters.samples ? counters.samples : read.perf_samples);
    }
    /* perf recorded all code of the processes, also that of libraries, which text has as 0. */
    uint64_t strange = read.perf_samples ? 0 : counters.out_of_range - counters.elsewhere;
    uint64_t misfits = counters.invalid - counters.unread + strange;
    if (figures_percent(misfits, counters.fallthroughs) <= MISMATCH_PERCENT)
        return BAT_OK;
    char ids[512];
    describe_ids(elf, profile, ids, sizeof(ids));
    warn(tell, path,
         "warning: %.1f%% of the traces do not fit the binary's code; the profile may be "
         "of another build: %s",
         figures_percent(misfits, counters.fallthroughs), ids);
    return BAT_OK;
}

enum bat_code report_check_samples(const char *path, const struct bat_profile *profile,
                                   bool may_be_empty, report_tell_fn *tell, struct bat_error *error)
{
    uint64_t memory_samples = bat_profile_memory_samples(profile);
    struct bat_profile_counters read = bat_profile_counters(profile);
    if (bat_profile_distinct(profile) == 0 && read.fdata_records == 0 && !may_be_empty)
        return profile_fail_without_records(profile, error);
    if (memory_samples != 0)
        warn(
            tell, path,
            "warning: %lu memory samples have no form in a pre-aggregated profile and are left out",
            memory_samples);
    return BAT_OK;
}

enum bat_code report_check_moved(const char *path, const struct bat_elf *elf,
                                 const struct bat_profile *profile,
                                 const struct bat_to_input_counters *counters, bool may_be_empty,
                                 report_tell_fn *tell, struct bat_error *error)
{
    BAT_TRY(report_check_samples(path, profile, false, tell, error));
    check_balances(tell, path, "moved", &counters->balances, NULL);
    warn_limited(tell, path, "following the input binary's code", counters->limited);
    if (counters->samples != 0 && counters->moved == 0) {
        if (may_be_empty)
            return warn_empty(tell, path, elf, profile, counters->samples);
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples in functions of the binary, found none of %lu",
                        counters->samples);
    }
    if (figures_percent(counters->misfits, counters->samples) > MISMATCH_PERCENT)
        warn(tell, path,
             "warning: %.1f%% of the traces do not fit the input binary's code; the "
             "profile may be of another build",
             figures_percent(counters->misfits, counters->samples));
    return BAT_OK;
}

/* --- What llvm-bolt will refuse ----------------------------------------------------------- */

static enum bat_code judge(const char *path, struct bat_records *records, bool is_yaml,
                           report_tell_fn *tell, bool *is_known, struct bat_judgement *judgement,
                           struct bat_error *error)
{
    enum bat_code code = bat_records_judge(records, is_yaml, judgement, error);
    *is_known = code == BAT_OK;
    if (code == BAT_OK || code == BAT_ERR_MEMORY)
        return code;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    warn(tell, path, "warning: cannot determine what llvm-bolt will refuse: %s", text);
    return BAT_OK;
}

enum bat_code report_judge(const char *path, struct bat_records *records, bool as_fdata,
                           bool as_yaml, report_tell_fn *tell, struct report_judgements *judgements,
                           struct bat_error *error)
{
    *judgements = (struct report_judgements){0};
    enum bat_code code = BAT_OK;
    if (as_fdata)
        code = judge(path, records, false, tell, &judgements->has_fdata, &judgements->fdata, error);
    if (as_yaml && code == BAT_OK)
        code = judge(path, records, true, tell, &judgements->has_yaml, &judgements->yaml, error);
    return code;
}

/* --- At the end --------------------------------------------------------------------------- */

/* Figures that are printed only for perf.data. */
static void gather_perf(const struct bat_profile_counters *read, struct figures *figures)
{
    const struct figure all[] = {
        {"perf_samples", "samples in perf.data", read->perf_samples, 0},
        {"perf_foreign_samples", "of other processes", read->perf_foreign_samples,
         read->perf_samples},
        {"perf_guest_samples", "of guests", read->perf_guest_samples, read->perf_samples},
        {"perf_plain_samples", "without a branch stack", read->perf_plain_samples,
         read->perf_samples},
        {"perf_unread_samples", "behind the number that is wanted", read->perf_unread_samples,
         read->perf_samples},
        {"perf_used_samples", "used", read->perf_used_samples, read->perf_samples},
        {"perf_processes", "processes with the binary", read->perf_processes, 0},
        {"perf_branches", "entries of branch stacks", read->perf_branches, 0},
        {"perf_kernel_branches", "from or to the kernel", read->perf_kernel_branches,
         read->perf_branches},
        {"perf_wrong_path", "never executed (speculation)", read->perf_wrong_path,
         read->perf_branches},
        {"perf_dropped", "perhaps recorded twice", read->perf_dropped, read->perf_branches},
        {"perf_used_branches", "used", read->perf_used_branches, read->perf_branches},
        {"perf_lost", "records lost while recording", read->perf_lost, 0},
        {"perf_unknown_records", "records of unknown kinds", read->perf_unknown_records, 0},
    };
    figures_add(figures, all, sizeof(all) / sizeof(all[0]));
}

/* Figures that are printed only if there are loads from memory. */
static void gather_memory(const struct bat_translate_counters *done, struct figures *figures)
{
    const struct figure all[] = {
        {"memory_samples", "loads from memory", done->memory_samples, 0},
        {"memory_inside", "by the binary, of known data", done->memory_inside,
         done->memory_samples},
        {"memory_unknown", "by the binary, of other data", done->memory_unknown,
         done->memory_samples},
    };
    if (done->memory_samples != 0)
        figures_add(figures, all, sizeof(all) / sizeof(all[0]));
}

static void gather(const struct bat_profile *profile, const struct bat_records *records,
                   struct figures *figures)
{
    struct bat_profile_counters read = bat_profile_counters(profile);
    const struct figure first[] = {
        {"lines", "lines read", read.lines, 0},
        {"distinct", "distinct records", bat_profile_distinct(profile), 0},
        {"foreign_locations", "locations of other objects", read.foreign_locations, 0},
    };
    figures_add(figures, first, sizeof(first) / sizeof(first[0]));
    if (read.perf_samples != 0)
        gather_perf(&read, figures);
    if (!records)
        return;
    struct bat_translate_counters done = bat_records_counters(records);
    const struct figure others[] = {
        {"without_note", "binaries without a BAT note", bat_records_have_note(records) ? 0 : 1, 0},
        {"samples", "samples", done.samples, 0},
        {"inside", "in the binary", done.inside, done.samples},
        {"external", "outside of it", done.external, done.samples},
        {"without_table", "in functions without a BAT table", done.without_table, done.samples},
        {"traces", "fall-throughs", done.fallthroughs, 0},
        {"invalid", "not one run of code", done.invalid, done.fallthroughs},
        {"out_of_range", "in no function", done.out_of_range, done.fallthroughs},
        {"within_blocks", "within one block of the input", done.within_blocks, 0},
        {"left_out", "left out: no edges of the input", done.left_out, 0},
        {"inlined_calls", "calls that BOLT inlined", done.inlined_calls, 0},
        {"unknown_callers", "calls from an unknown place", done.unknown_callers, 0},
        {"limited", "searched up to a limit", done.limited, 0},
        {"functions", "functions with samples", done.functions, 0},
        {"functions_without_table", "without a BAT table", done.functions_without_table,
         done.functions},
        {"records", "records written", bat_records_count(records), 0},
    };
    figures_add(figures, others, sizeof(others) / sizeof(others[0]));
    gather_memory(&done, figures);
}

static void gather_judgements(const struct report_judgements *judgements, struct figures *figures)
{
    const struct bat_judgement *fdata = &judgements->fdata;
    const struct bat_judgement *yaml = &judgements->yaml;
    const struct figure of_fdata[] = {
        {"judged_functions", "functions that llvm-bolt will judge", fdata->functions, 0},
        {"judged_by_note", "by the note alone: a guess", fdata->functions_by_note,
         fdata->functions},
        {"stale_functions", "stale functions, refused whole", fdata->stale_functions,
         fdata->functions},
        {"judged_samples", "counts of their records", fdata->samples, 0},
        {"stale_samples", "of stale functions", fdata->stale_samples, fdata->samples},
    };
    const struct figure of_yaml[] = {
        {"judged_functions_yaml", "in YAML, functions that it will judge", yaml->functions, 0},
        {"judged_by_note_yaml", "by the note alone: a guess", yaml->functions_by_note,
         yaml->functions},
        {"stale_functions_yaml", "stale functions, refused whole", yaml->stale_functions,
         yaml->functions},
        {"judged_samples_yaml", "counts of their branches", yaml->samples, 0},
        {"stale_samples_yaml", "of stale functions", yaml->stale_samples, yaml->samples},
    };
    if (judgements->has_fdata)
        figures_add(figures, of_fdata, sizeof(of_fdata) / sizeof(of_fdata[0]));
    if (judgements->has_yaml)
        figures_add(figures, of_yaml, sizeof(of_yaml) / sizeof(of_yaml[0]));
}

/* The columns of labels. */
#define LABEL_COLUMNS 36

/* Figures of the move of a profile to the input binary. */
static void gather_moved(const struct bat_original *original,
                         const struct bat_to_input_counters *counters, struct figures *figures)
{
    struct bat_original_counters paired = bat_original_counters(original);
    const struct figure all[] = {
        {"tables", "functions with a BAT table", paired.tables, 0},
        {"tables_paired", "found in the input binary", paired.tables_paired, paired.tables},
        {"functions_folded", "functions folded into others", paired.folded, 0},
        {"samples", "samples", counters->samples, 0},
        {"moved", "moved to the input binary", counters->moved, counters->samples},
        {"external", "outside of the binary", counters->external, counters->samples},
        {"folded", "in functions that were folded", counters->folded, counters->samples},
        {"folded_known", "of these, in a known function", counters->folded_known, counters->folded},
        {"promoted", "through promoted calls", counters->promoted, counters->samples},
        {"inlined", "in inlined code", counters->inlined, counters->samples},
        {"unfollowed", "cut: no way in the input's code", counters->unfollowed, counters->samples},
        {"left_out", "branch left out: none of the input", counters->left_out, counters->samples},
        {"unjoined", "with one half sampled", counters->unjoined, counters->samples},
        {"limited", "walks given up: too much work", counters->limited, 0},
        {"parts", "runs and branches in moved code", counters->parts, 0},
        {"parts_explained", "explained by BOLT's known passes", counters->parts_explained,
         counters->parts},
        {"parts_by_note", "in functions by the note alone", counters->by_note_parts,
         counters->parts},
    };
    figures_add(figures, all, sizeof(all) / sizeof(all[0]));
}

/* --- What is not explained ---------------------------------------------------------------- */

static void put_name(struct bat_text_writer *output, const struct bat_unexplained *function,
                     bool as_json)
{
    const char *name = function->name ? function->name : "";
    if (as_json)
        bat_text_json(output, name);
    else
        bat_text_escaped(output, name);
}

static void put_unexplained(struct bat_text_writer *output, const struct bat_unexplained *function)
{
    bat_text_string(output, "  ");
    put_name(output, function, false);
    bat_text_format(
        output, ": %.1f%% of %lu explained; %lu cut, %lu left out, %lu by code of no known pass\n",
        figures_percent(bat_unexplained_rest(function), function->counts), function->counts,
        function->cut, function->left_out, function->unlisted);
}

static void put_unexplained_json(struct bat_text_writer *output,
                                 const struct bat_unexplained *function)
{
    bat_text_string(output, "{\"name\":");
    put_name(output, function, true);
    bat_text_format(
        output, ",\"parts\":%lu,\"explained\":%lu,\"cut\":%lu,\"left_out\":%lu,\"unlisted\":%lu}",
        function->counts, bat_unexplained_rest(function), function->cut, function->left_out,
        function->unlisted);
}

void report_by_note(FILE *file, bool as_json, const struct bat_to_input_counters *counters)
{
    const uint64_t count = counters->by_note_functions;
    if (count == 0 && !as_json)
        return;
    struct bat_text_memory memory;
    if (bat_text_memory_begin(&memory, NULL) != BAT_OK)
        return;
    struct bat_text_writer *output = &memory.text;
    if (as_json)
        bat_text_format(output, ",\"functions_by_note\":%lu,\"by_note\":[", count);
    else
        bat_text_format(
            output,
            "functions moved by the note alone, as BOLT's known passes do not explain them: %lu\n",
            count);
    for (uint64_t i = 0; i < count && i < BAT_UNEXPLAINED_MAX; i++) {
        if (as_json)
            bat_text_string(output, i == 0 ? "" : ",");
        (as_json ? put_unexplained_json : put_unexplained)(output, &counters->heaviest[i]);
    }
    bat_text_string(output, as_json ? "]" : "");
    const size_t size = bat_text_memory_size(&memory);
    const char *text = bat_text_memory_take(&memory);
    if (text)
        fwrite(text, 1, size, file);
    bat_text_memory_free(&memory);
}

/* What follows the figures of a move. */
static void print_moved(FILE *file, bool as_json, const struct bat_to_input_counters *counters)
{
    report_by_note(file, as_json, counters);
    print_balances(file, as_json, "balance_moved", MOVED, &counters->balances, NULL);
}

void report_print(FILE *file, bool as_json, const struct bat_profile *profile,
                  const struct bat_records *records, const struct report_judgements *judgements)
{
    struct figures figures = {.count = 0};
    gather(profile, records, &figures);
    if (judgements)
        gather_judgements(judgements, &figures);
    figures_print(file, as_json, LABEL_COLUMNS, &figures);
    if (!records)
        return;
    const struct bat_translate_counters done = bat_records_counters(records);
    print_balances(file, as_json, "balance", TRANSLATED, &done.balances, &done.records);
}

void report_density(FILE *file, uint32_t cutoff, double density, double threshold)
{
    fprintf(file, "density of functions with %.2f%% %17.1f\n", cutoff / 10000.0, density);
    if (density != 0 && density < threshold)
        fprintf(file, "times the samples would be enough    %14.1f\n", threshold / density);
}

void report_print_moved(FILE *file, bool as_json, const struct bat_profile *profile,
                        const struct bat_original *original,
                        const struct bat_to_input_counters *counters,
                        const struct bat_records *records,
                        const struct report_judgements *judgements)
{
    struct bat_translate_counters done = bat_records_counters(records);
    const struct figure translated[] = {
        {"traces", "fall-throughs of the input", done.fallthroughs, 0},
        {"invalid", "not one run of code", done.invalid, done.fallthroughs},
        {"functions", "functions with samples", done.functions, 0},
        {"records", "records written", bat_records_count(records), 0},
    };
    struct figures figures = {.count = 0};
    gather(profile, NULL, &figures);
    gather_moved(original, counters, &figures);
    figures_add(&figures, translated, sizeof(translated) / sizeof(translated[0]));
    gather_memory(&done, &figures);
    gather_judgements(judgements, &figures);
    figures_print(file, as_json, LABEL_COLUMNS, &figures);
    print_moved(file, as_json, counters);
    print_balances(file, as_json, "balance", TRANSLATED, &done.balances, &done.records);
}

void report_moved(FILE *file, bool as_json, const struct bat_original *original,
                  const struct bat_to_input_counters *counters)
{
    struct figures figures = {.count = 0};
    gather_moved(original, counters, &figures);
    figures_print(file, as_json, LABEL_COLUMNS, &figures);
    print_moved(file, as_json, counters);
}
