/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Both questions about the density of a profile, for which its code is read once. */
#pragma once

#include "bat_profile.h"

/* bat_records_density() and, if found is not NULL, bat_records_densities(). */
enum bat_code bat_records_measure_density(const struct bat_records *records,
                                          const struct bat_profile *profile, uint32_t cutoff,
                                          double *density, bat_function_density_fn *found,
                                          void *context, struct bat_error *error);
