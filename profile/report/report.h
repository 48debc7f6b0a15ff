/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Warnings about a translation, and the report of it. Internal to the library and the tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bat_original.h"
#include "bat_profile.h"
#include "bat_verdict.h"
#include "support/figures.h"

/* A build-id in hexadecimal, or "none". */
void report_build_id(const struct bat_elf *elf, char *buffer, size_t size);

/* Receives a warning, a sentence, and the path that it is of. */
typedef void report_tell_fn(const char *path, const char *sentence);

/*
 * Warn if the profile does not seem to be the binary's, or has no sample of it. Fails with
 * BAT_ERR_SYNTAX or BAT_ERR_MISMATCH if the profile has no records of the wanted kind at all; with
 * has_check, one without any records is left to the checks.
 */
enum bat_code report_check(const char *path, const struct bat_elf *elf,
                           const struct bat_profile *profile, const struct bat_records *records,
                           bool has_check, report_tell_fn *tell, struct bat_error *error);

/* Warn if counts of the profile were lost, or counted twice, in its translation. */
void report_check_balances(const char *path, const struct bat_records *records,
                           report_tell_fn *tell);

/*
 * Check a profile that is written untranslated: fails if there is nothing to write, unless it may
 * be empty. Warns of samples that the output's format cannot have.
 */
enum bat_code report_check_samples(const char *path, const struct bat_profile *profile,
                                   bool may_be_empty, report_tell_fn *tell,
                                   struct bat_error *error);

/*
 * Check a profile that was moved to the input binary of elf. No sample in the binary is a warning
 * if the result may be empty, else it fails.
 */
enum bat_code report_check_moved(const char *path, const struct bat_elf *elf,
                                 const struct bat_profile *profile,
                                 const struct bat_to_input_counters *counters, bool may_be_empty,
                                 report_tell_fn *tell, struct bat_error *error);

/* What llvm-bolt will refuse of the outputs. */
struct report_judgements {
    bool has_fdata;
    bool has_yaml;
    struct bat_judgement fdata;
    struct bat_judgement yaml;
};

/*
 * Judge records as fdata, as YAML, or as both. If the code cannot be read, warns and leaves
 * has_fdata and has_yaml false. Fails with BAT_ERR_MEMORY.
 */
enum bat_code report_judge(const char *path, struct bat_records *records, bool as_fdata,
                           bool as_yaml, report_tell_fn *tell, struct report_judgements *judgements,
                           struct bat_error *error);

/* Print the report of paired functions and moved samples; as JSON an object without its end. */
void report_moved(FILE *file, bool as_json, const struct bat_original *original,
                  const struct bat_to_input_counters *counters);

/* Print which functions were moved by the note alone: the heaviest of them. As JSON, members. */
void report_by_note(FILE *file, bool as_json, const struct bat_to_input_counters *counters);

/*
 * Print the report at the end. records and judgements are NULL
 * if nothing was translated.
 */
void report_print(FILE *file, bool as_json, const struct bat_profile *profile,
                  const struct bat_records *records, const struct report_judgements *judgements);

/*
 * Print the density of the functions with cutoff millionths of the samples, and how many times the
 * samples are needed if it is below threshold.
 */
void report_density(FILE *file, uint32_t cutoff, double density, double threshold);

/* Print the report of a profile that was moved to the input binary and translated there. */
void report_print_moved(FILE *file, bool as_json, const struct bat_profile *profile,
                        const struct bat_original *original,
                        const struct bat_to_input_counters *counters,
                        const struct bat_records *records,
                        const struct report_judgements *judgements);

/*
 * Compare the records with the fdata in the file at path. Fails if that cannot be read or is
 * another form of profile.
 */
enum bat_code baseline_compare(const char *path, const struct bat_records *records,
                               struct bat_verdict_baseline *baseline, struct bat_error *error);
