/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A text with addresses or stacks, line by line: addresses are answered as llvm-symbolizer does,
 * frames of stacks are rewritten with their functions and source lines, other lines stay as they
 * are. Or else the stacks are counted, for viewers.
 *
 *     bat_symbolize_begin(&options, output, &text, &error)
 *     for each line
 *         bat_symbolize_line(text, line, length)
 *     bat_symbolize_end(text, &error)
 *     bat_symbolize_findings(text), bat_symbolize_file(text, i, ...)
 *     bat_symbolize_free(text)
 *
 * Any bytes are safe to read. Memory grows with the files that the text names, and with distinct
 * stacks if they are counted.
 */
#ifndef BAT_SYMBOLIZE_H
#define BAT_SYMBOLIZE_H

#include "bat_output.h"
#include "bat_store.h"
#include "bat_symbolizer.h"
#include "bat_views.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A text that is answered. One thread at a time may use it. */
struct bat_symbolize;

enum bat_symbolize_style {
    BAT_STYLE_LLVM, /* llvm-symbolizer's */
    BAT_STYLE_GNU,  /* addr2line's */
    BAT_STYLE_JSON, /* llvm-symbolizer's, an object a line */
};

enum bat_symbolize_functions {
    BAT_FUNCTIONS_NONE,
    BAT_FUNCTIONS_SHORT,   /* as debug information has them, without scopes */
    BAT_FUNCTIONS_LINKAGE, /* the linker's */
};

enum bat_symbolize_paths {
    BAT_PATHS_ABSOLUTE,
    BAT_PATHS_RELATIVE, /* without the folder in which the compiler ran */
    BAT_PATHS_BASENAMES,
};

struct bat_symbolize_options {
    size_t size;                                 /* sizeof(struct bat_symbolize_options) */
    const char *path;                            /* the file of addresses without one; or NULL */
    const struct bat_symbolizer_options *binary; /* of that file; may be NULL */
    const struct bat_stores *stores; /* searched for the whole of shipped files; may be NULL */

    /* How an answer is printed. */
    enum bat_symbolize_style style;
    enum bat_symbolize_functions functions;
    enum bat_symbolize_paths paths;
    bool inlines;   /* inlined calls, too */
    bool demangle;  /* names as in the source, by binary->demangle */
    bool pretty;    /* function and place in one line */
    bool addresses; /* the address first */
    bool verbose;   /* all that is known, a line each */
    bool is_list;   /* JSON: all answers are elements of one array */

    enum bat_viewer_format format; /* not NONE: stacks are counted, and written so at the end */
    bool with_command;             /* then the command is the outermost frame */
    bool return_addresses;         /* addresses outside of stacks are return addresses */
    uint64_t adjust;               /* subtracted from addresses in memory */
    unsigned threads;              /* at most so many answer; 0: one for each processor */

    /* Called with a sentence about what goes wrong but ends nothing, and the file that it is about
     * or NULL. May be NULL. */
    void (*tell)(const char *file, const char *sentence, void *context);
    void *context;
};

/*
 * Begin a text whose answers go to output, which stays the caller's. What the options point to must
 * outlive *text, which is to be freed with bat_symbolize_free(). Fails as bat_symbolizer_open() if
 * there is a file to open, as bat_stores_find_whole(), and with BAT_ERR_ARGUMENT for options
 * without their size.
 */
BAT_API enum bat_code bat_symbolize_begin(const struct bat_symbolize_options *options,
                                          struct bat_output *output, struct bat_symbolize **text,
                                          struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_symbolize_free(struct bat_symbolize *text);

/* Process the next line, without its newline. */
BAT_API void bat_symbolize_line(struct bat_symbolize *text, const char *line, size_t length);

/* Process a part of a line that is too long to be a frame; is_end: the line's last part. */
BAT_API void bat_symbolize_part(struct bat_symbolize *text, const char *part, size_t length,
                                bool is_end);

/* True if a file with these first bytes may be a profile of pprof or OpenTelemetry. */
BAT_API bool bat_symbolize_is_profile(const void *bytes, size_t size);

/*
 * Count the stacks of such a profile: a regular file, read from its position to its end, which is
 * open for reading. sample_type is the type whose values count; NULL: the first. Places in the
 * options' file are named by it, others by the profile, or by the file at their path if it has
 * their build-id. Fails as bat_profile_read() does for such files, and with BAT_ERR_ARGUMENT if
 * stacks are not counted.
 */
BAT_API enum bat_code bat_symbolize_profile(struct bat_symbolize *text, int file,
                                            const char *sample_type, struct bat_error *error);

/* Write the answers of all lines up to now, before more lines are waited for. */
BAT_API void bat_symbolize_answer(struct bat_symbolize *text);

/*
 * End the text: write the rest, and the stacks that were counted. Fails as bat_output_write(), as
 * bat_sampled_stacks_write(), and with BAT_ERR_MEMORY if lines were not processed for lack of it.
 */
BAT_API enum bat_code bat_symbolize_end(struct bat_symbolize *text, struct bat_error *error);

/* What was not found. */
struct bat_symbolize_findings {
    bool lacks_file;        /* an address had no file */
    bool has_unreadable;    /* a file that the text names could not be opened */
    uint64_t outside;       /* addresses outside of code */
    uint64_t first_outside; /* the first of them */
};

/* Valid at any time. */
BAT_API struct bat_symbolize_findings bat_symbolize_findings(const struct bat_symbolize *text);

/*
 * The path of opened file number i, from 0, that of the options first; NULL behind the last.
 * *symbolizer is set to the file, or to NULL if it could not be opened: *error then says why.
 */
BAT_API const char *bat_symbolize_file(const struct bat_symbolize *text, size_t i,
                                       const struct bat_symbolizer **symbolizer,
                                       struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
