/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The formats of -o: a row each in translate_formats, and the functions that the rows name. */
#pragma once

#include "translate_work.h"

/* Each opens what its formats are made with. */
enum tool_exit preagg_open(struct work *work);
enum tool_exit compilers_open(struct work *work);
enum tool_exit viewers_open(struct work *work);

/* Each makes the output of the profile, writes it, and prints the report. */
enum tool_exit records_finish(struct work *work);
enum tool_exit preagg_finish(struct work *work);
enum tool_exit foreign_finish(struct work *work);
