/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runs a program, and changes a file at one of its system calls.
 *
 *     change_at_call CALLS FIRST HOW FILE OTHER -- PROGRAM ARGUMENT...
 *
 * System calls of all threads are counted from the first one that has a path which ends in FILE's
 * name. At the FIRST one FILE is changed:
 *
 *     write     the bytes that differ from OTHER's are written over FILE's, which gets OTHER's size
 *     flip      the same, and at each further call FILE gets back its own bytes, or OTHER's again
 *     cut       FILE is cut off to OTHER bytes
 *     replace   FILE's name is given to OTHER, as it is: a file or a symbolic link
 *
 * The number of counted calls is written to the file CALLS. The exit status is the program's, or
 * 128 and the signal that ended it, or 125 if this program failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 4096u
#define LARGE_PAGE (2u << 20)

enum how { WRITE, FLIP, CUT, REPLACE, HOWS };
static const char *const hows[HOWS] = {"write", "flip", "cut", "replace"};

struct bytes {
    char *data;
    size_t size;
};

struct change {
    enum how how;
    const char *path;
    const char *other;
    int file; /* stays the same file if its name is given to another */
    struct bytes versions[2];
    bool *differs; /* of each block whether the versions have other bytes */
    unsigned long first;
    unsigned long count; /* of calls */
    bool has_begun;
};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "change_at_call: %s: %s\n", what, strerror(errno));
    exit(125);
}

static struct bytes read_file(const char *path)
{
    struct stat status;
    struct bytes bytes;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        die(path);
    bytes.size = (size_t)status.st_size;
    size_t room = (bytes.size / LARGE_PAGE + 1) * LARGE_PAGE;
    bytes.data = aligned_alloc(LARGE_PAGE, room);
    /* A fault for each small page of megabytes takes longer than what is done with them. */
    if (bytes.data)
        madvise(bytes.data, room, MADV_HUGEPAGE);
    if (!bytes.data || read(file, bytes.data, bytes.size) != status.st_size)
        die(path);
    close(file);
    return bytes;
}

/* --- The change ------------------------------------------------------------------------------ */

/* The bytes of a version in the block at an offset. */
static size_t block_size(const struct bytes *version, size_t at)
{
    size_t left = at < version->size ? version->size - at : 0;
    return left < BLOCK ? left : BLOCK;
}

/* Find the blocks that differ: once, as the versions alternate at thousands of calls. */
static void compare_versions(struct change *change)
{
    const struct bytes *one = &change->versions[0];
    const struct bytes *other = &change->versions[1];
    size_t size = one->size > other->size ? one->size : other->size;
    change->differs = calloc(size / BLOCK + 1, sizeof(*change->differs));
    if (!change->differs)
        die(change->path);
    for (size_t at = 0; at < size; at += BLOCK)
        change->differs[at / BLOCK] =
            block_size(one, at) != block_size(other, at) ||
            memcmp(one->data + at, other->data + at, block_size(one, at)) != 0;
}

/* Write the blocks in which the version differs from the other one, neighbours at once. */
static void write_version(const struct change *change, unsigned which)
{
    const struct bytes *to = &change->versions[which];
    for (size_t at = 0, size; at < to->size; at += size + BLOCK) {
        for (size = 0; at + size < to->size && change->differs[(at + size) / BLOCK];)
            size += block_size(to, at + size);
        if (size != 0 && pwrite(change->file, to->data + at, size, (off_t)at) != (ssize_t)size)
            die(change->path);
    }
    if (ftruncate(change->file, (off_t)to->size) != 0)
        die(change->path);
}

static void make_change(const struct change *change)
{
    if (change->how == FLIP && change->count >= change->first)
        write_version(change, 1 - (unsigned)((change->count - change->first) & 1));
    if (change->count != change->first)
        return;
    if (change->how == WRITE)
        write_version(change, 1);
    if (change->how == CUT && ftruncate(change->file, (off_t)atoll(change->other)) != 0)
        die(change->path);
    if (change->how == REPLACE && rename(change->other, change->path) != 0)
        die(change->path);
}

/* --- Calls ----------------------------------------------------------------------------------- */

/* True if an argument of the call points to a path with FILE's last component. */
static bool names_file(const struct change *change, pid_t thread,
                       const struct __ptrace_syscall_info *call)
{
    const char *slash = strrchr(change->path, '/');
    const char *name = slash ? slash + 1 : change->path;
    for (size_t i = 0; i < 2; i++) {
        char path[512] = "";
        struct iovec local = {path, sizeof(path) - 1};
        /* A path may end right before a page that cannot be read. */
        size_t left = 4096 - (size_t)(call->seccomp.args[i] & 4095);
        struct iovec remote = {(void *)(uintptr_t)call->seccomp.args[i],
                               left < sizeof(path) ? left : sizeof(path) - 1};
        if (process_vm_readv(thread, &local, 1, &remote, 1, 0) <= 0)
            continue;
        size_t length = strlen(path);
        size_t wanted = strlen(name);
        if (length >= wanted && strcmp(path + length - wanted, name) == 0)
            return true;
    }
    return false;
}

static void handle_call(struct change *change, pid_t thread)
{
    struct __ptrace_syscall_info call;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(call), &call) <= 0 ||
        call.op != PTRACE_SYSCALL_INFO_SECCOMP)
        return;
    change->has_begun = change->has_begun || names_file(change, thread, &call);
    if (!change->has_begun)
        return;
    change->count++;
    make_change(change);
}

/* The program's wait status. */
static int trace(struct change *change, pid_t program)
{
    int status;
    int result = 0;
    pid_t thread;
    while ((thread = waitpid(-1, &status, __WALL)) > 0) {
        int signal = 0;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            result = thread == program ? status : result;
            continue;
        }
        if (status >> 16 == PTRACE_EVENT_SECCOMP)
            handle_call(change, thread);
        else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP)
            signal = WSTOPSIG(status);
        ptrace(PTRACE_CONT, thread, NULL, signal);
    }
    return result;
}

/* Each call stops this process and those that it starts, once: with PTRACE_SYSCALL it would do so
 * at its end, too. */
static void stop_at_calls(void)
{
    struct sock_filter stop[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)};
    struct sock_fprog filter = {1, stop};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        die("seccomp");
}

static pid_t start(char **command)
{
    pid_t program = fork();
    if (program < 0)
        die("fork");
    if (program == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        stop_at_calls();
        execv(command[0], command);
        die(command[0]);
    }
    int status;
    if (waitpid(program, &status, 0) != program ||
        ptrace(PTRACE_SETOPTIONS, program, NULL,
               PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) != 0)
        die("ptrace");
    ptrace(PTRACE_CONT, program, NULL, 0);
    return program;
}

int main(int count, char **arguments)
{
    struct change change = {.how = HOWS};
    for (unsigned i = 0; count > 7 && i < HOWS; i++)
        if (strcmp(arguments[3], hows[i]) == 0)
            change.how = (enum how)i;
    if (change.how == HOWS) {
        fputs("usage: change_at_call CALLS FIRST HOW FILE OTHER -- PROGRAM ARGUMENT...\n", stderr);
        return 125;
    }
    change.first = strtoul(arguments[2], NULL, 10);
    change.path = arguments[4];
    change.other = arguments[5];
    change.file = open(change.path, O_RDWR | O_CLOEXEC);
    if (change.file < 0)
        die(change.path);
    if (change.how == WRITE || change.how == FLIP) {
        change.versions[0] = read_file(change.path);
        change.versions[1] = read_file(change.other);
        compare_versions(&change);
    }
    int status = trace(&change, start(arguments + 7));
    FILE *calls = fopen(arguments[1], "w");
    if (!calls || fprintf(calls, "%lu\n", change.count) < 0 || fclose(calls) != 0)
        die(arguments[1]);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
