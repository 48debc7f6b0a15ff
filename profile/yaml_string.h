/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strings in YAML that hold any bytes. Internal to the library. */
#ifndef BAT_PROFILE_YAML_STRING_H
#define BAT_PROFILE_YAML_STRING_H

#include "text_writer.h"

/*
 * A C string between single quotes; between double quotes where it has characters that need
 * escapes, which are read back as those characters. A byte that is not UTF-8, for which YAML has
 * no form, is written as the four characters \x9b.
 */
void bat_yaml_string(struct bat_text_writer *text, const char *string);

#endif
