/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by all tools: exit statuses, messages, options. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bat.h"
#include "bat_output.h"
#include "bat_store.h"

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_BAD = 1,     /* bad input, or a check failed */
    TOOL_USAGE = 2,   /* wrong usage */
    TOOL_PARTIAL = 3, /* done, but for bad input that was left out, as the user has allowed */
};

/*
 * Sets argp's version text and its exit status for wrong usage, and opens standard descriptors that
 * are closed, so that no other file gets one of them. Whatever ends the program, its status becomes
 * tool_unwritten, with a message unless it is a closed pipe, if not all of standard output could be
 * written. Call this first in main().
 */
extern enum tool_exit tool_unwritten; /* TOOL_BAD if nobody changes it */
void tool_begin(const char *name);

/* Let this process open as many files as it may: a recording or a text can name thousands. */
void tool_allow_files(void);

/*
 * All functions below print control characters as "\x1b" (escape_controls.h): no name or path can
 * control a terminal or begin a line.
 */

struct argp;
struct argp_option;
struct argp_state;
struct bat_stores;

/*
 * Calls argp_parse(), which exits on wrong usage, with the options that all tools have: --help
 * prints brief, --help-all what argp prints; -q and --color. If brief is NULL, --help is
 * --help-all, and there are no -q and --color. False, with a message, if there is no memory.
 */
bool tool_parse(const struct argp *argp, const char *brief, int argc, char **argv, unsigned flags,
                void *input);

/* True behind -q: no report, no progress. */
void tool_be_quiet(void);
bool tool_is_quiet(void);

/*
 * Say on a terminal what is being done, from two seconds after the first step on, with the time
 * since then; NULL: nothing any more. Not behind -q. A thread shows it, so that a step that hangs
 * is seen, too.
 */
void tool_step(const char *format, ...) BAT_PRINTF(1, 2);

/* Clear that line for a text on the terminal; it comes back behind it. */
void tool_step_make_way(void);

/* True if text for this descriptor has colours; of itself on a terminal, if NO_COLOR is not set. */
enum tool_color { TOOL_COLOR_AUTO, TOOL_COLOR_ALWAYS, TOOL_COLOR_NEVER };
void tool_set_color(enum tool_color chosen);
bool tool_has_color(int file);

/*
 * Print "<tool>: <file>: " and a text to standard error: that of an error with its place, a given
 * one, "not enough memory". file may be NULL. Return TOOL_BAD.
 */
enum tool_exit tool_report(const char *file, const struct bat_error *error);
enum tool_exit tool_message(const char *file, const char *format, ...) BAT_PRINTF(2, 3);
enum tool_exit tool_no_memory(const char *file);

/* The same of an output. If it cannot be written, the message has the path already. */
enum tool_exit tool_report_output(const char *file, const struct bat_error *error);

/* The same, as the library calls back: with an error, with a sentence. */
void tool_tell_error(const char *file, const struct bat_error *error);
void tool_tell(const char *file, const char *sentence);

/* tool_report() and tool_message() for functions that return false after a failure. */
bool tool_complain(const char *file, const struct bat_error *error);
bool tool_refuse(const char *file, const char *format, ...) BAT_PRINTF(2, 3);

/* Static analysis does not see what these functions return. */
#ifdef __clang_analyzer__
#define tool_report(...) (tool_report(__VA_ARGS__), TOOL_BAD)
#define tool_report_output(...) (tool_report_output(__VA_ARGS__), TOOL_BAD)
#define tool_message(...) (tool_message(__VA_ARGS__), TOOL_BAD)
#define tool_no_memory(file) (tool_no_memory(file), TOOL_BAD)
#define tool_complain(...) (tool_complain(__VA_ARGS__), false)
#define tool_refuse(...) (tool_refuse(__VA_ARGS__), false)
#endif

/* Prints text and a newline to standard output. A newline in text is a control character too. */
void tool_print(const char *format, ...) BAT_PRINTF(1, 2);

/*
 * The last step that can fail: flush and check standard output, then put all outputs in place, or
 * none. Frees them in any case. Prints errors with file, which may be NULL, in front.
 */
enum tool_exit tool_commit(const char *file, struct bat_output **outputs, size_t count);

/* The value of --threads, 0 to 64. Exits for another text. */
unsigned tool_parse_threads(const char *text, struct argp_state *state);

/*
 * The key of an option that does no more than to set a member of a structure says which member, and
 * how. Options with the same key set the same. Members of other types do not compile.
 */
enum tool_sets {
    TOOL_TEXT = 2, /* const char *: the value; given twice is an error */
    TOOL_FLAG,     /* bool: true */
    TOOL_BOOL,     /* bool: the value, which tool_parse_bool() reads */
    TOOL_NOT,      /* bool: the opposite of that value */
    TOOL_STORES,   /* struct bat_stores: the value is a folder to add */
};
#define TOOL_KEY(sets, type, member)                                                               \
    ((int)_Generic(&((type *)0)->member, const char **: TOOL_TEXT,                                 \
                   struct bat_stores *: TOOL_STORES, bool *: (sets)) << 16 |                       \
     (int)offsetof(type, member))

/*
 * Set the member of the structure that the key names. False if it is another key. Exits for a bad
 * value, whose message has the name of the first option with this key.
 */
bool tool_set_field(void *structure, const struct argp_option *options, int key,
                    const char *argument, struct argp_state *state);

/*
 * The number of a text among words, of which the last is NULL; expected lists them for people.
 * Exits for another text.
 */
unsigned tool_parse_word(const char *name, const char *const *words, const char *expected,
                         const char *text, struct argp_state *state);

/* True or false as LLVM spells them; NULL, no value, is true. Exits for another text. */
bool tool_parse_bool(const char *name, const char *text, struct argp_state *state);

/* These return false after a failure. */
bool tool_stores_add_environment(struct bat_stores *stores);
bool tool_stores_find_whole(const struct bat_stores *stores, const char *path,
                            struct bat_stored *stored);

struct bat_profile;

/* Warn if recordings were restricted to some branches. file may be NULL. */
void tool_warn_branch_filter(const char *file, const struct bat_profile *profile);

/* If missing is not 0, warn that so many of the read units lack their split debug information. */
void split_units_warn(const char *path, uint64_t missing, uint64_t read);

/*
 * The demangled name, which the caller frees with free(); NULL if the name is not mangled, or if
 * its text would be far longer than any name that a compiler makes.
 */
char *demangle_name(const char *name);

/* The same as libiberty prints it: "a<b<int> >", not "a<b<int>>". */
char *demangle_by_libiberty(const char *name);

/*
 * Install a handler for SIGBUS, which reading a mapped file behind its new end raises: it prints a
 * message, removes temporary files and ends the tool with this exit status. name is the tool's and
 * must stay valid.
 */
void truncated_catch(const char *name, int status);
