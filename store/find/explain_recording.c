/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "explain_recording.h"

#include <stdlib.h>
#include <string.h>

#include "support/figures.h"

/* Files that the table shows, and commands. */
#define FILES_SHOWN ((size_t)12)
#define COMMANDS_SHOWN ((size_t)5)

#define RECORD_COMMAND "perf record -e cycles:u -j any,u"

/* Whether a translation gives a good profile, a poor one, or none. */
enum fitness { FIT, FIT_IN_PART, UNFIT };

static const char *const fitness_words[] = {"yes", "in part", "no"};

#define REASONS_MAX 8u

struct explanation {
    const struct recording_question *question;
    const struct perf_recording *recording;
    struct recorded_binary *binaries; /* of the files shown */
    size_t shown;
    size_t bolted; /* of those shown */
    enum fitness fitness;
    const char *reasons[REASONS_MAX];
    size_t reason_count;
    char lost[96];
    char filter[PERF_RECORDED_NAME + 160];
    struct bat_text_writer *output;
};

/* --- Judging -------------------------------------------------------------------------------- */

static void add_reason(struct explanation *explanation, enum fitness fitness, const char *reason)
{
    if (fitness > explanation->fitness)
        explanation->fitness = fitness;
    explanation->reasons[explanation->reason_count++] = reason;
}

static void judge_samples(struct explanation *explanation)
{
    const struct perf_recording *recording = explanation->recording;
    if (recording->samples == 0 && recording->has_trace_data)
        add_reason(explanation, UNFIT,
                   "it has trace data of the processor, of which only perf can make samples: "
                   "translate it with --itrace=OPTIONS (Intel PT) or --spe (Arm)");
    else if (recording->lacks_processes)
        add_reason(explanation, FIT_IN_PART,
                   "the text does not say which processes and files were sampled: all samples "
                   "count for the BINARY that is named");
    else if (recording->samples == 0 && recording->is_for_people)
        add_reason(explanation, UNFIT,
                   "its samples are as perf script prints them for people, without -F: wanted are "
                   "those of perf script --show-mmap-events -F pid,brstack (-F pid,event,ip for "
                   "-ba)");
    else if (recording->samples == 0)
        add_reason(explanation, UNFIT,
                   "nothing was sampled: all was idle, or this machine does not count the event "
                   "(perf record -e cpu-clock:u works on virtual machines)");
    else if (recording->file_count == 0 && recording->is_of_stacks)
        add_reason(
            explanation, UNFIT,
            "it does not say which files the samples are in: its locations have no mappings");
    else if (recording->file_count == 0)
        add_reason(explanation, UNFIT,
                   "it does not say which files the samples are in: text needs the mappings, too "
                   "(perf script --show-mmap-events)");
    else if (recording->placed != 0 && recording->kernel == recording->placed)
        add_reason(explanation, UNFIT,
                   "all samples are the kernel's: record user space with " RECORD_COMMAND);
    else if (recording->has_call_stacks)
        add_reason(explanation, UNFIT,
                   "its branch stacks are call stacks (perf record --call-graph lbr), which have "
                   "no branches: record with " RECORD_COMMAND);
    else if (recording->stacks == 0)
        add_reason(explanation, FIT_IN_PART,
                   "it has no branch stacks, only addresses, of which BOLT infers the rest: "
                   "better is " RECORD_COMMAND ", if the processor can");
}

static void judge_rest(struct explanation *explanation)
{
    const struct perf_recording *recording = explanation->recording;
    if (recording->filter[0]) {
        snprintf(explanation->filter, sizeof(explanation->filter),
                 "perf recorded only some branches (-j %s): what ran between two of them is not "
                 "known; record with " RECORD_COMMAND,
                 recording->filter);
        add_reason(explanation, FIT_IN_PART, explanation->filter);
    }
    if (recording->lost > recording->samples / 100) {
        snprintf(explanation->lost, sizeof(explanation->lost),
                 "perf lost %lu records: record less often (-c, -F)", recording->lost);
        add_reason(explanation, FIT_IN_PART, explanation->lost);
    }
    if (recording->file_count != 0 && recording->kernel != recording->placed &&
        explanation->bolted == 0)
        add_reason(explanation, FIT_IN_PART,
                   "no file with samples is a binary of llvm-bolt --enable-bat on this machine: "
                   "name it (battranslate --explain-recording=RECORDING BINARY), or give its store "
                   "(--store)");
}

/* --- Text ----------------------------------------------------------------------------------- */

static void print_head(const struct explanation *explanation)
{
    const struct perf_recording *recording = explanation->recording;
    struct bat_text_writer *output = explanation->output;
    bat_text_escaped(output, explanation->question->recording);
    bat_text_format(output, ": %lu sample%s", recording->samples,
                    recording->samples == 1 ? "" : "s");
    for (size_t i = 0; i < recording->event_count; i++)
        bat_text_name(output, i == 0 ? " of " : ", ", recording->events[i], "");
    if (recording->machine[0])
        bat_text_name(output, ", on ", recording->machine, "");
    bat_text_format(output, "\n  with branch stacks: %.1f%%, in the kernel: %.1f%%, lost: %lu",
                    figures_percent(recording->stacks, recording->placed),
                    figures_percent(recording->kernel, recording->placed), recording->lost);
    bat_text_string(output, "\n\n");
}

static void print_state(struct bat_text_writer *output, const struct recorded_binary *binary)
{
    switch (binary->state) {
    case RECORDED_BOLTED:
        bat_text_string(output, "BOLTed, with a BAT note");
        break;
    case RECORDED_PLAIN:
        bat_text_string(output, "not BOLTed");
        break;
    case RECORDED_UNUSABLE:
        bat_text_escaped(output, binary->message);
        break;
    case RECORDED_OTHER_BUILD:
        bat_text_string(output, "another build is at this path now");
        break;
    case RECORDED_MISSING:
        bat_text_string(output, "not on this machine");
        break;
    case RECORDED_NO_FILE:
        break;
    }
}

static void print_file(const struct explanation *explanation, size_t i)
{
    const struct perf_recorded_file *file = &explanation->recording->files[i];
    const struct recorded_binary *binary = &explanation->binaries[i];
    struct bat_text_writer *output = explanation->output;
    bat_text_format(output, "%11lu  %5.1f%%  ", file->samples,
                    figures_percent(file->samples, explanation->recording->placed));
    bat_text_escaped(output, file->path);
    if (strcmp(binary->path, file->path) != 0)
        bat_text_name(output, ", here ", binary->path, "");
    bat_text_string(output, binary->state == RECORDED_NO_FILE ? "" : ": ");
    print_state(output, binary);
    if (file->build_id_size != 0) {
        bat_text_string(output, " (build-id ");
        bat_text_hex_bytes(output, file->build_id, file->build_id_size);
        bat_text_string(output, ")");
    }
    bat_text_string(output, "\n");
}

static void print_files(const struct explanation *explanation)
{
    const struct perf_recording *recording = explanation->recording;
    if (recording->file_count == 0)
        return;
    bat_text_string(explanation->output, "    samples   share  file\n");
    for (size_t i = 0; i < explanation->shown; i++)
        print_file(explanation, i);
    if (recording->file_count > explanation->shown)
        bat_text_format(explanation->output, "%21s and %zu more files\n", "",
                        recording->file_count - explanation->shown);
    bat_text_string(explanation->output, "\n");
}

/* --- The next command ----------------------------------------------------------------------- */

/* A word of a command for a shell. */
static void print_word(struct bat_text_writer *output, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-./:@%,=";
    if (*word && word[strspn(word, plain)] == '\0') {
        bat_text_string(output, word);
        return;
    }
    bat_text_string(output, "'");
    for (; *word; word++) {
        const char letter[] = {*word, '\0'};
        bat_text_string(output, *word == '\'' ? "'\\''" : letter);
    }
    bat_text_string(output, "'");
}

static void print_command(const struct explanation *explanation, const char *binary)
{
    struct bat_text_writer *output = explanation->output;
    bat_text_string(output, "battranslate ");
    print_word(output, binary);
    bat_text_string(output, " -p ");
    print_word(output, explanation->question->recording);
    bat_text_string(output, explanation->recording->stacks == 0 ? " -ba -o " : " -o ");
    char *name;
    if (asprintf(&name, "%s.fdata", basename(binary)) < 0)
        return;
    print_word(output, name);
    free(name);
    bat_text_string(output, " --check");
}

/* The file whose profile the next command makes, behind number *next; NULL behind the last. */
static const char *next_binary(const struct explanation *explanation, size_t *next)
{
    const enum recorded_state wanted = explanation->bolted != 0 ? RECORDED_BOLTED : RECORDED_PLAIN;
    while (*next < explanation->shown) {
        const struct recorded_binary *binary = &explanation->binaries[(*next)++];
        if (binary->state == wanted)
            return binary->path;
    }
    return NULL;
}

/* Without a BOLTed file, the one with most samples alone. */
static size_t count_commands(const struct explanation *explanation)
{
    if (explanation->fitness == UNFIT)
        return 0;
    if (explanation->bolted == 0)
        return 1;
    return explanation->bolted < COMMANDS_SHOWN ? explanation->bolted : COMMANDS_SHOWN;
}

static void print_next(const struct explanation *explanation)
{
    struct bat_text_writer *output = explanation->output;
    size_t next = 0;
    const char *binary = next_binary(explanation, &next);
    const size_t count = binary ? count_commands(explanation) : 0;
    if (count == 0)
        return;
    bat_text_string(output, "\nRun next:\n");
    for (size_t i = 0; i < count && binary; i++) {
        bat_text_string(output, "  ");
        print_command(explanation, binary);
        bat_text_string(output, "\n");
        binary = next_binary(explanation, &next);
    }
    bat_text_string(output,
                    explanation->bolted != 0
                        ? "With --original=INPUT, the binary that BOLT read, counts are more "
                          "exact.\n"
                        : "BOLT has not written this file: the profile is of its own code.\n");
}

static void print_text(const struct explanation *explanation)
{
    struct bat_text_writer *output = explanation->output;
    print_head(explanation);
    print_files(explanation);
    bat_text_format(output, "Fit to be translated: %s\n", fitness_words[explanation->fitness]);
    for (size_t i = 0; i < explanation->reason_count; i++)
        bat_text_name(output, "  - ", explanation->reasons[i], "\n");
    print_next(explanation);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void print_json_file(const struct explanation *explanation, size_t i)
{
    const struct perf_recorded_file *file = &explanation->recording->files[i];
    struct bat_text_writer *output = explanation->output;
    bat_text_member(output, i == 0 ? "\n  {\"path\": " : ",\n  {\"path\": ", file->path);
    if (file->build_id_size != 0) {
        bat_text_string(output, ", \"build_id\": \"");
        bat_text_hex_bytes(output, file->build_id, file->build_id_size);
        bat_text_string(output, "\"");
    }
    bat_text_format(output, ", \"samples\": %lu, \"with_stacks\": %lu", file->samples,
                    file->stacks);
    if (i < explanation->shown) {
        const struct recorded_binary *binary = &explanation->binaries[i];
        bat_text_member(output, ", \"state\": ", recorded_state_word(binary->state));
        if (strcmp(binary->path, file->path) != 0)
            bat_text_member(output, ", \"binary\": ", binary->path);
        if (binary->message[0])
            bat_text_member(output, ", \"message\": ", binary->message);
    }
    bat_text_string(output, "}");
}

static void print_json(const struct explanation *explanation)
{
    const struct perf_recording *recording = explanation->recording;
    struct bat_text_writer *output = explanation->output;
    bat_text_member(output, "{\"recording\": ", explanation->question->recording);
    bat_text_string(output, ", \"events\": [");
    for (size_t i = 0; i < recording->event_count; i++)
        bat_text_member(output, i == 0 ? "" : ", ", recording->events[i]);
    bat_text_member(output, "], \"machine\": ", recording->machine);
    bat_text_format(output,
                    ",\n\"samples\": %lu, \"placed\": %lu, \"with_stacks\": %lu, \"kernel\": %lu, "
                    "\"lost\": %lu,\n\"files\": [",
                    recording->samples, recording->placed, recording->stacks, recording->kernel,
                    recording->lost);
    for (size_t i = 0; i < recording->file_count; i++)
        print_json_file(explanation, i);
    bat_text_member(output, "],\n\"fit\": ", fitness_words[explanation->fitness]);
    bat_text_string(output, ", \"reasons\": [");
    for (size_t i = 0; i < explanation->reason_count; i++)
        bat_text_member(output, i == 0 ? "\n  " : ",\n  ", explanation->reasons[i]);
    bat_text_string(output, "]}\n");
}

/* --- All ------------------------------------------------------------------------------------ */

static void explain(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->shown; i++) {
        recorded_binary_find(&explanation->recording->files[i], &explanation->question->places,
                             &explanation->binaries[i]);
        explanation->bolted += explanation->binaries[i].state == RECORDED_BOLTED;
    }
    judge_samples(explanation);
    judge_rest(explanation);
    if (explanation->question->as_json)
        print_json(explanation);
    else if (!explanation->question->is_quiet)
        print_text(explanation);
}

static enum bat_code take_recording(const struct perf_recording *recording, void *context,
                                    struct bat_error *error)
{
    struct explanation *explanation = context;
    const size_t count = recording->file_count;
    explanation->recording = recording;
    explanation->shown = count < FILES_SHOWN ? count : FILES_SHOWN;
    explanation->binaries = calloc(explanation->shown + 1, sizeof(*explanation->binaries));
    if (!explanation->binaries)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    explain(explanation);
    free(explanation->binaries);
    return BAT_OK;
}

enum bat_code recording_explain(const struct recording_question *question,
                                struct bat_text_writer *output, bool *is_fit,
                                struct bat_error *error)
{
    struct explanation explanation = {.question = question, .output = output};
    BAT_TRY(perf_recording_read(question->recording, take_recording, &explanation, error));
    *is_fit = explanation.fitness != UNFIT;
    return BAT_OK;
}
