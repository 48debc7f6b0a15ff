/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads stacks as programs print them, line by line: the kind of a line, its address, and what that
 * address stands for. Also counts stacks, for flame graphs.
 *
 * Any bytes are safe to read. No binary is needed.
 */
#ifndef BAT_STACKS_H
#define BAT_STACKS_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Lines -------------------------------------------------------------------------------- */

enum bat_line_kind {
    BAT_LINE_TEXT,    /* none of the following */
    BAT_LINE_BLANK,   /* empty or white space only: the end of a stack */
    BAT_LINE_QUERY,   /* an address alone, or behind the name of its file */
    BAT_LINE_FRAME,   /* a frame of a stack */
    BAT_LINE_SIGNAL,  /* "<signal handler called>": the next frame was interrupted */
    BAT_LINE_PC,      /* "PC: @ 0x...": where the program was when it crashed */
    BAT_LINE_MAPPING, /* where a file lies in a process's memory */
};

/* The format of a line. */
enum bat_line_form {
    BAT_FORM_NONE,
    BAT_FORM_QUERY,       /* llvm-symbolizer's and addr2line's input */
    BAT_FORM_GDB,         /* #1  0x000055d0 in f (x=1) at a.c:3 */
    BAT_FORM_SANITIZER,   /*     #1 0x55d0 in f a.c:3:5   or   #1 0x55d0  (/bin/a+0x11d9) */
    BAT_FORM_SYSTEMD,     /* #1  0x000055d0 f (a + 0x11d9)   (systemd-coredump) */
    BAT_FORM_GLOG,        /*     @     0x55d0  f()   (glog, Abseil) */
    BAT_FORM_BACKTRACE,   /* ./a(f+0x29) [0x55d0]   (backtrace_symbols() of the C library) */
    BAT_FORM_PERF,        /* <tab>     11d9 f+0x29 (/bin/a)   (perf script, call chains) */
    BAT_FORM_PERF_SAMPLE, /* a 42 1.5:  250000 cycles:  55d0 f+0x29 (/bin/a)   (no call chains) */
    BAT_FORMS             /* the number of forms */
};

/* Characters of the line; not terminated. */
struct bat_slice {
    const char *text;
    size_t length;
};

/* The contents of a line. Members that the line does not have are 0. */
struct bat_stack_line {
    enum bat_line_kind kind;
    enum bat_line_form form;
    bool has_address;
    bool has_name_offset;
    bool has_module_offset;
    bool is_data;    /* QUERY: the address of data, not of code ("DATA ...") */
    bool is_locals;  /* QUERY: for local variables ("FRAME ...") */
    bool is_inlined; /* FRAME: a call inlined into the frame of another line */
    bool has_number;
    uint64_t address;      /* as printed; for a mapping its start */
    struct bat_slice name; /* of the function, without "+0x..." and gdb's arguments */
    uint64_t name_offset;  /* "+0x29": from the function's symbol */
    struct bat_slice module;
    uint64_t module_offset; /* from where the file's first byte is mapped */
    uint64_t number;        /* of the frame */
    size_t number_start;    /* bytes of the line before the frame's number, ... */
    size_t number_end;      /* ... and up to its end */
    size_t address_end;     /* bytes of the line up to the end of the address */
    uint64_t pid;           /* MAPPING, PERF_SAMPLE */
    uint64_t size;          /* MAPPING: bytes */
    uint64_t file_offset;   /* MAPPING: of the file's part that is mapped */
};

/*
 * Read a line: length bytes, with or without its newline. The slices point into it. Linear in
 * length.
 */
BAT_API void bat_stack_line_read(const char *line, size_t length, struct bat_stack_line *read);

/* --- Stacks ------------------------------------------------------------------------------- */

/* What the address of a frame stands for. */
enum bat_frame_pc {
    BAT_PC_EXACT,  /* the instruction that was to be executed next */
    BAT_PC_RETURN, /* a return address: the call ends before it */
    BAT_PC_INSIDE, /* some byte of the call instruction */
};

/* The position in a stack while its lines are read. Start with all zero. Members are private. */
struct bat_stack_place {
    bool in_stack;         /* a frame of the program, not of the kernel, was read */
    bool interrupted;      /* a signal interrupted the next frame */
    bool has_crash;        /* crash is known */
    uint64_t crash;        /* the address behind "PC: @" */
    enum bat_line_form of; /* the form of the stack's frames */
};

/*
 * Returns what the address of the next line stands for. Call this for every line in turn, whatever
 * its kind. A query's address is EXACT.
 */
BAT_API enum bat_frame_pc bat_stack_place_next(struct bat_stack_place *place,
                                               const struct bat_stack_line *line);

/*
 * Read the process's name and pid from the first line of a sample, as perf script prints it
 * ("NAME PID/TID TIME: ..."). False if the line has another form.
 */
BAT_API bool bat_sample_head(const char *line, size_t length, struct bat_slice *command,
                             uint64_t *pid);

/* --- Counted stacks ----------------------------------------------------------------------- */

/* Stacks, and how often each was seen. */
struct bat_folded;

/* Returns an empty set of stacks, or NULL if there is no memory. */
BAT_API struct bat_folded *bat_folded_new(void);
BAT_API void bat_folded_free(struct bat_folded *folded);

/*
 * Begin a stack, and add its frames from the outermost to the innermost. ";" in a name becomes ":",
 * control characters "?". An empty name is "[unknown]".
 */
BAT_API void bat_folded_begin(struct bat_folded *folded);
BAT_API void bat_folded_frame(struct bat_folded *folded, const char *name, size_t length);

/* The same for a terminated name that stays in place as long as folded, so that it is read once. */
BAT_API void bat_folded_lasting_frame(struct bat_folded *folded, const char *name);

/* End the stack and add count to its count. A stack without frames is ignored. */
BAT_API void bat_folded_end(struct bat_folded *folded, uint64_t count);

/*
 * Sort the stacks by their texts; *count is their number. Fails with BAT_ERR_MEMORY, also if memory
 * ran out while stacks were added. Memory grows with the names and the frames, not with the texts.
 */
BAT_API enum bat_code bat_folded_sort(struct bat_folded *folded, size_t *count,
                                      struct bat_error *error);

/*
 * The text of sorted stack number i, "outermost;...;innermost", and its count; NULL if there is no
 * memory. The text belongs to folded and is valid until the next call of one of its functions; the
 * order, until a stack is added.
 */
BAT_API const char *bat_folded_stack(struct bat_folded *folded, size_t i, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
