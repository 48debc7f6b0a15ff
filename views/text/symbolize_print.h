/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Source locations in the styles of llvm-symbolizer and addr2line. */
#pragma once

#include "bat_symbolize.h"
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
