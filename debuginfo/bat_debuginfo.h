/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Source locations from DWARF: the functions that an address is in, inlined ones first, with file,
 * line, column and discriminator, as llvm-symbolizer prints them.
 *
 * Reads DWARF 2 to 5 from the file itself or from a separate debug file, and dwz's supplementary
 * files; sections may be packed by zlib or zstd. A unit is read once, when the first address in it
 * is looked up. Split DWARF is read from a package (PROGRAM.dwp) beside the program or its debug
 * file, or else from the .dwo files, where the compiler wrote them or beside the debug file. If
 * they are missing, the inlined calls that skeleton units have are used.
 * Any bytes are safe to open and to look up in: damaged or circular data reads as not known. Time
 * and memory are linear in the size of the files, except for sorting: abbreviations, lists of
 * ranges, line tables and names may be shared, up to limits far above what compilers write.
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
 * Open the debug information of the ELF file at path. It is searched for
 *   1. in debug_file, if that is not NULL, and then only there;
 *   2. in the file itself;
 *   3. where elfutils and gdb look: by its build-id, as .build-id/xx/yyyy.debug below the folder of
 *      the file and below /usr/lib/debug; by its .gnu_debuglink, beside the file, in .debug beside
 *      it, and below /usr/lib/debug; from the servers of the environment variable DEBUGINFOD_URLS,
 *      if it is set (else nothing is asked over a network).
 * If both files have a build-id, these must be equal. Otherwise a file that .gnu_debuglink names
 * must have the checksum that it gives.
 *
 * Only section headers and the units' headers are read. On success, close *debuginfo with
 * bat_debuginfo_close(). Fails with BAT_ERR_IO, BAT_ERR_NOT_ELF, BAT_ERR_ELF, BAT_ERR_MISMATCH
 * (debug_file is of another build), BAT_ERR_MEMORY or BAT_ERR_NO_DEBUG (nothing was found: the
 * message says where it was searched for and which flag to compile with).
 */
BAT_API enum bat_code bat_debuginfo_open(const char *path, const char *debug_file,
                                         struct bat_debuginfo **debuginfo, struct bat_error *error);
BAT_API void bat_debuginfo_close(struct bat_debuginfo *debuginfo);

/*
 * Let bat_autofdo_write() write with at most so many threads; 0: one for each processor. Without
 * this call it starts none. Results do not depend on it.
 */
BAT_API void bat_debuginfo_set_threads(struct bat_debuginfo *debuginfo, unsigned threads);

/* The path of the file that has the DWARF: the program, or the separate debug file. */
BAT_API const char *bat_debuginfo_path(const struct bat_debuginfo *debuginfo);

/*
 * A function that an address is in. Strings belong to the handle and are valid as long as it is.
 * Numbers are 0 and strings NULL where DWARF does not have them.
 */
struct bat_frame {
    const char *linkage_name; /* as the linker has it (mangled), else the plain name */
    const char *name;         /* plain: DW_AT_name, without scopes and parameters */
    const char *file;         /* of line; absolute if DWARF has the compiler's folder */
    const char *start_file;   /* where the function is declared: file, ... */
    uint32_t start_line;      /* ... and line */
    uint32_t line;            /* of the address in the innermost frame; in the frames ... */
    uint32_t column;          /* ... around it, of the call that was inlined there */
    uint32_t discriminator;   /* as the compiler encoded it */
    uint64_t low_pc;          /* where the function's or inlined call's code starts; 0: unknown */
};

/*
 * The frames of an address, an address of the ELF file itself: from the innermost inlined function
 * out to the function that has the code. *frames belongs to the handle and is valid until the next
 * call on it. Returns their number; 0 if no function's DWARF covers the address, which can still
 * have a line: see bat_debuginfo_line(). Two binary searches after the first address of a unit.
 */
BAT_API size_t bat_debuginfo_frames(struct bat_debuginfo *debuginfo, uint64_t address,
                                    const struct bat_frame **frames);

/*
 * Set file, line, column and discriminator of *frame by the line table alone; other members are
 * NULL or 0. False if the line table does not have the address.
 */
BAT_API bool bat_debuginfo_line(struct bat_debuginfo *debuginfo, uint64_t address,
                                struct bat_frame *frame);

/*
 * The folder that the compiler ran in for the code at the address, according to DWARF: relative
 * names of files were relative to it. NULL if it is not known.
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
    uint64_t entry; /* the start of the first range; symbols show if calls go to another range */
    /* The next function of this name in the same unit, in a ring: clones that the compiler made of
     * one function. Itself if it is the only one. */
    const struct bat_debuginfo_function *namesake;
};

/*
 * The function whose code is at the address, or NULL. It belongs to the handle and is valid as long
 * as that is.
 */
BAT_API const struct bat_debuginfo_function *bat_debuginfo_function(struct bat_debuginfo *debuginfo,
                                                                    uint64_t address);

/*
 * The name of function symbol number i at exactly this address in the file with the debug
 * information, in the order of the file; NULL behind the last. Belongs to the handle. Reads the
 * file's symbols at the first call; a binary search after that.
 */
BAT_API const char *bat_debuginfo_symbol(struct bat_debuginfo *debuginfo, uint64_t address,
                                         size_t i);

/*
 * True if the program was compiled with LLVM's flow-sensitive discriminators, which are plain
 * numbers without components: then it has the symbol __llvm_fs_discriminator__.
 */
BAT_API bool bat_debuginfo_has_fs_discriminators(struct bat_debuginfo *debuginfo);

/* What was read, for reports. */
struct bat_debuginfo_counters {
    uint64_t units;         /* that can have code: no type units, no partial units */
    uint64_t units_read;    /* because an address in them was looked up */
    uint64_t units_missing; /* of the units read, split units in no package or .dwo file */
};

/* What was read up to now. */
BAT_API struct bat_debuginfo_counters bat_debuginfo_counters(const struct bat_debuginfo *debuginfo);

/*
 * True if memory ran out during a look-up: its result may lack frames, and so may all later
 * results.
 */
BAT_API bool bat_debuginfo_lacks_memory(const struct bat_debuginfo *debuginfo);

#ifdef __cplusplus
}
#endif

#endif
