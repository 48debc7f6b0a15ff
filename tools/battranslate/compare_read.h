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
    COMPARED_AUTOFDO,     /* LLVM's sample profile */
    COMPARED_AUTOFDO_MD5, /* the same with MD5 sums as names */
};

/* A form in words, for messages. */
const char *compared_form_name(enum compared_form form);

enum fdata_origin {
    FDATA_NONE,     /* the file is no fdata, or not a regular file, which could be read again */
    FDATA_BOLTED,   /* its header says that the binary had a BAT note */
    FDATA_UNBOLTED, /* it does not */
};

/* Look at the beginning of a file. Fails with BAT_ERR_IO. */
enum bat_code compare_fdata_origin(const char *path, enum fdata_origin *origin,
                                   struct bat_error *error);

struct sample_places;

/*
 * Add the profile in a file to the comparison, as its next one. places are those of all profiles in
 * it. elf is the binary that
 * pre-aggregated profiles are of, or NULL. Fails as bat_profile_read_memory(), with
 * BAT_ERR_UNSUPPORTED for perf.data, which must be translated first, and BAT_ERR_SYNTAX for other
 * forms.
 */
enum bat_code compare_read(struct bat_overlaps *comparison, struct sample_places *places,
                           const char *path, struct bat_elf *elf, enum compared_form *form,
                           struct bat_error *error);

/*
 * Add the records of a sample profile: for each line that has a count, the place (with those of the
 * inlined calls that it is in), as llvm-profdata overlap compares them. *has_md5: functions have
 * MD5 sums in place of names. BAT_ERR_SYNTAX with line and column.
 */
enum bat_code compare_read_autofdo(struct bat_overlaps *comparison, struct sample_places *places,
                                   const char *text, bool *has_md5, struct bat_error *error);

/* True for the first bytes of a binary sample profile of any kind. */
bool compare_is_sample_binary(const char *bytes, size_t size);

/*
 * The same for a binary sample profile: BAT_ERR_SYNTAX with the byte, and BAT_ERR_UNSUPPORTED for
 * kinds and versions that are not read. Time and memory are linear in the bytes, unpacked.
 */
enum bat_code compare_read_sample_binary(struct bat_overlaps *comparison,
                                         struct sample_places *places, const char *bytes,
                                         size_t size, bool *has_md5, struct bat_error *error);

#endif
