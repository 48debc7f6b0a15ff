/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads profiles of all forms that can be compared. */
#ifndef BAT_TOOLS_BATTRANSLATE_COMPARE_READ_H
#define BAT_TOOLS_BATTRANSLATE_COMPARE_READ_H

#include "bat_compare.h"

/* What a profile's records are of. Only profiles of one form can be compared. */
enum compared_form {
    COMPARED_FDATA,
    COMPARED_FDATA_SAMPLES, /* basic samples in the binary's functions */
    COMPARED_YAML,
    COMPARED_PREAGG,
    COMPARED_AUTOFDO, /* LLVM's sample profile as text */
};

/* A form in words, for messages. */
const char *compared_form_name(enum compared_form form);

/*
 * Add the profile in a file to the comparison, as its next one. elf is the binary that
 * pre-aggregated profiles are of, or NULL. Fails as bat_profile_read_memory(), with
 * BAT_ERR_UNSUPPORTED for perf.data, which must be translated first, and BAT_ERR_SYNTAX for other
 * forms.
 */
enum bat_code compare_read(struct bat_overlaps *comparison, const char *path, struct bat_elf *elf,
                           enum compared_form *form, struct bat_error *error);

/*
 * Add the records of a sample profile: for each line that has a count, the place (with those of the
 * inlined calls that it is in), as llvm-profdata overlap compares them. BAT_ERR_SYNTAX with line
 * and column.
 */
enum bat_code compare_read_autofdo(struct bat_overlaps *comparison, const char *text,
                                   struct bat_error *error);

#endif
