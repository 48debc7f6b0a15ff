/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a recording holds, for which binaries, whether it is fit, and the command to run next.
 * Internal to the library and the tools.
 */
#pragma once

#include "bat_store.h"
#include "profile/perf/recording.h"
#include "support/text_writer.h"

enum recorded_state {
    RECORDED_BOLTED,      /* its profile can be translated */
    RECORDED_PLAIN,       /* BOLT has not written it: its profile is of its own code */
    RECORDED_UNUSABLE,    /* the message says why */
    RECORDED_OTHER_BUILD, /* that path has another build now */
    RECORDED_MISSING,     /* it is not on this machine */
    RECORDED_NO_FILE,     /* the kernel, [vdso], code made at run time */
};

/* A word for the state, for JSON. */
const char *recorded_state_word(enum recorded_state state);

struct recorded_binary {
    enum recorded_state state;
    const char *path; /* of a named binary or of the recorded file */
    char message[BAT_MESSAGE_SIZE];
};

/* Where to look. */
struct recorded_places {
    const char *const *binaries; /* that the user names */
    size_t binary_count;
    const struct bat_stores *stores;
};

/* Look among the binaries, at the recorded path, and in the stores. */
void recorded_binary_find(const struct perf_recorded_file *file,
                          const struct recorded_places *places, struct recorded_binary *found);

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
