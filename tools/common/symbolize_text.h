/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A text with addresses or stacks in it, line by line: addresses are answered as llvm-symbolizer
 * does, frames of stacks are written anew with what is known of them, all else goes through. Or
 * the stacks are added up.
 */
#ifndef BAT_SYMBOLIZE_TEXT_H
#define BAT_SYMBOLIZE_TEXT_H

#include "symbolize_files.h"
#include "symbolize_print.h"

/* The frames of one stack, as their lines stand in the text. */
struct text_stack {
    char *bytes; /* all lines, one behind the other */
    size_t size;
    size_t room;
    struct text_stack_line {
        size_t start;
        size_t length;
        enum bat_frame_pc pc;
    } * lines;
    size_t count;
    size_t line_room;
};

/* Addresses that were in no code. */
struct text_outside {
    uint64_t count;
    uint64_t first;
};

struct symbolize_text {
    struct symbolize_files *files;
    struct symbolize_printer *printer;
    struct bat_folded *folded; /* NULL: the text goes through */
    bool return_addresses;     /* addresses by themselves are return addresses */
    bool with_command;         /* folded: the command's name is the outermost frame */
    uint64_t adjust;           /* taken off addresses */
    /* From here on all zero at first. */
    struct bat_stack_place place;
    struct text_stack stack;
    uint64_t pid;
    char *command;  /* of the sample that is being read, or NULL */
    uint64_t shift; /* added to frames' numbers: inlined frames have numbers now */
    bool no_memory;
    bool no_file;    /* an address had no file to be in */
    bool unreadable; /* a file could not be opened */
    struct text_outside outside;
};

/* The next line, without its newline. */
void symbolize_text_line(struct symbolize_text *text, const char *line, size_t length);

/* A part of a line that is too long to be a frame; is_end: the line's last. */
void symbolize_text_part(struct symbolize_text *text, const char *part, size_t length, bool is_end);

/* The end of the text. */
void symbolize_text_end(struct symbolize_text *text);

/* --- For the parts of it -------------------------------------------------------------------- */

/* What is known of a frame of a stack. */
struct text_frame {
    const char *line;
    size_t length;
    struct bat_stack_line read;
    const char *module; /* path of the binary */
    const struct bat_source_frame *frames;
    size_t count; /* 0: nothing is known, the line is as good as it gets */
};

/* Look up the frame in line number i of the stack. */
void text_frame_find(struct symbolize_text *text, size_t i, struct text_frame *frame);

/*
 * True if a line of the stack says nothing more: perf's own inlined calls and source lines, of a
 * frame that is known better.
 */
bool text_frame_is_replaced(struct symbolize_text *text, size_t i);

/* Write a frame in the form of its line. */
void text_frame_write(struct symbolize_text *text, const struct text_frame *frame);

/* Add the stack to the folded ones. */
void text_stack_fold(struct symbolize_text *text);

#endif
