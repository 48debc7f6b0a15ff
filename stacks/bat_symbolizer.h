/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Source locations for addresses of a binary, one that BOLT wrote or any other: through the BAT
 * note to the binary that BOLT read, and on through that one's debug information and symbols.
 */
#ifndef BAT_SYMBOLIZER_H
#define BAT_SYMBOLIZER_H

#include "bat_elf.h"
#include "bat_stacks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One binary. One handle belongs to one thread at a time. */
struct bat_symbolizer;

/* A mangled name's plain form, to be freed with free(), or NULL if it is not mangled. */
typedef char *bat_demangle_fn(const char *name);

struct bat_symbolizer_options {
    const char *original;      /* the binary that BOLT read, or NULL */
    const char *debug_file;    /* debug information of original, or of the binary; or NULL */
    bool ignore_build_id;      /* take original whatever its build-id */
    bat_demangle_fn *demangle; /* to find functions by names in texts; may be NULL */
};

/*
 * Open the binary at path. With options->original it has to have a BAT note, and original has to
 * be what BOLT read. Without, the binary's own debug information and symbols are used. On success
 * *symbolizer is to be closed with bat_symbolizer_close(). options may be NULL.
 *
 * No debug information is no failure, unless debug_file is given: see
 * bat_symbolizer_no_debug_reason(). Fails as bat_elf_open(), bat_binary_open() and
 * bat_original_open() do, and with BAT_ERR_MISMATCH for a debug_file of another build.
 */
BAT_API enum bat_code bat_symbolizer_open(const char *path,
                                          const struct bat_symbolizer_options *options,
                                          struct bat_symbolizer **symbolizer,
                                          struct bat_error *error);
BAT_API void bat_symbolizer_close(struct bat_symbolizer *symbolizer);

/* Why there are no source lines: a sentence, or NULL if there are. Owned by symbolizer. */
BAT_API const struct bat_error *bat_symbolizer_no_debug(const struct bat_symbolizer *symbolizer);

/* True if the binary is BOLTed and its original was not given. */
BAT_API bool bat_symbolizer_lacks_original(const struct bat_symbolizer *symbolizer);

/*
 * Returns how many units of split debug information were not found (.dwo files, or a package beside
 * the file), of *read units that were read.
 */
BAT_API uint64_t bat_symbolizer_units_missing(const struct bat_symbolizer *symbolizer,
                                              uint64_t *read);

/* True if frames may be missing because there was not memory enough to read what tells them. */
BAT_API bool bat_symbolizer_lacks_memory(const struct bat_symbolizer *symbolizer);

/* A frame as it is printed. Strings belong to the symbolizer; NULL and 0 for what is not known. */
struct bat_source_frame {
    const char *function; /* as linkers have it, or plain */
    const char *file;
    const char *folder;     /* that the compiler ran in, if it was asked for */
    const char *start_file; /* where the function is declared */
    uint32_t start_line;
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
    uint64_t start_address; /* of the function's symbol, or of its code in debug information */
    bool has_start_address;
};

struct bat_frames_options {
    bool plain_names; /* functions as debug information names them, without scopes; no symbols */
    bool folders;     /* tell the folders that the compiler ran in */
    bool no_inlines;  /* the innermost place, with the name of the function that has the code */
};

/* Where an address was found. */
enum bat_symbolizer_found {
    BAT_FOUND_NOWHERE,   /* in no code of the binary */
    BAT_FOUND_NOT_MOVED, /* the code is not known in the original: names are the binary's */
    BAT_FOUND,
};

/*
 * The frames of an address of the binary itself, innermost first; at least one, of which nothing
 * may be known. pc says what the address stands for. *frames is valid until the next call.
 */
BAT_API enum bat_symbolizer_found bat_symbolizer_frames(struct bat_symbolizer *symbolizer,
                                                        uint64_t address, enum bat_frame_pc pc,
                                                        const struct bat_frames_options *options,
                                                        const struct bat_source_frame **frames,
                                                        size_t *count);

/* The symbol of an address of the binary itself, code or data; NULL if there is none. */
BAT_API const struct bat_symbol *bat_symbolizer_symbol(const struct bat_symbolizer *symbolizer,
                                                       uint64_t address);

/* --- Addresses in texts ------------------------------------------------------------------- */

/* True if a file named so in a text can be the binary: the last part of the names is the same. */
BAT_API bool bat_symbolizer_is(const struct bat_symbolizer *symbolizer, struct bat_slice module);

/*
 * Learn from a line where the binary lies in the memory of process pid (0 if not known): mappings
 * say it, and so do frames with a function's name. To be called for all lines of a stack before
 * addresses of it are asked for.
 */
BAT_API void bat_symbolizer_learn(struct bat_symbolizer *symbolizer,
                                  const struct bat_stack_line *line, uint64_t pid);

/*
 * The address in the binary that a frame's address is; false if the frame is another file's, or it
 * cannot be told. perf script prints offsets in files, others print addresses in memory: the
 * function's name and what was learned tell.
 */
BAT_API bool bat_symbolizer_address(struct bat_symbolizer *symbolizer,
                                    const struct bat_stack_line *line, uint64_t pid,
                                    uint64_t *address);

#ifdef __cplusplus
}
#endif

#endif
