/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How fdata and YAML are made of struct bat_records, in parts (support/text_parts.h). Internal. */
#ifndef BAT_PROFILE_TRANSLATE_RECORDS_WRITE_H
#define BAT_PROFILE_TRANSLATE_RECORDS_WRITE_H

#include "support/string_table.h"
#include "support/text_parts.h"

/* About so many records are a part: their text is in general shorter than BAT_TEXT_BUFFER. */
#define BAT_RECORDS_PER_PART 512u

extern const struct bat_text_source bat_fdata_source;
extern const struct bat_text_source bat_yaml_source;

/*
 * Write what is before the records of fdata: no_lbr with the events, unless they are NULL, then
 * boltedcollection. llvm-bolt reads the two lines in this order only; perf2bolt writes the other.
 */
void bat_fdata_write_header(struct bat_text_writer *writer, const struct bat_strings *events,
                            bool is_bolted);

/* Write the counts behind a key of 2 or 4 words, and the end of the line. */
void bat_fdata_write_counts(struct bat_text_writer *writer, const uint64_t *item, uint32_t words);

#endif
