/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is known while a text is answered (bat_symbolize.h), and the steps of that. */
#pragma once

#include "bat_symbolize.h"
#include "profile/stacks/stack_profile.h"
#include "support/demangled_names.h"
#include "support/text_writer.h"

struct symbolize_printer {
    struct bat_text_writer *output;
    const struct bat_symbolize_options *options;
    struct demangled_names *names; /* NULL: names are printed as they are */
    bool has_first;                /* JSON in a list: the first element was printed */
};

/* A query. */
struct symbolize_request {
    const char *module; /* path as it was given; "" for none */
    uint64_t address;
    bool has_address;
};

/* Print the answer: at least one frame, innermost first. */
void symbolize_print_frames(struct symbolize_printer *printer,
                            const struct symbolize_request *request,
                            const struct bat_source_frame *frames, size_t count);

/* Print the answer for an address of data. symbol is NULL if it is not known. */
void symbolize_print_data(struct symbolize_printer *printer,
                          const struct symbolize_request *request, const struct bat_symbol *symbol);

/* Print that no local variables are known. */
void symbolize_print_no_locals(struct symbolize_printer *printer,
                               const struct symbolize_request *request);

/* Print message in a JSON object; in the other styles print an unknown frame. */
void symbolize_print_error(struct symbolize_printer *printer,
                           const struct symbolize_request *request, const char *message);

/* Print a line that is not a query: as it is, or in JSON an object with an error. */
void symbolize_print_unread(struct symbolize_printer *printer, const char *line, size_t length);

/* Print the begin or the end of the JSON array of all answers, if that is wanted. */
void symbolize_print_list(struct symbolize_printer *printer, bool is_begin);

/* The function's name in the form that the options ask for, or NULL. */
const char *symbolize_printed_function(struct symbolize_printer *printer,
                                       const struct bat_source_frame *frame);

/* The name of a frame's file (file or start_file) in the form that the options ask for, or NULL. */
const char *symbolize_printed_file(const struct symbolize_printer *printer,
                                   const struct bat_source_frame *frame, const char *file);

struct symbolize_files;

/*
 * Open options->path, if it is given, with the options of the binary. All of them, and their
 * strings, must outlive *files. Fails as bat_symbolizer_open().
 */
enum bat_code symbolize_files_open(const struct bat_symbolize_options *options,
                                   const struct bat_symbolizer_options *binary,
                                   struct symbolize_files **files, struct bat_error *error);
void symbolize_files_close(struct symbolize_files *files); /* NULL is allowed */

/* The given binary, or NULL. */
struct bat_symbolizer *symbolize_files_given(const struct symbolize_files *files);

/*
 * The binary that a text names: the given one if the name can be its, else the file at that path,
 * which is opened and kept. The original is the given binary's; if no binary is given, it is that
 * of every file that BOLT made from it. NULL, with *error, if the file cannot be opened.
 */
struct bat_symbolizer *symbolize_files_find(struct symbolize_files *files, struct bat_slice module,
                                            struct bat_error *error);

/* bat_symbolize_file() */
const char *symbolize_files_at(const struct symbolize_files *files, size_t i,
                               const struct bat_symbolizer **symbolizer, struct bat_error *error);

/* The lines of one stack. */
struct text_stack {
    char *bytes; /* all lines, one behind the other */
    size_t size;
    size_t byte_capacity;
    struct text_stack_line {
        size_t start;
        size_t length;
        enum bat_frame_pc pc;
    } * lines;
    size_t count;
    size_t line_capacity;
};

/* Questions that are answered together (symbolize_batch.c). */
struct symbolize_batches;

struct bat_symbolize {
    struct bat_symbolize_options options;
    struct bat_symbolizer_options binary; /* those of the options */
    struct symbolize_files *files;
    struct bat_text_writer writer;
    struct symbolize_printer printer;
    struct symbolize_batches *batches;  /* for addresses outside of stacks, answered later */
    struct bat_folded *folded;          /* NULL: the text is rewritten, not counted ... */
    struct bat_sampled_stacks *sampled; /* ... or counted here */
    struct bat_stack_place place;
    struct text_stack stack;
    uint64_t pid;
    char *command;                  /* of the sample that is being read, or NULL */
    struct stack_profile *profiles; /* that were counted: they have names */
    uint64_t shift; /* added to frames' numbers, for the inlined frames before them */
    bool lacks_memory;
    struct bat_error failure; /* of the writer, which also fails before the end */
    struct bat_symbolize_findings findings;
};

/* Finish at the end of the text, and free what its lines have left. */
void symbolize_text_end(struct bat_symbolize *text);
void symbolize_text_free(struct bat_symbolize *text);

/* --- Batches -------------------------------------------------------------------------------- */

/* At most so many threads answer; 0: one for each processor. NULL if there is no memory. */
struct symbolize_batches *symbolize_batches_new(unsigned threads);
void symbolize_batches_free(struct symbolize_batches *batches); /* NULL is allowed */

/* Add a question about an address of the given binary. */
void symbolize_batches_add(struct bat_symbolize *text, uint64_t address);

/* Print the answers of all questions that have not been answered. */
void symbolize_batches_answer(struct bat_symbolize *text);

/* --- Addresses ------------------------------------------------------------------------------ */

/* Note where an address was found. */
void symbolize_note_found(struct bat_symbolize *text, uint64_t address,
                          enum bat_symbolizer_found found);

/* Look up and print an address with the symbolizer of its binary. */
enum bat_symbolizer_found symbolize_print_request(const struct bat_symbolize *text,
                                                  struct bat_symbolizer *symbolizer,
                                                  struct symbolize_printer *printer,
                                                  const struct symbolize_request *request);

/* Look up an address of the given binary with its symbolizer, or a second one, and print it. */
enum bat_symbolizer_found symbolize_print_code(const struct bat_symbolize *text,
                                               struct bat_symbolizer *symbolizer,
                                               struct symbolize_printer *printer, uint64_t address);

/* --- Stacks --------------------------------------------------------------------------------- */

/* A frame of a stack, and the source frames that were found for it. */
struct text_frame {
    const char *line;
    size_t length;
    struct bat_stack_line read;
    const char *module; /* path of the binary */
    uint64_t address;   /* in the given file; 0 in others */
    const struct bat_source_frame *frames;
    size_t count; /* 0: nothing was found, the line stays as it is */
};

/* Look up the frame in line number i of the stack. */
void symbolize_frame_find(struct bat_symbolize *text, size_t i, struct text_frame *frame);

/* No compiler inlines so deeply. */
#define INLINED_MAX 256u

/* The same for a place in a profile of stacks; room has INLINED_MAX frames. */
void symbolize_place_find(struct bat_symbolize *text, const struct stack_place *place,
                          enum bat_frame_pc pc, struct text_frame *frame,
                          struct bat_source_frame *room);

/*
 * True if a line of the stack is not needed any more: perf's own inlined call or source line of a
 * frame that was found.
 */
bool symbolize_frame_is_replaced(struct bat_symbolize *text, size_t i);

/* Write a frame in the form of its line. */
void symbolize_frame_write(struct bat_symbolize *text, const struct text_frame *frame);

/* True if stacks are counted, not rewritten. */
static inline bool symbolize_is_counted(const struct bat_symbolize *text)
{
    return text->folded || text->sampled;
}

/* Add the stack to those that are counted. */
void symbolize_stack_count(struct bat_symbolize *text);

/* Add the stack of a sample to those that are counted. */
void symbolize_sample_count(struct bat_symbolize *text, const struct stack_sample *sample);

/* Write the stacks that were counted, if they were. */
enum bat_code symbolize_write_counted(struct bat_symbolize *text, struct bat_error *error);
