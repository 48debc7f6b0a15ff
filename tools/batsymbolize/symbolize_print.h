/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Source locations in the styles of llvm-symbolizer and addr2line. */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_PRINT_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_PRINT_H

#include "bat_symbolizer.h"
#include "tools/common/demangle.h"
#include "tools/common/output.h"

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
    bool in_list;   /* JSON: objects are elements of an array */
    bool has_first; /* ... whose first was printed */
};

/* A query. */
struct symbolize_request {
    const char *module; /* path as it was given; "" for none */
    uint64_t address;
    bool has_address;
};

/* Print the answer: at least one frame, innermost first. */
void print_frames(struct symbolize_printer *printer, const struct symbolize_request *request,
                  const struct bat_source_frame *frames, size_t count);

/* Print the answer for an address of data. symbol is NULL if it is not known. */
void print_data(struct symbolize_printer *printer, const struct symbolize_request *request,
                const struct bat_symbol *symbol);

/* Print that no local variables are known. */
void print_no_locals(struct symbolize_printer *printer, const struct symbolize_request *request);

/* Print message in a JSON object; in the other styles print an unknown frame. */
void print_error(struct symbolize_printer *printer, const struct symbolize_request *request,
                 const char *message);

/* Print a line that is not a query: as it is, or in JSON an object with an error. */
void print_unread(struct symbolize_printer *printer, const char *line, size_t length);

/* Print the start and the end of a JSON array of all answers. */
void print_list_begin(struct symbolize_printer *printer);
void print_list_end(struct symbolize_printer *printer);

/* The function's name in the form that the options ask for, or NULL. */
const char *printed_function(struct symbolize_printer *printer,
                             const struct bat_source_frame *frame);

/* The name of a frame's file (file or start_file) in the form that the options ask for, or NULL. */
const char *printed_file(const struct symbolize_printer *printer,
                         const struct bat_source_frame *frame, const char *file);

#endif
