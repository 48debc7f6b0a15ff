/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names and paths as they are printed, which answers repeat often: each is prepared once. */
#ifndef BAT_TOOLS_BATSYMBOLIZE_PRINTED_TEXTS_H
#define BAT_TOOLS_BATSYMBOLIZE_PRINTED_TEXTS_H

#include "tools/common/output.h"

/* A cache. Texts must stay in place and unchanged as long as it is used: pointers are the keys. */
struct printed_texts;

/* demangle: texts are names of functions, and are printed demangled. NULL if out of memory. */
struct printed_texts *printed_texts_new(bool demangle);
void printed_texts_free(struct printed_texts *texts);

/* Write text with its control characters escaped. If out of memory, this only takes longer. */
void output_printed(struct output *output, struct printed_texts *texts, const char *text);

/* The same for a text that is not expected again: it is not kept. */
void output_printed_once(struct output *output, struct printed_texts *texts, const char *text);

/* A copy of a text, without a zero behind it, as long as texts. NULL if there is no memory. */
char *printed_texts_keep(struct printed_texts *texts, const char *text, size_t length);

#endif
