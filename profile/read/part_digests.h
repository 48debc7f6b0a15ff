/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parts of which a profile was added up, by digests of their bytes (spec/profiles.md 1, Parts).
 * Internal to the library and the tools.
 */
#pragma once

#include "bat_profile.h"
#include "support/counts.h"

/* The words of a digest of 128 bits: its upper half, its lower half. */
#define BAT_DIGEST_WORDS 2u

/*
 * Add the digests of the parts that a file holds to digests, an empty table for keys of
 * BAT_DIGEST_WORDS: those that the D records of a pre-aggregated profile name; for any other
 * profile one digest, that of all its bytes. file is a regular file at its beginning, or a
 * folder that perf record --threads made, whose files all belong to the
 * part. Fails with BAT_ERR_IO and BAT_ERR_MEMORY; with BAT_ERR_SYNTAX for text without a form or
 * for a damaged D record; with BAT_ERR_MISMATCH if the file names a part twice. Linear in the file.
 */
enum bat_code bat_part_digests(int file, struct bat_counts *digests, struct bat_error *error);
