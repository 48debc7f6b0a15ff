/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples with call chains and branches as the text of perf script that llvm-profgen reads. */
#include <stdlib.h>

#include "bat_profile.h"
#include "support/text_writer.h"

/* More bytes than an address or an entry takes. */
#define ENTRY_SIZE 64u

/* An address of no program. */
#define ELSEWHERE UINT64_C(0x7fffffffffff)

struct bat_chains_writer {
    struct bat_text_writer text;
};

enum bat_code bat_chains_writer_new(struct bat_output *output, struct bat_chains_writer **writer,
                                    struct bat_error *error)
{
    *writer = calloc(1, sizeof(**writer));
    BAT_TRY_MEMORY(*writer, error, "to write samples");
    enum bat_code code = bat_text_begin(&(*writer)->text, output, error);
    if (code != BAT_OK) {
        free(*writer);
        *writer = NULL;
    }
    return code;
}

/* How many of the newest runs follow each other: text cannot say that a branch is not known. */
static size_t count_runs(const struct bat_call_chain *chain)
{
    size_t count = 0;
    while (count < chain->run_count && chain->runs[count].branch != BAT_TRACE_FALLTHROUGH_ONLY &&
           (count == 0 || chain->runs[count].to == chain->runs[count - 1].branch))
        count++;
    return count;
}

static char *put_end(char *at, uint64_t address)
{
    at = bat_put_text(at, "0x");
    at = bat_put_hex(at, address == BAT_ADDRESS_EXTERNAL ? ELSEWHERE : address);
    *at++ = '/';
    return at;
}

void bat_chains_writer_add(struct bat_chains_writer *writer, const struct bat_call_chain *chain)
{
    struct bat_text_writer *text = &writer->text;
    const size_t count = count_runs(chain);
    if (count == 0)
        return;
    char *at = bat_text_room(text, ENTRY_SIZE);
    if (chain->count != 1) {
        at = bat_put_decimal(at, chain->count);
        *at++ = '\n';
    }
    bat_text_end(text, at);
    for (size_t i = 0; i < chain->depth; i++) {
        const uint64_t frame = chain->frames[i];
        const bool is_own = frame != BAT_ADDRESS_EXTERNAL && frame != BAT_FRAME_KERNEL;
        at = bat_text_room(text, ENTRY_SIZE);
        *at++ = '\t';
        at = bat_put_hex(at, !is_own ? ELSEWHERE : i == 0 ? frame : frame + 1);
        *at++ = '\n';
        bat_text_end(text, at);
    }
    for (size_t i = 0; i < count; i++) {
        if (chain->runs[i].branch == BAT_ADDRESS_EXTERNAL &&
            chain->runs[i].from == BAT_ADDRESS_EXTERNAL)
            continue;
        at = bat_text_room(text, ENTRY_SIZE);
        *at++ = ' ';
        at = put_end(at, chain->runs[i].branch);
        at = put_end(at, chain->runs[i].from);
        bat_text_end(text, bat_put_text(at, "-/-/-/0"));
    }
    bat_text_string(text, "\n\n");
}

enum bat_code bat_chains_writer_end(struct bat_chains_writer *writer, enum bat_code code)
{
    code = bat_text_finish(&writer->text, code);
    free(writer);
    return code;
}
