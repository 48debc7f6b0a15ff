/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes a binary's note, but keeps only the entries of some tables. Internal to the library. */
#pragma once

#include "bat_binary.h"
#include "decoder/sparse.h"

/*
 * Like bat_binary_decode(), with the same errors, but into *sparse: the binary keeps its map, or
 * none. The caller frees *sparse with bat_sparse_free(); on failure it is empty.
 */
enum bat_code bat_binary_decode_sparse(const struct bat_binary *binary, bool wants_largest,
                                       struct bat_sparse_map *sparse, struct bat_error *error);

/* bat_sparse_load() with the note of the binary. */
enum bat_code bat_binary_load_tables(const struct bat_binary *binary, struct bat_sparse_map *sparse,
                                     const uint8_t *wanted, bat_sparse_run_fn *run,
                                     struct bat_error *error);
