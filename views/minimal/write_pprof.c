/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In place of both writers, in a build without protobuf-c. */
#include "bat_views.h"
#include "views/stack_tables.h"

enum bat_code write_pprof(const struct bat_sampled_stacks *stacks,
                          const struct bat_sampled_subject *subject, struct bat_output *output,
                          struct bat_error *error)
{
    (void)stacks;
    (void)subject;
    (void)output;
    return bat_fail(error, BAT_ERR_UNSUPPORTED,
                    "expected a build of batkit with protobuf-c for pprof's and OpenTelemetry's "
                    "profiles, found one without it");
}

enum bat_code write_otlp(const struct bat_sampled_stacks *stacks,
                         const struct bat_sampled_subject *subject, struct bat_output *output,
                         struct bat_error *error)
{
    return write_pprof(stacks, subject, output, error);
}
