/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The formats of -o: a row each in translate_formats, and the functions that the rows name. */
#ifndef BAT_TOOLS_BATTRANSLATE_FORMATS_H
#define BAT_TOOLS_BATTRANSLATE_FORMATS_H

#include "translate_work.h"

/* Each opens what its formats are made with. */
enum tool_exit records_open(struct work *work);
enum tool_exit preagg_open(struct work *work);
enum tool_exit compilers_open(struct work *work);
enum tool_exit viewers_open(struct work *work);

/* Each makes the output of the profile, writes it, and prints the report. */
enum tool_exit records_finish(struct work *work);
enum tool_exit preagg_finish(struct work *work);
enum tool_exit foreign_finish(struct work *work);

/* --- Steps that they share (translate_work.c) ----------------------------------------------------
 */

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

#endif
