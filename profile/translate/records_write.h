/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How fdata and YAML are made of struct bat_records, in parts (support/text_parts.h). Internal. */
#ifndef BAT_PROFILE_TRANSLATE_RECORDS_WRITE_H
#define BAT_PROFILE_TRANSLATE_RECORDS_WRITE_H

#include "support/text_parts.h"

/* About so many records are a part: their text is in general shorter than BAT_TEXT_BUFFER. */
#define BAT_RECORDS_PER_PART 512u

extern const struct bat_text_source bat_fdata_source;
extern const struct bat_text_source bat_yaml_source;

#endif
