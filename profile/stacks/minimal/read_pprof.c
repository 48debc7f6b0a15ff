/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In place of all readers, in a build without protobuf-c. */
#include "profile/stacks/reading.h"

enum bat_code stack_read_pprof(struct stack_reading *reading, const uint8_t *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return bat_fail(reading->error, BAT_ERR_UNSUPPORTED,
                    "expected a build of batkit with protobuf-c for pprof's, OpenTelemetry's "
                    "and simpleperf's profiles, found one without it");
}

enum bat_code stack_read_otlp(struct stack_reading *reading, const uint8_t *bytes, size_t size)
{
    return stack_read_pprof(reading, bytes, size);
}

enum bat_code stack_read_simpleperf(struct stack_reading *reading, const uint8_t *bytes,
                                    size_t size)
{
    return stack_read_pprof(reading, bytes, size);
}
