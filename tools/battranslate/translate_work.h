/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of translating the profile of one binary: begin outputs, open, read, finish, commit. */
#pragma once

#include <stdio.h>

#include "bat_binary.h"
#include "bat_original.h"
#include "bat_profile.h"
#include "profile/read/parts.h"
#include "profile/report/report.h"
#include "request.h"
#include "tools/common/check_print.h"
#include "tools/common/tool.h"

/* -o and -w. */
#define OUTPUTS_MAX 2u

/* All that is open while a profile is translated. */
struct work {
    const struct translate_request *arguments;
    /* The whole binary from a store; work_find_stored() looks for it, unless it is there. */
    struct bat_stored stored;
    struct bat_binary binary;
    struct bat_elf *symbols;          /* NULL: the binary's own */
    struct bat_elf *original_symbols; /* NULL: the input binary's own */
    struct bat_original *original;    /* NULL: none was given */
    struct bat_profile *profile;
    struct bat_preparation *preparation; /* NULL: not worth it */
    struct bat_profile *input; /* profile at the input's addresses: with original, once needed */
    struct bat_to_input_counters to_input; /* of that move */
    struct bat_records *records;
    /* Of -o, then of -w, then of the heat map, as far as they are given. */
    struct bat_output *outputs[OUTPUTS_MAX + HEATMAP_FILES_MAX];
    size_t output_count;
    size_t heatmap_count;             /* the last so many are the heat map's */
    const struct parts *parts;        /* what was read; NULL before */
    struct bat_profile_verdict check; /* --check, if it is wanted */
    uint64_t profiles_with_records;
    FILE *report; /* where to print the report; NULL: where no output goes */
    struct bat_error error;
};

/* Each prints its errors to standard error. After any of them work_close() must follow. */

/* Begin the outputs that the request names. */
enum tool_exit work_begin_outputs(struct work *work);

/* Open the binary, and what its profile is translated with. */
enum tool_exit work_open(struct work *work);

/* Look for the whole binary in the request's stores, if the given one is shipped. */
enum tool_exit work_find_stored(struct work *work);

/* Make the empty profile. prepares: threads begin to read the binary. */
enum tool_exit work_make_profile(struct work *work, bool prepares);

/* Translate the profile, write the outputs, print the report. */
enum tool_exit work_finish(struct work *work);

/* Read the request's profiles into the profile that is made for it; parts must outlive work. */
enum tool_exit work_read_profiles(struct work *work, struct parts *parts);

/* Read a request's profiles with read. Prints errors. parts_free() must follow. */
enum tool_exit work_read_parts(struct parts *parts, const struct translate_request *request,
                               parts_read_fn *read, void *context);

/* TOOL_PARTIAL if a profile was left out, else TOOL_FINE. */
enum tool_exit work_parts_status(const struct parts *parts);

/* True if there is something to report of parts: --once or --keep-going was given. */
bool work_reports_parts(const struct translate_request *request);

/* Make the records that --for carries: the profile's, in the input binary if that is given. */
enum tool_exit work_make_records(struct work *work);

/* Write all outputs, and fill *judgements for the report, if there will be one. */
enum tool_exit work_write_records(struct work *work, struct report_judgements *judgements);

/*
 * Check the profile by all checks if that is wanted, else, for the report, by those that cost
 * nothing. next is how it was carried, or NULL; judgements are of what is written.
 */
enum tool_exit work_check(struct work *work, const struct bat_verdict_next *next,
                          const struct report_judgements *judgements);

/*
 * Print the checks behind the report. TOOL_BAD for a profile that --check finds unfit: its outputs
 * are not written.
 */
enum tool_exit work_finish_check(struct work *work);

/* Where the report goes: to standard error if an output goes to standard output. */
FILE *work_report_file(const struct work *work);

/* Abandon outputs that were not committed, and free everything. */
void work_close(struct work *work);

/*
 * Carry the profiles of all releases of the request to the build that --for names, write the
 * outputs, and print the report. parts, of the first release, must outlive work.
 */
enum tool_exit carry_next_run(struct work *work, struct parts *parts);

/* --- Steps that formats share --------------------------------------------------------------- */

/* The file that has the note. */
const char *work_note_path(const struct translate_request *arguments);

/* Open the binary's ELF file; or the binary with its note, if it has one. */
enum tool_exit work_open_elf(struct work *work, struct bat_elf **elf);
enum tool_exit work_open_binary(struct work *work);

/* Open the file with the symbols, if one is given. */
enum tool_exit work_open_symbols(struct work *work);

/* Change the profile as options say. */
enum tool_exit work_prepare_profile(struct work *work);

/* Make work->input, the profile that the input binary's own run would have given. */
enum tool_exit work_move(struct work *work);

/*
 * Translate anew with perf2bolt's records, of which the density is made; NULL if the records are
 * these already. False after an error.
 */
bool work_translate_again(struct work *work, struct bat_records **records);

/* End the report of a profile that is not translated to records: fewer checks are made. */
void work_end_report(struct work *work, const struct bat_to_input_counters *to_input,
                     bool wants_samples);

/* True if YAML with pseudo probes is written. */
bool work_writes_probes(const struct translate_request *request);

/* What bat_profile_translate() is asked for. */
struct bat_translate_options work_translate_options(const struct work *work);

/* Opens what records are made with; a format's open(). */
enum tool_exit records_open(struct work *work);

/* Each opens what its formats are made with. */
enum tool_exit preagg_open(struct work *work);
enum tool_exit compilers_open(struct work *work);
enum tool_exit viewers_open(struct work *work);

/* Each makes the output of the profile, writes it, and prints the report. */
enum tool_exit records_finish(struct work *work);
enum tool_exit preagg_finish(struct work *work);
enum tool_exit foreign_finish(struct work *work);
