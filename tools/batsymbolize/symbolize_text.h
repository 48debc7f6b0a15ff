/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Processes a text with addresses or stacks line by line: addresses are answered as llvm-symbolizer
 * does, frames of stacks are rewritten with their functions and source lines, other lines are
 * printed unchanged. Or else only the stacks are counted.
 */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_TEXT_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_TEXT_H

#include "bat_views.h"
#include "symbolize_input.h"
#include "symbolize_print.h"

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

/* Addresses that were outside of code. */
struct text_outside {
    uint64_t count;
    uint64_t first;
};

/* Questions that are answered together (symbolize_batch.c). */
struct text_batches;

/* At most so many threads answer; 0: one for each processor. NULL if there is no memory. */
struct text_batches *batches_new(unsigned threads);
void batches_free(struct text_batches *batches); /* NULL is allowed */

struct symbolize_text {
    struct symbolize_files *files;
    struct symbolize_printer *printer;
    struct text_batches *batches;       /* for addresses outside of stacks, answered later */
    struct bat_folded *folded;          /* NULL: the text is rewritten, not counted ... */
    struct bat_sampled_stacks *sampled; /* ... or counted here */
    bool return_addresses;              /* addresses outside of stacks are return addresses */
    bool with_command;                  /* folded: the command's name is the outermost frame */
    uint64_t adjust;                    /* subtracted from addresses */
    /* All members from here on start as zero. */
    struct bat_stack_place place;
    struct text_stack stack;
    uint64_t pid;
    char *command;  /* of the sample that is being read, or NULL */
    uint64_t shift; /* added to frames' numbers, for the inlined frames before them */
    bool no_memory;
    bool no_file;    /* an address had no file */
    bool unreadable; /* a file could not be opened */
    struct text_outside outside;
};

/* Process the next line, without its newline. */
void symbolize_text_line(struct symbolize_text *text, const char *line, size_t length);

/* Process a part of a line that is too long to be a frame; is_end: the line's last part. */
void symbolize_text_part(struct symbolize_text *text, const char *part, size_t length, bool is_end);

/* Answer the addresses of all lines up to now, before more lines are waited for. */
void symbolize_text_answer(struct symbolize_text *text);

/* Finish at the end of the text. */
void symbolize_text_end(struct symbolize_text *text);

/* --- Internal to symbolize_*.c -------------------------------------------------------------- */

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

/* Note where an address was found. */
void text_note_found(struct symbolize_text *text, uint64_t address,
                     enum bat_symbolizer_found found);

/* Look up and print an address with the symbolizer of its binary. */
enum bat_symbolizer_found text_print_request(const struct symbolize_text *text,
                                             struct bat_symbolizer *symbolizer,
                                             struct symbolize_printer *printer,
                                             const struct symbolize_request *request);

/* Look up an address of the given binary with its symbolizer, or a second one, and print it. */
enum bat_symbolizer_found text_print_code(const struct symbolize_text *text,
                                          struct bat_symbolizer *symbolizer,
                                          struct symbolize_printer *printer, uint64_t address);

/* Add a question about an address of the given binary. */
void batches_add(struct symbolize_text *text, uint64_t address);

/* Print the answers of all questions that have not been answered. */
void batches_answer(struct symbolize_text *text);

/* Look up the frame in line number i of the stack. */
void text_frame_find(struct symbolize_text *text, size_t i, struct text_frame *frame);

/*
 * True if a line of the stack is not needed any more: perf's own inlined call or source line of a
 * frame that was found.
 */
bool text_frame_is_replaced(struct symbolize_text *text, size_t i);

/* Write a frame in the form of its line. */
void text_frame_write(struct symbolize_text *text, const struct text_frame *frame);

/* True if stacks are counted, not rewritten. */
static inline bool text_is_counted(const struct symbolize_text *text)
{
    return text->folded || text->sampled;
}

/* Add the stack to those that are counted. */
void text_stack_count(struct symbolize_text *text);

#endif
