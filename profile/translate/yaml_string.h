/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* YAML strings of any bytes. Internal to the library. */
#pragma once

#include "support/text_writer.h"

/*
 * Write a C string as LLVM's YAML writer does: without quotes where it reads back as the same
 * string, in single quotes, or in double quotes if it has characters that need escapes or are not
 * ASCII. A byte that is not UTF-8, for which YAML has no form, is written as four characters such
 * as \x9b.
 */
void bat_yaml_string(struct bat_text_writer *text, const char *string);
