/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A text from its begin to its end. */
#include <stdlib.h>

#include "spec/options.h"
#include "symbolize_text.h"

/* Open and make what the options ask for. */
static enum bat_code open_text(struct bat_symbolize *text, struct bat_error *error)
{
    const struct bat_symbolize_options *options = &text->options;
    const bool is_folded = options->format == BAT_VIEWER_FOLDED;
    const bool is_sampled = options->format != BAT_VIEWER_NONE && !is_folded;
    const bool demangles = options->demangle && text->binary.demangle;
    text->folded = is_folded ? bat_folded_new() : NULL;
    text->sampled = is_sampled ? bat_sampled_stacks_new() : NULL;
    text->printer.names = demangles ? demangled_names_new(text->binary.demangle) : NULL;
    text->batches = symbolize_batches_new(options->threads);
    BAT_TRY(symbolize_files_open(options, &text->binary, &text->files, error));
    if ((is_folded && !text->folded) || (is_sampled && !text->sampled) ||
        (demangles && !text->printer.names) || !text->batches)
        return bat_fail_memory(error, "for the answers");
    return BAT_OK;
}

static enum bat_code begin(struct bat_symbolize *text, const struct bat_symbolize_options *options,
                           struct bat_output *output, struct bat_error *error)
{
    enum bat_code code = bat_options_copy(&text->options, sizeof(text->options), options,
                                          "bat_symbolize_options", error);
    if (code == BAT_OK)
        code = bat_options_copy(&text->binary, sizeof(text->binary), text->options.binary,
                                "bat_symbolizer_options", error);
    code = code ? code : open_text(text, error);
    if (code == BAT_OK)
        code = bat_text_begin(&text->writer, output, &text->failure) == BAT_OK
                   ? BAT_OK
                   : bat_fail_memory(error, "for the answers");
    if (code != BAT_OK)
        return code;
    text->printer.output = &text->writer;
    text->printer.options = &text->options;
    symbolize_print_list(&text->printer, true);
    return BAT_OK;
}

enum bat_code bat_symbolize_begin(const struct bat_symbolize_options *options,
                                  struct bat_output *output, struct bat_symbolize **text,
                                  struct bat_error *error)
{
    *text = NULL;
    struct bat_symbolize *made = calloc(1, sizeof(*made));
    BAT_TRY_MEMORY(made, error, "for the answers");
    enum bat_code code = begin(made, options, output, error);
    if (code == BAT_OK)
        *text = made;
    else
        bat_symbolize_free(made);
    return code;
}

void bat_symbolize_free(struct bat_symbolize *text)
{
    if (!text)
        return;
    bat_text_finish(&text->writer, BAT_ERR_IO);
    symbolize_batches_free(text->batches);
    symbolize_text_free(text);
    symbolize_files_close(text->files);
    bat_folded_free(text->folded);
    bat_sampled_stacks_free(text->sampled);
    demangled_names_free(text->printer.names);
    for (struct stack_profile *next; text->profiles; text->profiles = next) {
        next = text->profiles->next;
        stack_profile_free(text->profiles);
    }
    free(text);
}

void bat_symbolize_answer(struct bat_symbolize *text)
{
    symbolize_batches_answer(text);
    bat_text_flush(&text->writer);
}

/* Tell that long names stand in the counted stacks as the linker has them. */
static void warn_of_names(const struct bat_symbolize *text)
{
    static const char warning[] = "warning: ";
    char sentence[sizeof(warning) + KEPT_NAMES_WARNING_SIZE];
    char *rest = (char *)mempcpy(sentence, warning, sizeof(warning) - 1);
    if (text->printer.names && text->options.tell &&
        demangled_names_warning(text->printer.names, rest))
        text->options.tell(text->options.path, sentence, text->options.context);
}

enum bat_code bat_symbolize_end(struct bat_symbolize *text, struct bat_error *error)
{
    symbolize_text_end(text);
    symbolize_print_list(&text->printer, false);
    enum bat_code code = symbolize_write_counted(text, error);
    if (symbolize_is_counted(text))
        warn_of_names(text);
    if (code == BAT_OK && text->lacks_memory)
        code = bat_fail_memory(error, "for a stack");
    bat_text_flush(&text->writer);
    if (code == BAT_OK && text->writer.code != BAT_OK) {
        code = text->writer.code;
        if (error)
            *error = text->failure;
    }
    return code;
}

struct bat_symbolize_findings bat_symbolize_findings(const struct bat_symbolize *text)
{
    return text->findings;
}

const char *bat_symbolize_file(const struct bat_symbolize *text, size_t i,
                               const struct bat_symbolizer **symbolizer, struct bat_error *error)
{
    return symbolize_files_at(text->files, i, symbolizer, error);
}
