/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Source locations in the styles of llvm-symbolizer and addr2line. */
#ifndef BAT_SYMBOLIZE_PRINT_H
#define BAT_SYMBOLIZE_PRINT_H

#include "bat_symbolizer.h"
#include "demangle.h"
#include "output.h"

enum symbolize_style {
    STYLE_LLVM,
    STYLE_GNU,
    STYLE_JSON,
};

enum symbolize_functions {
    FUNCTIONS_NONE,
    FUNCTIONS_SHORT,
    FUNCTIONS_LINKAGE,
};

enum symbolize_paths {
    PATHS_ABSOLUTE,
    PATHS_RELATIVE, /* without the folder in which the compiler ran */
    PATHS_BASENAMES,
};

struct symbolize_options {
    enum symbolize_style style;
    enum symbolize_functions functions;
    enum symbolize_paths paths;
    bool inlines;
    bool demangle;
    bool pretty;
    bool addresses;
    bool verbose;
};

struct symbolize_printer {
    struct output *output;
    struct demangled_names *names;
    struct symbolize_options options;
    bool in_list;   /* JSON: objects stand in an array */
    bool has_first; /* ... and this is not the first */
};

/* What was asked for. */
struct symbolize_request {
    const char *module; /* path as it was given; "" for none */
    uint64_t address;
    bool has_address;
};

/* Answers. Frames are at least one, innermost first. */
void print_frames(struct symbolize_printer *printer, const struct symbolize_request *request,
                  const struct bat_source_frame *frames, size_t count);

/* symbol is NULL if nothing is known. */
void print_data(struct symbolize_printer *printer, const struct symbolize_request *request,
                const struct bat_symbol *symbol);

/* That no local variables are known. */
void print_no_locals(struct symbolize_printer *printer, const struct symbolize_request *request);

/* In JSON an object that says what is wrong, in the other styles what stands for nothing known. */
void print_error(struct symbolize_printer *printer, const struct symbolize_request *request,
                 const char *message);

/* A line that is no question: as it is, or in JSON an object with an error. */
void print_unread(struct symbolize_printer *printer, const char *line, size_t length);

/* Around all answers, if they are to be one JSON array. */
void print_list_begin(struct symbolize_printer *printer);
void print_list_end(struct symbolize_printer *printer);

/* The function's name as it is to be printed, or NULL. */
const char *printed_function(struct symbolize_printer *printer,
                             const struct bat_source_frame *frame);

/* The name of a frame's file (file or start_file) as it is to be printed, or NULL. */
const char *printed_file(const struct symbolize_printer *printer,
                         const struct bat_source_frame *frame, const char *file);

#endif
