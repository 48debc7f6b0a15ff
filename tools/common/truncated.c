/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "spec/escape_controls.h"
/* No more files are open at once. */
#define FILES_MAX 1024

/* How the names of temporary files begin, which elfnote/replace_file.c makes. */
#define TEMPORARY "/.bat-"

static const char *tool;
static int exit_status;

/* The functions below run in a signal handler: no stdio, no allocation. */

static void put(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written <= 0)
            return;
        text += written;
        length -= (size_t)written;
    }
}

/* A path, escaped as in all other messages. */
static void put_path(const char *path, size_t size)
{
    char escaped[BAT_ESCAPED_BYTE * 2];
    for (size_t length; size != 0; path += length, size -= length) {
        if (bat_is_control(path, size, &length))
            put(escaped, (size_t)(bat_put_bytes_escaped(escaped, path, length) - escaped));
        else
            put(path, length);
    }
}

/* Read a hexadecimal number, and move *text behind it. */
static uint64_t read_hex(const char **text)
{
    uint64_t value = 0;
    for (;; ++*text) {
        char digit = **text;
        if (digit >= '0' && digit <= '9')
            value = value << 4 | (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            value = value << 4 | (uint64_t)(digit - 'a' + 10);
        else
            return value;
    }
}

/* Print the path of a line of /proc/self/maps, "1000-2000 r--p ... /path", if it has the address.
 */
static bool put_file_of(const char *line, size_t length, uint64_t address)
{
    const char *at = line;
    uint64_t start = read_hex(&at);
    at++;
    uint64_t end = read_hex(&at);
    const char *path = memchr(line, '/', length);
    if (address < start || address >= end || !path)
        return false;
    put_path(path, (size_t)(line + length - path));
    put(": ", 2);
    return true;
}

/* Print which file is mapped at the address, if /proc/self/maps has it. */
static void put_file(uint64_t address)
{
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char line[4300]; /* the longest path, and the text in front of it */
    size_t used = 0;
    ssize_t got = 1;
    while (maps >= 0 && got > 0 && used < sizeof(line)) {
        got = read(maps, line + used, sizeof(line) - used);
        used += got > 0 ? (size_t)got : 0;
        char *end;
        while (used > 0 && (end = memchr(line, '\n', used))) {
            size_t length = (size_t)(end - line);
            if (put_file_of(line, length, address))
                return;
            used -= length + 1;
            memmove(line, end + 1, used);
        }
    }
}

/* Append a number, which must not be negative. */
static void append_number(char *text, int number)
{
    char digits[12];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    text += strlen(text);
    while (count > 0)
        *text++ = digits[--count];
    *text = '\0';
}

/* Remove the temporary files that have names. They are among the open files. */
static void remove_temporaries(void)
{
    for (int file = STDERR_FILENO + 1; file < FILES_MAX; file++) {
        char link[32] = "/proc/self/fd/";
        char path[4097];
        append_number(link, file);
        ssize_t length = readlink(link, path, sizeof(path) - 1);
        if (length <= 0)
            continue;
        path[length] = '\0';
        const char *slash = strrchr(path, '/');
        /* Sixteen digits follow; the link of a file without a name has other text there. */
        if (slash && strncmp(slash, TEMPORARY, strlen(TEMPORARY)) == 0 &&
            strspn(slash + strlen(TEMPORARY), "0123456789abcdef") == 16 &&
            strlen(slash) == strlen(TEMPORARY) + 16)
            unlink(path);
    }
}

static void handle(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != BUS_ADRERR) {
        /* Another cause: the signal is raised again when this returns, and ends the tool. */
        signal(signal_number, SIG_DFL);
        return;
    }
    /* Several threads may read the same file: the first one prints, and ends them all. */
    static atomic_flag is_handled = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&is_handled))
        pause();
    static const char sentence[] = "the file became shorter while it was read\n";
    remove_temporaries();
    put(tool, strlen(tool));
    put(": ", 2);
    put_file((uint64_t)(uintptr_t)info->si_addr);
    put(sentence, sizeof(sentence) - 1);
    _exit(exit_status);
}

void truncated_catch(const char *name, int status)
{
    tool = name;
    exit_status = status;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
