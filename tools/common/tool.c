/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tool.h"
#undef tool_report
#undef tool_report_output
#undef tool_message
#undef tool_no_memory
#undef tool_complain
#undef tool_refuse

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <batkit/bat_version.h>

#include "elfnote/descriptors.h"
#include "spec/escape_controls.h"

/* The longest message. A longer one, such as one with two paths of the largest size, is cut off. */
#define LINE_SIZE 8192u

/* The beginning of the messages that are no errors. */
#define WARNING "warning:"

enum tool_exit tool_unwritten = TOOL_BAD;

static const char *tool_name = "batkit";
static char version_text[64];
static enum tool_color color;

void tool_set_color(enum tool_color chosen)
{
    color = chosen;
}

bool tool_has_color(int file)
{
    if (color != TOOL_COLOR_AUTO)
        return color == TOOL_COLOR_ALWAYS;
    const char *refused = getenv("NO_COLOR"); /* https://no-color.org */
    const char *terminal = getenv("TERM");
    return isatty(file) && !(refused && refused[0]) && terminal && strcmp(terminal, "dumb") != 0;
}

/*
 * If the caller has closed a standard descriptor, the next file that is opened would get it, and
 * with it what is printed. So it is opened here, in a direction in which it fails as if closed.
 */
static void reserve_standard(void)
{
    struct stat status;
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fstat(file, &status) == 0 || errno != EBADF)
            continue;
        /* open() returns the lowest free descriptor: this one. Without /dev/null use a folder. */
        if (open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0 &&
            open("/", O_RDONLY | O_DIRECTORY) < 0)
            exit(TOOL_BAD);
    }
}

/* Flush and check standard output. False, with a message at the first time, if not all was written.
 */
static bool flush_standard(void)
{
    static bool is_reported;
    bool is_fine = ferror(stdout) == 0;
    int reason = 0;
    if (fflush(stdout) != 0 || bat_try_close(STDOUT_FILENO) != 0) {
        is_fine = false;
        reason = errno;
    }
    /* A closed pipe has no reader: no message, but no success either. */
    if (!is_fine && reason != EPIPE && !is_reported)
        fprintf(stderr, "%s: standard output: %s\n", tool_name,
                reason ? strerror(reason) : "could not be written");
    is_reported = !is_fine;
    return is_fine;
}

/* The end of every program, also of one that argp ends after --help. */
static void end_standard(void)
{
    if (!flush_standard())
        _exit((int)tool_unwritten);
}

void tool_begin(const char *name)
{
    reserve_standard();
    atexit(end_standard);
    tool_name = name;
    snprintf(version_text, sizeof(version_text), "%s (batkit) %s", name, bat_version());
    argp_program_version = version_text;
    argp_err_exit_status = TOOL_USAGE;
    truncated_catch(tool_name, TOOL_BAD);
    /* A closed pipe becomes an error like any other, and temporary files are removed. */
    signal(SIGPIPE, SIG_IGN);
    /* A limit on the size of files becomes an error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    /* If it is ignored, as the caller may have left it, the exit status of perf gets lost. */
    signal(SIGCHLD, SIG_DFL);
}

void tool_allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Format text behind the first used bytes of line, which has LINE_SIZE bytes. */
static BAT_PRINTF(3, 0) void add_text(char *line, size_t used, const char *format,
                                      va_list arguments)
{
    if (used < LINE_SIZE)
        vsnprintf(line + used, LINE_SIZE - used, format, arguments);
}

static void put_escaped(FILE *stream, const char *text)
{
    char escaped[BAT_ESCAPED_BYTE * LINE_SIZE];
    fwrite(escaped, 1, (size_t)(bat_put_escaped(escaped, text, strlen(text)) - escaped), stream);
}

static BAT_PRINTF(2, 0) void print_message(const char *file, const char *format, va_list arguments)
{
    tool_step_make_way();
    fflush(stdout);
    char line[LINE_SIZE];
    int used = file ? snprintf(line, sizeof(line), "%s: %s: ", tool_name, file)
                    : snprintf(line, sizeof(line), "%s: ", tool_name);
    add_text(line, (size_t)used, format, arguments);
    const char *text = line + (used < (int)sizeof(line) ? used : 0);
    if (strncmp(text, WARNING, strlen(WARNING)) == 0 && tool_has_color(STDERR_FILENO)) {
        const size_t rest = (size_t)(text - line);
        line[rest - 1] = '\0'; /* the space */
        put_escaped(stderr, line);
        fputs(" \033[1;35m" WARNING "\033[0m", stderr);
        put_escaped(stderr, text + strlen(WARNING));
    } else {
        put_escaped(stderr, line);
    }
    fputc('\n', stderr);
}

enum tool_exit tool_message(const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(file, format, arguments);
    va_end(arguments);
    return TOOL_BAD;
}

bool tool_refuse(const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(file, format, arguments);
    va_end(arguments);
    return false;
}

enum tool_exit tool_no_memory(const char *file)
{
    return tool_message(file, "not enough memory");
}

void tool_print(const char *format, ...)
{
    char text[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    add_text(text, 0, format, arguments);
    va_end(arguments);
    put_escaped(stdout, text);
    fputc('\n', stdout);
}

enum tool_exit tool_report(const char *file, const struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    /* Line and column directly follow the file, where editors look for them. */
    if (file && error->place == BAT_PLACE_TEXT)
        return tool_message(NULL, "%s:%s", file, text);
    return tool_message(file, "%s", text);
}

enum tool_exit tool_report_output(const char *file, const struct bat_error *error)
{
    return tool_report(error->code == BAT_ERR_IO ? NULL : file, error);
}

void tool_tell_error(const char *file, const struct bat_error *error)
{
    tool_report(file, error);
}

void tool_tell(const char *file, const char *sentence)
{
    tool_message(file, "%s", sentence);
}

bool tool_complain(const char *file, const struct bat_error *error)
{
    tool_report(file, error);
    return false;
}

enum tool_exit tool_commit(const char *file, struct bat_output **outputs, size_t count)
{
    struct bat_error error;
    if (!flush_standard()) {
        for (size_t i = 0; i < count; i++)
            bat_output_abandon(outputs[i]);
        return TOOL_BAD;
    }
    if (bat_outputs_commit(outputs, count, &error) == BAT_OK)
        return TOOL_FINE;
    return tool_report(file, &error);
}

unsigned tool_parse_threads(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long threads = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || threads > 64)
        argp_error(state, "--threads: expected a number from 0 to 64, found \"%s\"", text);
    return (unsigned)threads;
}

bool tool_set_field(void *structure, const struct argp_option *options, int key,
                    const char *argument, struct argp_state *state)
{
    const int sets = key >> 16;
    if (sets < TOOL_TEXT || sets > TOOL_STORES)
        return false;
    void *member = (char *)structure + (key & 0xffff);
    if (sets == TOOL_TEXT) {
        const char **text = member;
        if (*text)
            argp_error(state, "expected an option once, found it with \"%s\" and with \"%s\"",
                       *text, argument);
        *text = argument;
    } else if (sets == TOOL_STORES) {
        struct bat_error error;
        if (bat_stores_add(member, argument, &error) != BAT_OK)
            exit((int)tool_report(NULL, &error));
    } else if (sets == TOOL_FLAG) {
        *(bool *)member = true;
    } else {
        while (options->key != key)
            options++;
        *(bool *)member = tool_parse_bool(options->name, argument, state) == (sets == TOOL_BOOL);
    }
    return true;
}

unsigned tool_parse_word(const char *name, const char *const *words, const char *expected,
                         const char *text, struct argp_state *state)
{
    unsigned i = 0;
    while (words[i] && strcmp(words[i], text) != 0)
        i++;
    if (!words[i])
        argp_error(state, "--%s: expected %s, found \"%s\"", name, expected, text);
    return i;
}

bool tool_parse_bool(const char *name, const char *text, struct argp_state *state)
{
    bool is_true = !text || strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0;
    if (!is_true && strcmp(text, "0") != 0 && strcasecmp(text, "false") != 0)
        argp_error(state, "--%s: expected 0 or 1, found \"%s\"", name, text);
    return is_true;
}
