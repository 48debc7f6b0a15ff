/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Source locations from DWARF: for an address the functions that it is in, inlined ones first,
 * with file, line, column and discriminator; as llvm-symbolizer tells them.
 *
 * DWARF 2 to 5, in the file itself or in a separate debug file, dwz's supplementary files included;
 * sections may be packed by zlib or zstd. Units are read when an address first falls into them, and
 * once. Split DWARF is read from a package beside the program or its debug file (PROGRAM.dwp), else
 * from the .dwo files, where the compiler put them or beside the debug file; where they are missing
 * what skeleton units have of inlined calls is told.
 * Any bytes are safe to open and to look up in: what is damaged or runs in circles reads as not
 * known. Work and memory are linear in the size of the files, but for sorting: abbreviations, lists
 * of ranges, line tables and names may be shared, up to a limit that compilers do not come near.
 *
 * Files are mapped, not copied. If another process truncates one while it is open, reading it
 * raises SIGBUS, which this library does not catch: a process that must survive that has to handle
 * the signal, or to open a copy.
 */
#ifndef BAT_DEBUGINFO_H
#define BAT_DEBUGINFO_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The debug information of one ELF file. One handle belongs to one thread at a time. */
struct bat_debuginfo;

/*
 * Open the debug information of the ELF file at path. It is looked for
 *   1. in debug_file, if that is not NULL, and then only there;
 *   2. in the file itself;
 *   3. where libdwfl finds it: by its build-id, as .build-id/xx/yyyy.debug below the file's folder
 *      and below /usr/lib/debug; by its .gnu_debuglink, beside the file, in .debug beside it, and
 *      below /usr/lib/debug; from the servers of the environment variable DEBUGINFOD_URLS, if it is
 *      set (else nothing is asked over a network).
 * A separate file has to have the same build-id, if both have one; one that .gnu_debuglink names
 * has to have its checksum, if there is no build-id to tell.
 *
 * Only section headers and the units' headers are read. On success *debuginfo is to be closed with
 * bat_debuginfo_close(). Fails with BAT_ERR_IO, BAT_ERR_NOT_ELF, BAT_ERR_ELF, BAT_ERR_MISMATCH
 * (debug_file is of another build), BAT_ERR_MEMORY or BAT_ERR_NO_DEBUG (nothing was found: the
 * message says where it was looked for and which flag to compile with).
 */
BAT_API enum bat_code bat_debuginfo_open(const char *path, const char *debug_file,
                                         struct bat_debuginfo **debuginfo, struct bat_error *error);
BAT_API void bat_debuginfo_close(struct bat_debuginfo *debuginfo);

/* The file that the DWARF came from: path, or that of the separate debug file. */
BAT_API const char *bat_debuginfo_path(const struct bat_debuginfo *debuginfo);

/*
 * A function that an address is in. Strings belong to the handle and are valid as long as it is.
 * Line, column, discriminator 0 and strings NULL where DWARF does not tell.
 */
struct bat_frame {
    const char *linkage_name; /* as the linker has it (mangled), else the plain name */
    const char *name;         /* plain: DW_AT_name, without scopes and parameters */
    const char *file;         /* of line; absolute where DWARF tells the compiler's folder */
    const char *start_file;   /* where the function is declared: file, ... */
    uint32_t start_line;      /* ... and line */
    uint32_t line;            /* in this function: the address's in the innermost frame, the ... */
    uint32_t column;          /* ... place of the inlined call in the ones around it */
    uint32_t discriminator;   /* as the compiler encoded it */
    uint64_t low_pc;          /* where the function's or inlined call's code starts; 0: unknown */
};

/*
 * The frames of an address, an address of the ELF file itself: from the innermost inlined function
 * out to the function that has the code. *frames belongs to the handle and is valid until the next
 * call on it. Returns how many; 0 if no function's DWARF covers the address: then one frame with a
 * line and without a function may still be known, see bat_debuginfo_line().
 * Two binary searches after the first address of a unit.
 */
BAT_API size_t bat_debuginfo_frames(struct bat_debuginfo *debuginfo, uint64_t address,
                                    const struct bat_frame **frames);

/*
 * The line-table row of an address alone: file, line, column, discriminator of *frame, the rest is
 * NULL or 0. False if there is none.
 */
BAT_API bool bat_debuginfo_line(struct bat_debuginfo *debuginfo, uint64_t address,
                                struct bat_frame *frame);

/*
 * The folder that the compiler ran in when it made the code at the address, as DWARF tells it: what
 * names of files that are not absolute were put behind. NULL if it is not known.
 */
BAT_API const char *bat_debuginfo_folder(struct bat_debuginfo *debuginfo, uint64_t address);

/* A run of addresses [start, end). */
struct bat_debuginfo_range {
    uint64_t start;
    uint64_t end;
};

/* A function that has code: a subprogram, not an inlined call. */
struct bat_debuginfo_function {
    const char *linkage_name;                 /* NULL if it has no name */
    const struct bat_debuginfo_range *ranges; /* as DWARF lists them; never empty */
    size_t range_count;
    uint64_t entry; /* the first range's start; calls may go to another one's, see the symbols */
    /* Another one of this name in the same unit, one after the other in a ring: clones that the
     * compiler made of one function. Itself if it is the only one. */
    const struct bat_debuginfo_function *namesake;
};

/*
 * The function whose code is at the address, or NULL. *function belongs to the handle and is valid
 * as long as it is.
 */
BAT_API const struct bat_debuginfo_function *bat_debuginfo_function(struct bat_debuginfo *debuginfo,
                                                                    uint64_t address);

/*
 * The name of symbol i of those that the file with the debug information has for functions at this
 * very address, in the order of the file; NULL behind the last. Belongs to the handle. Reads the
 * file's symbols at the first call; a binary search after that.
 */
BAT_API const char *bat_debuginfo_symbol(struct bat_debuginfo *debuginfo, uint64_t address,
                                         size_t i);

/*
 * True if the program was compiled with LLVM's flow-sensitive discriminators, which are numbers as
 * they are: it has the symbol __llvm_fs_discriminator__ then.
 */
BAT_API bool bat_debuginfo_has_fs_discriminators(struct bat_debuginfo *debuginfo);

/* What was read, for reports. */
struct bat_debuginfo_counters {
    uint64_t units;         /* that have code */
    uint64_t units_read;    /* because an address was in them */
    uint64_t units_missing; /* of these, split units that are in no package or .dwo file */
};

BAT_API struct bat_debuginfo_counters bat_debuginfo_counters(const struct bat_debuginfo *debuginfo);

/*
 * True if a look-up could not read all that it should have for want of memory: what it gave may
 * lack frames, and so may all that come after it.
 */
BAT_API bool bat_debuginfo_lacks_memory(const struct bat_debuginfo *debuginfo);

#ifdef __cplusplus
}
#endif

#endif
