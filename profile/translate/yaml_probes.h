/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The pseudo probes of YAML, and its tables: spec/pseudo-probes.md 4. Internal to the library. */
#pragma once

#include "records.h"

/*
 * Read the binary's probes into records->probes; without probes it stays NULL. sampled has a byte
 * for each function, which is not 0 for those with samples: their bodies are read, by the name of
 * the first symbol at their start. If there are none of these, all are.
 */
enum bat_code bat_yaml_probes_read(struct bat_records *records, const uint8_t *sampled,
                                   struct bat_error *error);
