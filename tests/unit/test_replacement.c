/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * elfnote/: replacing several files together and single files; who may read them meanwhile; the
 * files after a failure at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_binary.h"
#include "elfnote/output.h"
#include "folder.h"
#include "kept.h"
#include "output_file.h"
#include "unit_test.h"

/* --- File systems that lack some operations, or fail ---------------------------------------- */

/* What a system lacks: /proc, so that a file cannot get a name later; exchanging two files; flags
 * of renameat2(); links, but by a descriptor. */
enum { PROC = 1, EXCHANGE = 2, FLAGS = 4, LINK = 8 };

static unsigned lacks;
static bool waits_for_signals; /* signals were blocked at the last exchange of names */
static unsigned calls;         /* that may fail, up to now */
static unsigned first_fault;   /* the number of the call that fails; 0: none */
static unsigned last_fault;

/* True, with errno, if this call fails. */
static bool is_faulty(bool is_unknown)
{
    calls++;
    if (calls >= first_fault && calls <= last_fault)
        errno = EIO;
    else if (is_unknown)
        errno = EINVAL;
    else
        return false;
    return true;
}

int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags);
int __real_rename(const char *from, const char *to);
int __real_link(const char *from, const char *to);
int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __real_close(int file);

int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags)
{
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    waits_for_signals = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGINT) == 1;
    if (is_faulty(lacks & FLAGS || (lacks & EXCHANGE && flags == RENAME_EXCHANGE)))
        return -1;
    return __real_renameat2(from_folder, from, to_folder, to, flags);
}

int __wrap_rename(const char *from, const char *to)
{
    return is_faulty(false) ? -1 : __real_rename(from, to);
}

int __wrap_link(const char *from, const char *to)
{
    return is_faulty(lacks & LINK) ? -1 : __real_link(from, to);
}

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return is_faulty(false) ? -1 : __real_linkat(from_folder, from, to_folder, to, flags);
}

int __wrap_fsync(int file)
{
    (void)file; /* nothing here outlives a loss of power */
    return is_faulty(false) ? -1 : 0;
}

/* Only what the library closes comes here. The descriptor is closed in any case, as by Linux. */
int __wrap_close(int file)
{
    int result = __real_close(file);
    return is_faulty(false) ? -1 : result;
}

int __real_access(const char *path, int mode);

int __wrap_access(const char *path, int mode)
{
    if (!(lacks & PROC) || strncmp(path, "/proc/", 6) != 0)
        return __real_access(path, mode);
    errno = ENOENT;
    return -1;
}

/* --- A folder with files -------------------------------------------------------------------- */

#define FOLDER "/tmp/test_replacement.XXXXXX"

static char folder[sizeof(FOLDER)];
static char first[64];
static char second[64];

static void set_path(char *path, const char *name)
{
    snprintf(path, 64, "%s/%s", folder, name);
}

static void save(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_content(const char *path, const char *text)
{
    assert_string_equal(file_bytes(path, NULL), text);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), FOLDER);
    assert_non_null(mkdtemp(folder));
    set_path(first, "first");
    set_path(second, "second");
    return 0;
}

static int remove_folder(void **state)
{
    release_kept(state);
    lacks = 0;
    first_fault = 0;
    unlink(first);
    unlink(second);
    rmdir(second);
    return rmdir(folder);
}

static mode_t mode_of(int file)
{
    struct stat status;
    assert_int_equal(fstat(file, &status), 0);
    return status.st_mode & 07777;
}

static void write_text(struct bat_output *output, const char *text)
{
    assert_ok(bat_output_write(output, text, strlen(text), NULL));
}

/* Begin both, and write to both. */
static void begin_both(struct bat_output *outputs[2])
{
    outputs[0] = begin_output(first);
    outputs[1] = begin_output(second);
    write_text(outputs[0], "new ");
    write_text(outputs[0], "first");
    write_text(outputs[1], "new second");
}

/* --- Several together ----------------------------------------------------------------------- */

TEST_BETWEEN(test_all_or_none, make_folder, remove_folder)
{
    /* Existing files: none, the first, the second, both. */
    for (unsigned there = 0; there < 4; there++) {
        struct bat_output *outputs[2];
        if (there & 1)
            save(first, "old first");
        if (there & 2)
            save(second, "old second");
        begin_both(outputs);
        if (!(lacks & PROC))
            assert_int_equal(count_files(folder), (there & 1) + (there >> 1));
        assert_ok(bat_outputs_commit(outputs, 2, NULL));
        assert_content(first, "new first");
        assert_content(second, "new second");
        assert_int_equal(count_files(folder), 2);
        unlink(first);
        unlink(second);
    }
}

static void fail_changed(struct bat_output *outputs[2])
{
    struct bat_error error;
    char message[160];
    snprintf(message, sizeof(message),
             "cannot write %s: another program made or replaced it meanwhile", second);
    assert_int_equal(bat_outputs_commit(outputs, 2, &error), BAT_ERR_IO);
    assert_string_equal(error.message, message);
}

/* The second file's path becomes a folder just before the renames. */
static void fail_second(bool has_first)
{
    struct bat_output *outputs[2];
    if (has_first)
        save(first, "old first");
    begin_both(outputs);
    assert_int_equal(mkdir(second, 0700), 0);
    fail_changed(outputs);
    assert_int_equal(count_files(folder), has_first ? 2 : 1);
    if (has_first)
        assert_content(first, "old first");
    assert_int_equal(rmdir(second), 0);
    unlink(first);
}

TEST_BETWEEN(test_taken_back, make_folder, remove_folder)
{
    fail_second(false);
    fail_second(true);
}

TEST_BETWEEN(test_taken_back_without_exchange, make_folder, remove_folder)
{
    lacks |= EXCHANGE;
    fail_second(false);
    fail_second(true);
    test_all_or_none(state);
}

/* Without /proc, new files have temporary names from the beginning. */
TEST_BETWEEN(test_without_proc, make_folder, remove_folder)
{
    lacks |= PROC;
    fail_second(false);
    fail_second(true);
    test_all_or_none(state);
    lacks |= EXCHANGE;
    test_taken_back_without_exchange(state);
    save(first, "old first");
    struct bat_output *output = begin_output(first);
    assert_int_equal(count_files(folder), 2);
    assert_int_equal(mode_of(output->replacement.file), 0600);
    bat_output_abandon(output);
    assert_int_equal(count_files(folder), 1);
}

/* --- Failures ------------------------------------------------------------------------------- */

/* The file systems, by their number. */
static bool set_file_system(unsigned number)
{
    static const uint8_t systems[] = {
        0,
        PROC,
        EXCHANGE,
        PROC | EXCHANGE,
        PROC | EXCHANGE | FLAGS,
        EXCHANGE | LINK,
        PROC | EXCHANGE | LINK,
        PROC | EXCHANGE | FLAGS | LINK,
    };
    if (number >= COUNT(systems))
        return false;
    lacks = systems[number];
    return true;
}

/* True if the folder has a file with this content. */
static bool has_content(const char *text)
{
    bool is_found = false;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[512];
        char found[64] = "";
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' && entry->d_name[1] != 'b' ? NULL : fopen(path, "re");
        if (file) {
            found[fread(found, 1, sizeof(found) - 1, file)] = 0;
            fclose(file);
        }
        is_found |= strcmp(found, text) == 0;
    }
    closedir(directory);
    return is_found;
}

static void empty_folder(void)
{
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(directory);
}

/* Commit both outputs. The calls from begin to end fail; true if there were so many. */
static bool commit_with_faults(unsigned there, unsigned begin, unsigned end, enum bat_code *code)
{
    struct bat_output *outputs[2];
    struct bat_error error = {0};
    if (there & 1)
        save(first, "old first");
    if (there & 2)
        save(second, "old second");
    begin_both(outputs);
    calls = 0;
    first_fault = begin;
    last_fault = end;
    *code = bat_outputs_commit(outputs, 2, &error);
    first_fault = 0;
    last_fault = 0;
    /* A failure is told, and where an old file is now. */
    assert_true((*code != BAT_OK) == (error.message[0] != 0));
    return calls >= begin;
}

static void assert_both(const char *state, unsigned there)
{
    char text[64];
    snprintf(text, sizeof(text), "%s first", state);
    if (there & 1)
        assert_content(first, text);
    else
        assert_int_equal(access(first, F_OK), -1);
    snprintf(text, sizeof(text), "%s second", state);
    if (there & 2)
        assert_content(second, text);
    else
        assert_int_equal(access(second, F_OK), -1);
}

/* Each call fails in turn, on each file system: both files are new or both as before. */
TEST_BETWEEN(test_each_fault, make_folder, remove_folder)
{
    unsigned faults = 0;
    for (unsigned system = 0; set_file_system(system); system++)
        for (unsigned there = 0; there < 4; there++) {
            enum bat_code code = BAT_OK;
            for (unsigned n = 1; commit_with_faults(there, n, n, &code); n++) {
                faults++;
                assert_both(code == BAT_OK ? "new" : "old", code == BAT_OK ? 3 : there);
                empty_folder();
            }
            assert_ok(code);
            empty_folder();
        }
    assert_true(faults > 200);
}

/* Several calls fail, those that take back, too: an old file may have another name, but is there.
 */
TEST_BETWEEN(test_many_faults, make_folder, remove_folder)
{
    for (unsigned system = 0; set_file_system(system); system++)
        for (unsigned there = 0; there < 4; there++)
            for (unsigned length = 2; length <= 32; length *= 2) {
                enum bat_code code = BAT_OK;
                for (unsigned n = 1; commit_with_faults(there, n, n + length - 1, &code); n++) {
                    if (code == BAT_OK)
                        assert_both("new", 3);
                    assert_true(code == BAT_OK || !(there & 1) || has_content("old first"));
                    assert_true(code == BAT_OK || !(there & 2) || has_content("old second"));
                    empty_folder();
                }
                empty_folder();
            }
}

/* --- Other programs ------------------------------------------------------------------------- */

/* A file that another program makes meanwhile stays, and so does what was there before. */
TEST_BETWEEN(test_made_meanwhile, make_folder, remove_folder)
{
    for (unsigned system = 0; set_file_system(system); system++) {
        struct bat_output *outputs[2];
        save(first, "old first");
        begin_both(outputs);
        save(second, "of another program");
        fail_changed(outputs);
        assert_content(first, "old first");
        assert_content(second, "of another program");
        assert_int_equal(count_files(folder), 2);
        empty_folder();
    }
}

/* A file that replaces the one that was looked at stays, too: by a rename, or made anew. */
TEST_BETWEEN(test_replaced_meanwhile, make_folder, remove_folder)
{
    for (unsigned system = 0; set_file_system(system); system++)
        for (int is_renamed = 0; is_renamed < 2; is_renamed++) {
            struct bat_output *outputs[2];
            char third[64];
            set_path(third, "third");
            save(second, "old second");
            begin_both(outputs);
            if (!is_renamed)
                assert_int_equal(unlink(second), 0);
            save(is_renamed ? third : second, "of another program");
            if (is_renamed)
                assert_int_equal(rename(third, second), 0);
            fail_changed(outputs);
            assert_content(second, "of another program");
            assert_int_equal(count_files(folder), 1);
            empty_folder();
        }
}

/* A file that is gone is made anew. */
TEST_BETWEEN(test_removed_meanwhile, make_folder, remove_folder)
{
    for (unsigned system = 0; set_file_system(system); system++) {
        struct bat_output *outputs[2];
        if (lacks & PROC) /* its attributes cannot be read then */
            continue;
        save(first, "old first");
        begin_both(outputs);
        assert_ok(replacement_prepare(&outputs[0]->replacement, NULL));
        assert_int_equal(unlink(first), 0);
        struct bat_error error = {0};
        if (bat_outputs_commit(outputs, 2, &error) != BAT_OK)
            fail_msg("%u: %s", system, error.message);
        assert_both("new", 3);
        assert_int_equal(count_files(folder), 2);
        empty_folder();
    }
}

/* A program that a signal ends during the renames would leave a temporary file. */
TEST_BETWEEN(test_signals_wait, make_folder, remove_folder)
{
    struct bat_output *outputs[2];
    sigset_t blocked;
    save(first, "old first");
    begin_both(outputs);
    waits_for_signals = false;
    assert_ok(bat_outputs_commit(outputs, 2, NULL));
    assert_true(waits_for_signals);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
}

TEST_BETWEEN(test_abandoned, make_folder, remove_folder)
{
    struct bat_output *outputs[2];
    save(first, "old first");
    begin_both(outputs);
    bat_output_abandon(outputs[0]);
    bat_output_abandon(outputs[1]);
    bat_output_abandon(NULL);
    assert_content(first, "old first");
    assert_int_equal(count_files(folder), 1);
}

/* --- Descriptors ---------------------------------------------------------------------------- */

/* Output files never get descriptors 1 and 2: text that the program prints goes there. */
TEST_BETWEEN(test_standard_descriptors, make_folder, remove_folder)
{
    int saved[3];
    int used[3];
    for (int i = 0; i < 3; i++)
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++)
        close(i);
    struct bat_output *outputs[3] = {NULL};
    bool fine = bat_output_begin(first, &outputs[0], NULL) == BAT_OK &&
                bat_output_begin("/dev/null", &outputs[1], NULL) == BAT_OK &&
                bat_output_begin(second, &outputs[2], NULL) == BAT_OK;
    for (int i = 0; i < 3; i++) {
        used[i] = !outputs[i]             ? -1
                  : outputs[i]->is_stream ? outputs[i]->file
                                          : outputs[i]->replacement.file;
        bat_output_abandon(outputs[i]);
    }
    for (int i = 0; i < 3; i++)
        if (saved[i] >= 0) {
            dup2(saved[i], i);
            close(saved[i]);
        }
    assert_true(fine);
    for (int i = 0; i < 3; i++)
        assert_true(used[i] > STDERR_FILENO);
}

/* --- Access --------------------------------------------------------------------------------- */

/* Nobody else can read the new content until the commit gives it the old file's access. */
TEST_BETWEEN(test_private_until_the_end, make_folder, remove_folder)
{
    save(first, "old first");
    assert_int_equal(chmod(first, 0664), 0);
    struct bat_output *output = begin_output(first);
    write_text(output, "new first");
    struct replacement *replacement = &output->replacement;
    assert_int_equal(mode_of(replacement->file), 0600);
    assert_ok(replacement_prepare(replacement, NULL));
    assert_int_equal(mode_of(replacement->file), 0664);
    bat_output_abandon(output);
    assert_content(first, "old first");
    assert_int_equal(count_files(folder), 1);
}

/* Access that was removed while the new file was written stays removed. */
TEST_BETWEEN(test_narrowed_meanwhile, make_folder, remove_folder)
{
    save(first, "old first");
    assert_int_equal(chmod(first, 0664), 0);
    struct bat_output *output = begin_output(first);
    write_text(output, "new first");
    assert_int_equal(chmod(first, 0600), 0);
    commit_output(output);
    struct stat status;
    assert_int_equal(stat(first, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_content(first, "new first");
}

/* --- Sources -------------------------------------------------------------------------------- */

static struct bat_elf *open_demo(void)
{
    struct bat_elf *elf = open_elf(TEST_DATA "/demo/small.bolt");
    uint64_t size;
    const uint8_t *bytes = bat_elf_bytes(elf, &size);
    FILE *file = fopen(first, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, (size_t)size, file), size);
    fclose(file);
    return open_elf(first);
}

/* The file changes after the last write and before the rename. */
TEST_BETWEEN(test_changed_before_commit, make_folder, remove_folder)
{
    struct bat_elf *elf = open_demo();
    struct bat_output *output;
    struct bat_error error;
    assert_ok(bat_elf_begin_output(elf, first, &output, NULL));
    assert_ok(bat_elf_leave_note(elf, output, NULL));
    save(first, "changed");
    assert_int_equal(bat_outputs_commit(&output, 1, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "was changed by another program while it was copied");
    assert_content(first, "changed");
    assert_int_equal(count_files(folder), 1);
}

/*
 * A link is pointed at another file between the reading of the source and the look at the file that
 * is to be replaced, and back before the commit.
 */
TEST_BETWEEN(test_link_flipped, make_folder, remove_folder)
{
    char path[64];
    struct bat_output *output;
    struct bat_error error;
    open_demo();
    save(second, "another file");
    set_path(path, "link");
    assert_int_equal(symlink(first, path), 0);
    struct bat_elf *elf = open_elf(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(second, path), 0);
    bool is_begun = bat_elf_begin_output(elf, path, &output, &error) == BAT_OK;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(first, path), 0);
    if (is_begun && bat_elf_leave_note(elf, output, NULL) == BAT_OK)
        assert_ok(bat_outputs_commit(&output, 1, &error));
    assert_content(second, "another file");
    assert_false(is_begun);
    /* A flip after the beginning is noticed, or changes nothing. */
    assert_ok(bat_elf_begin_output(elf, path, &output, &error));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(second, path), 0);
    assert_int_equal(bat_elf_leave_note(elf, output, NULL), BAT_ERR_IO);
    bat_output_abandon(output);
    assert_content(second, "another file");
    assert_int_equal(unlink(path), 0);
}

/* Another program has locked the file for the same change. */
TEST_BETWEEN(test_locked, make_folder, remove_folder)
{
    struct bat_elf *elf = open_demo();
    struct bat_output *outputs[2];
    struct bat_error error;
    int other = open(first, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_SH), 0);
    assert_ok(bat_elf_begin_output(elf, first, &outputs[0], NULL));
    assert_ok(bat_elf_begin_output(elf, second, &outputs[1], NULL));
    assert_ok(bat_elf_leave_note(elf, outputs[0], NULL));
    assert_ok(bat_elf_leave_note(elf, outputs[1], NULL));
    assert_int_equal(bat_outputs_commit(&outputs[0], 1, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "is locked: another program is changing it");
    /* A copy with another path does not change the locked file. */
    assert_ok(bat_outputs_commit(&outputs[1], 1, &error));
    close(other);
    assert_int_equal(count_files(folder), 2);
}

/* --- Without a file ------------------------------------------------------------------------- */

struct taken {
    char text[64];
    size_t size;
    unsigned calls_left;
};

static bool take_text(const void *bytes, size_t size, void *context)
{
    struct taken *taken = context;
    if (taken->calls_left == 0)
        return false;
    taken->calls_left--;
    assert_true(size != 0 && size <= sizeof(taken->text) - taken->size);
    memcpy(taken->text + taken->size, bytes, size);
    taken->size += size;
    return true;
}

TEST_BETWEEN(test_callback, make_folder, remove_folder)
{
    struct taken taken = {.calls_left = 2};
    struct bat_output *outputs[2];
    struct bat_error error = {0};
    assert_ok(bat_output_begin_callback(take_text, &taken, &outputs[0], &error));
    assert_ok(bat_output_begin_callback(take_text, &taken, &outputs[1], &error));
    assert_false(bat_output_is_standard(outputs[0]));
    assert_ok(bat_outputs_check(outputs, 2, NULL, 0, &error));
    write_text(outputs[0], "one ");
    write_text(outputs[0], "");
    write_text(outputs[1], "two");
    /* What is not taken ends the writing. */
    assert_int_equal(bat_output_write(outputs[0], "x", 1, &error), BAT_ERR_IO);
    assert_int_equal(error.code, BAT_ERR_IO);
    assert_ok(bat_outputs_commit(outputs, 2, &error));
    assert_int_equal(taken.size, 7);
    assert_memory_equal(taken.text, "one two", 7);
    /* No note can be put there: it is no copy of a file. */
    struct bat_elf *elf = open_demo();
    assert_ok(bat_output_begin_callback(take_text, &taken, &outputs[0], NULL));
    assert_int_equal(bat_elf_leave_note(elf, outputs[0], &error), BAT_ERR_ARGUMENT);
    bat_output_abandon(outputs[0]);
}

/* Of many outputs, the first that is used twice is named, with the first other use. */
TEST_BETWEEN(test_many_outputs, make_folder, remove_folder)
{
    enum { OUTPUTS = 64 };
    static const size_t same[][2] = {{40, 3}, {50, 1}, {60, 3}};
    struct bat_output *outputs[OUTPUTS];
    char paths[OUTPUTS][64];
    struct bat_error error = {0};
    for (size_t i = 0; i < OUTPUTS; i++) {
        char name[16];
        size_t number = i;
        for (size_t k = 0; k < COUNT(same); k++)
            number = i == same[k][0] ? same[k][1] : number;
        snprintf(name, sizeof(name), "many-%zu", number);
        set_path(paths[i], name);
        assert_ok(bat_output_begin(paths[i], &outputs[i], &error));
    }
    char expected[256];
    snprintf(expected, sizeof(expected),
             "cannot write %s: it is the same file as %s, which is written too", paths[40],
             paths[3]);
    assert_int_equal(bat_outputs_check(outputs, OUTPUTS, NULL, 0, &error), BAT_ERR_ARGUMENT);
    assert_string_equal(error.message, expected);
    assert_ok(bat_outputs_check(outputs, 40, NULL, 0, &error));
    for (size_t i = 0; i < OUTPUTS; i++)
        bat_output_abandon(outputs[i]);
    /* A file that exists, as output 2 and as two of the inputs, one of which has another name. */
    save(first, "here");
    assert_int_equal(link(first, second), 0);
    const char *const inputs[] = {paths[0], second, first, paths[1]};
    for (size_t i = 0; i < 3; i++)
        assert_ok(bat_output_begin(i < 2 ? paths[i] : first, &outputs[i], &error));
    snprintf(expected, sizeof(expected), "cannot write %s: it is the same file as the input %s",
             first, second);
    assert_int_equal(bat_outputs_check(outputs, 3, inputs, 4, &error), BAT_ERR_ARGUMENT);
    assert_string_equal(error.message, expected);
    for (size_t i = 0; i < 3; i++)
        bat_output_abandon(outputs[i]);
    assert_int_equal(unlink(second), 0);
}

/* An output has the attributes of the file that it was begun for, and of no other. */
TEST_BETWEEN(test_output_of_another, make_folder, remove_folder)
{
    struct bat_elf *elf = open_demo();
    struct bat_output *output = begin_output(second);
    struct bat_error error;
    assert_int_equal(bat_elf_leave_note(elf, output, &error), BAT_ERR_ARGUMENT);
    assert_string_equal(error.message, "the output was begun for another file");
    bat_output_abandon(output);
}

/* A note large enough to be mapped instead of read: its bytes may change during reading. */
TEST_BETWEEN(test_mapped_note_changed, make_folder, remove_folder)
{
    static const char head[] = "\5\0\0\0\0\0\0\0\1\0\0\0BOLT\0\0\0\0";
    struct bat_binary binary;
    struct bat_error error;
    FILE *file = fopen(first, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, sizeof(head) - 1, file), sizeof(head) - 1);
    assert_int_equal(ftruncate(fileno(file), 2 << 20), 0);
    fclose(file);
    assert_ok(bat_binary_find_note(first, &binary, NULL));
    assert_ok(bat_binary_check_unchanged(&binary, NULL));
    file = fopen(first, "r+e");
    fputs("x", file);
    fclose(file);
    assert_int_equal(bat_binary_check_unchanged(&binary, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "was changed by another program while it was read");
    bat_binary_close(&binary);
}
