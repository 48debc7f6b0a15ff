/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Words for what a BOLTed binary and its note say of themselves. */
#ifndef BAT_NOTE_FACTS_H
#define BAT_NOTE_FACTS_H

#include "bat_binary.h"

/* A kind of field, in the plural, as a label. Static. */
const char *note_share_label(enum bat_share share);

/* The version of a note, and which BOLT writes such notes. Static. */
const char *note_version_text(const struct bat_map *map);

/* The name of the machine that the file is for. Static. */
const char *note_machine_name(const struct bat_elf *elf);

/* The most bytes of a revision, with the zero byte: a commit's hash, perhaps with an address. */
#define NOTE_REVISION_SIZE 256u

/*
 * Divide the text of .note.bolt_info ("BOLT revision: R, command line: C"). *command points into
 * it; revision becomes R, "not recorded" for "<unknown>". False if the text has another form.
 */
bool note_bolt_info(const char *info, char revision[NOTE_REVISION_SIZE], const char **command);

#endif
