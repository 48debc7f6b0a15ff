/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a recording holds, for which binaries, whether it is fit, and the command to run next.
 * Internal to the library and the tools.
 */
#pragma once

#include "bat_store.h"
#include "profile/perf/recording.h"
#include "support/text_writer.h"

/* Where to look. */
struct recorded_places {
    const char *const *binaries; /* that the user names */
    size_t binary_count;
    const struct bat_stores *stores;
};

struct recording_question {
    const char *recording;
    struct recorded_places places;
    bool as_json;
    bool is_quiet; /* no text: only whether it is fit */
};

/*
 * Print the answer. *is_fit is false if a translation would give nothing. Fails as
 * perf_recording_read().
 */
enum bat_code recording_explain(const struct recording_question *question,
                                struct bat_text_writer *output, bool *is_fit,
                                struct bat_error *error);
