/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* views/text/: a text is answered by the library alone, as a program that links it does. */
#include <inttypes.h>

#include "bat_symbolize.h"
#include "kept.h"
#include "unit_test.h"

/* A program without debug information; its symbols give functions. */
#define DEMO TEST_DATA "/demo/small"

static char written[4096];
static size_t written_size;
static uint64_t main_address;

static bool take(const void *bytes, size_t size, void *context)
{
    (void)context;
    assert_true(size < sizeof(written) - written_size);
    memcpy(written + written_size, bytes, size);
    written_size += size;
    written[written_size] = '\0';
    return true;
}

static int find_main(void **state)
{
    (void)state;
    main_address = address_in(DEMO, "main");
    return main_address == 0;
}

/* Answer lines, and return what is found; expected is what is written. */
static struct bat_symbolize_findings answer(const struct bat_symbolize_options *options,
                                            const char *const *lines, const char *expected)
{
    struct bat_output *output;
    struct bat_symbolize *text;
    struct bat_error error;
    written_size = 0;
    written[0] = '\0';
    assert_ok(bat_output_begin_callback(take, NULL, &output, &error));
    assert_ok(bat_symbolize_begin(options, output, &text, &error));
    for (; *lines; lines++)
        bat_symbolize_line(text, *lines, strlen(*lines));
    assert_ok(bat_symbolize_end(text, &error));
    const struct bat_symbolize_findings found = bat_symbolize_findings(text);
    bat_symbolize_free(text);
    bat_output_abandon(output);
    assert_string_equal(written, expected);
    return found;
}

TEST(test_addresses)
{
    char address[32];
    snprintf(address, sizeof(address), "0x%" PRIx64, main_address);
    const char *const lines[] = {address, "no address", "0x10", NULL};
    struct bat_symbolize_options options = {
        .size = sizeof(options), .path = DEMO, .functions = BAT_FUNCTIONS_LINKAGE};
    const struct bat_symbolize_findings found =
        answer(&options, lines, "main\n??:0:0\n\nno address\n??\n??:0:0\n\n");
    assert_int_equal(found.outside, 1);
    assert_int_equal(found.first_outside, 0x10);
    assert_false(found.lacks_file);
    assert_false(found.has_unreadable);
}

TEST(test_list)
{
    const char *const lines[] = {"/none 0x1", "0x2", NULL};
    struct bat_symbolize_options options = {
        .size = sizeof(options), .style = BAT_STYLE_JSON, .is_list = true};
    const struct bat_symbolize_findings found =
        answer(&options, lines,
               "[{\"Address\":\"0x1\",\"Error\":{\"Message\":\"cannot be opened: No such file or "
               "directory\"},\"ModuleName\":\"/none\"},{\"Address\":\"0x2\",\"Error\":{\"Message\":"
               "\"expected the address's file (-e FILE), found none\"},\"ModuleName\":\"\"}]\n");
    assert_true(found.lacks_file);
    assert_true(found.has_unreadable);
}

TEST(test_stacks)
{
    char frame[64];
    char again[64];
    snprintf(frame, sizeof(frame), "#0  0x%016" PRIx64 " in f ()", main_address);
    snprintf(again, sizeof(again), "#0  0x%016" PRIx64 " in main ()\n", main_address);
    const char *const lines[] = {frame, "", frame, NULL};
    char expected[256];
    snprintf(expected, sizeof(expected), "%s\n%s", again, again);
    struct bat_symbolize_options options = {.size = sizeof(options), .path = DEMO};
    answer(&options, lines, expected);
    options.format = BAT_VIEWER_FOLDED;
    answer(&options, lines, "main 2\n");
}

TEST(test_failures)
{
    struct bat_output *output;
    struct bat_symbolize *text = (struct bat_symbolize *)&output;
    struct bat_error error = {0};
    struct bat_symbolize_options options = {.path = DEMO};
    assert_ok(bat_output_begin_callback(take, NULL, &output, &error));
    assert_int_equal(bat_symbolize_begin(&options, output, &text, &error), BAT_ERR_ARGUMENT);
    assert_null(text);
    assert_non_null(strstr(error.message, "struct bat_symbolize_options"));
    options = (struct bat_symbolize_options){.size = sizeof(options), .path = "/none"};
    assert_int_equal(bat_symbolize_begin(&options, output, &text, &error), BAT_ERR_IO);
    assert_null(text);
    bat_symbolize_free(text);
    bat_output_abandon(output);
}

GROUP(find_main, NULL)
