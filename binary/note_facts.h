/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tools say of a note, in words and numbers. */
#pragma once

#include <stdint.h>

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

/* True for a file that BOLT has written: it has a note of BOLT's, or else its original code. */
bool note_is_bolted(const struct bat_elf *elf);

/* Enough for 2^64 - 1 with separators. */
#define NUMBER_SIZE 32u

/* value with a comma at each thousand, as text in that buffer. */
static inline const char *with_commas(uint64_t value, char text[NUMBER_SIZE])
{
    char *at = text + NUMBER_SIZE - 1;
    *at = '\0';
    unsigned digits = 0;
    do {
        if (digits != 0 && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + value % 10);
        digits++;
        value /= 10;
    } while (value != 0);
    return at;
}
