/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Source locations for addresses of a binary. If BOLT wrote the binary, its BAT note maps them to
 * addresses of the original, the binary that BOLT read, whose debug information and symbols have
 * the locations. Any other binary is symbolized by its own.
 */
#ifndef BAT_SYMBOLIZER_H
#define BAT_SYMBOLIZER_H

#include "bat_elf.h"
#include "bat_stacks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A binary and what locates its addresses. One handle belongs to one thread at a time. */
struct bat_symbolizer;

/* Returns the demangled name, to be freed with free(), or NULL if name is not mangled. */
typedef char *bat_demangle_fn(const char *name);

struct bat_symbolizer_options {
    size_t size;               /* sizeof(struct bat_symbolizer_options) */
    const char *original;      /* the binary that BOLT read, or NULL */
    const char *debug_file;    /* debug information of original, or of the binary; or NULL */
    bool ignore_build_id;      /* accept original whatever its build-id */
    bat_demangle_fn *demangle; /* finds functions by demangled names in texts; may be NULL */
    unsigned threads;          /* at most so many open the files; 0: as many as are of use */
};

/*
 * Open the binary at path. With options->original, the binary must have a BAT note, and original
 * must be the binary that BOLT read. Without it, the binary's own debug information and symbols are
 * used. options may be NULL. On success, close *symbolizer with bat_symbolizer_close().
 *
 * Missing debug information is a failure only if debug_file is given: see
 * bat_symbolizer_no_debug(). Fails as bat_elf_open(), bat_binary_open() and bat_original_open() do,
 * with BAT_ERR_MISMATCH for a debug_file of another build, and with BAT_ERR_ARGUMENT for options
 * without their size.
 */
BAT_API enum bat_code bat_symbolizer_open(const char *path,
                                          const struct bat_symbolizer_options *options,
                                          struct bat_symbolizer **symbolizer,
                                          struct bat_error *error);
BAT_API void bat_symbolizer_close(struct bat_symbolizer *symbolizer);

/* Why there is no debug information, or NULL if there is some. Owned by symbolizer. */
BAT_API const struct bat_error *bat_symbolizer_no_debug(const struct bat_symbolizer *symbolizer);

/* True if the binary is BOLTed and its original was not given. */
BAT_API bool bat_symbolizer_lacks_original(const struct bat_symbolizer *symbolizer);

/*
 * Returns how many of the *read units that were read have split debug information that was not
 * found, neither in .dwo files nor in a package.
 */
BAT_API uint64_t bat_symbolizer_units_missing(const struct bat_symbolizer *symbolizer,
                                              uint64_t *read);

/* True if frames may be missing because memory ran out while debug information was read. */
BAT_API bool bat_symbolizer_lacks_memory(const struct bat_symbolizer *symbolizer);

/* A frame as it is printed. Strings belong to the symbolizer. Unknown members are NULL or 0. */
struct bat_source_frame {
    const char *function; /* as the linker has it, or plain */
    const char *file;
    const char *folder;     /* that the compiler ran in, if options ask for it */
    const char *start_file; /* where the function is declared */
    uint32_t start_line;
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
    uint64_t start_address; /* of the function's symbol, or of its code in debug information */
    bool has_start_address;
};

struct bat_frames_options {
    size_t size;      /* sizeof(struct bat_frames_options) */
    bool plain_names; /* functions as debug information names them, without scopes; no symbols */
    bool folders;     /* fill the folders that the compiler ran in */
    bool no_inlines;  /* one frame: the innermost place, in the function that has the code */
};

/* Where an address was found. */
enum bat_symbolizer_found {
    BAT_FOUND_NOWHERE,   /* not in the binary's code */
    BAT_FOUND_NOT_MOVED, /* without a known address in the original: names are the binary's */
    BAT_FOUND,
};

/*
 * The frames of an address of the binary itself, innermost first. There is at least one; all of its
 * members can be unknown. pc says what the address stands for. options may be NULL; without their
 * size the answer is NOWHERE. *frames is valid until the next call.
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

/* True if module, a file's name in a text, can be the binary: the last parts of both are equal. */
BAT_API bool bat_symbolizer_is(const struct bat_symbolizer *symbolizer, struct bat_slice module);

/*
 * Learn from a line where the binary is in the memory of process pid (0: not known): from mappings,
 * and from frames with a function's name or an offset in the file. Call this for all lines of a
 * stack before bat_symbolizer_address() for any of them.
 */
BAT_API void bat_symbolizer_learn(struct bat_symbolizer *symbolizer,
                                  const struct bat_stack_line *line, uint64_t pid);

/*
 * Convert a frame's address to an address of the binary. False if the frame belongs to another
 * file, or if the address cannot be determined. perf script prints offsets in files, other programs
 * print addresses in memory: the function's name and what was learned decide which it is.
 */
BAT_API bool bat_symbolizer_address(struct bat_symbolizer *symbolizer,
                                    const struct bat_stack_line *line, uint64_t pid,
                                    uint64_t *address);

#ifdef __cplusplus
}
#endif

#endif
