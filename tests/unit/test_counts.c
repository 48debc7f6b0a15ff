/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* support/counts.c and string_table.c: tables that add up, and strings with numbers. */
#include "support/counts.h"
#include "support/shared_counts.h"
#include "support/string_table.h"
#include "unit_test.h"

KEPT_COPY(kept_counts, struct bat_counts, bat_counts_free)
KEPT_COPY(kept_strings, struct bat_strings, bat_strings_free)

static struct bat_counts *new_counts(uint32_t words)
{
    return kept_counts(bat_counts_new(words));
}

/* --- Counts --------------------------------------------------------------------------------- */

static void assert_count(const struct bat_counts *counts, const uint64_t *key, uint64_t first,
                         uint64_t second)
{
    const uint64_t *item = bat_counts_find(counts, key);
    assert_non_null(item);
    assert_memory_equal(item, key, counts->words * sizeof(*key));
    assert_int_equal(item[counts->words], first);
    assert_int_equal(item[counts->words + 1], second);
}

TEST(test_empty_counts)
{
    struct bat_counts *counts = new_counts(2);
    const uint64_t key[2] = {0, 0};
    assert_null(bat_counts_find(counts, key));
    bat_counts_sort(counts);
    struct bat_counts *other = new_counts(2);
    assert_ok(bat_counts_merge(counts, other));
    assert_int_equal(counts->count, 0);
}

/* Every number of words, each of them counting for the key. */
TEST(test_keys)
{
    for (uint32_t words = 1; words <= BAT_COUNTS_MAX_WORDS; words++) {
        struct bat_counts *counts = new_counts(words);
        uint64_t key[BAT_COUNTS_MAX_WORDS] = {0};
        assert_ok(bat_counts_add(counts, key, 1, 2));
        for (uint32_t word = 0; word < words; word++) {
            static const uint64_t values[] = {1, (uint64_t)1 << 63, UINT64_MAX};
            for (unsigned i = 0; i < 3; i++) {
                key[word] = values[i];
                assert_null(bat_counts_find(counts, key));
                assert_ok(bat_counts_add(counts, key, values[i], word));
                assert_count(counts, key, values[i], word);
                key[word] = 0;
            }
        }
        assert_int_equal(counts->count, 1 + 3 * words);
        assert_ok(bat_counts_add(counts, key, 10, 20));
        assert_int_equal(counts->count, 1 + 3 * words);
        assert_count(counts, key, 11, 22);
        bat_counts_free(counts);
        assert_int_equal(counts->words, words);
        assert_null(bat_counts_find(counts, key));
    }
}

/* Through several times of growing, by single additions and in batches, all keys many times. */
TEST(test_many_keys)
{
    enum { KEYS = 20000 };
    struct bat_counts *single = new_counts(3);
    struct bat_counts *batched = new_counts(3);
    struct bat_counts_batch batch = {.count = 0};
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t i = 0; i < KEYS; i++) {
            /* An order with jumps; 7919 and 20000 have no common factor. */
            uint64_t number = i * 7919 % KEYS;
            const uint64_t key[3] = {number * 16, number / 3, ~number};
            assert_ok(bat_counts_add(single, key, round, number));
            assert_ok(bat_counts_add_later(batched, &batch, key, round, number));
        }
    }
    assert_ok(bat_counts_flush(batched, &batch));
    assert_int_equal(batch.count, 0);
    assert_int_equal(single->count, KEYS);
    assert_int_equal(batched->count, KEYS);
    for (uint64_t number = 0; number < KEYS; number++) {
        const uint64_t key[3] = {number * 16, number / 3, ~number};
        assert_count(single, key, 6, 3 * number);
        assert_count(batched, key, 6, 3 * number);
    }
    const uint64_t missing[3] = {KEYS * 16, KEYS / 3, ~(uint64_t)KEYS};
    assert_null(bat_counts_find(single, missing));
}

/* A batch with one key over and over, and with new keys in the same batch. */
TEST(test_batch)
{
    struct bat_counts *counts = new_counts(1);
    struct bat_counts_batch batch = {.count = 0};
    for (uint64_t i = 0; i < 3 * BAT_COUNTS_BATCH + 5; i++) {
        const uint64_t key = i % 4;
        assert_ok(bat_counts_add_later(counts, &batch, &key, 1, i));
        assert_true(batch.count < BAT_COUNTS_BATCH);
    }
    assert_int_equal(batch.count, 5);
    /* 96 of 101 additions were made. */
    const uint64_t key = 0;
    assert_int_equal(bat_counts_find(counts, &key)[1], 24);
    assert_ok(bat_counts_flush(counts, &batch));
    assert_int_equal(bat_counts_find(counts, &key)[1], 26);
    assert_int_equal(counts->count, 4);
    assert_ok(bat_counts_flush(counts, &batch));
    assert_int_equal(bat_counts_find(counts, &key)[1], 26);
}

TEST(test_overflow)
{
    struct bat_counts *counts = new_counts(1);
    const uint64_t key = 5;
    assert_ok(bat_counts_add(counts, &key, UINT64_MAX, 0));
    assert_ok(bat_counts_add(counts, &key, 0, UINT64_MAX - 1));
    assert_int_equal(bat_counts_add(counts, &key, 1, 1), BAT_ERR_RANGE);
    assert_int_equal(bat_counts_add(counts, &key, 0, 2), BAT_ERR_RANGE);
    assert_int_equal(bat_counts_add(counts, &key, 1, 0), BAT_ERR_RANGE);
    /* Nothing was added, neither to the one nor to the other. */
    assert_count(counts, &key, UINT64_MAX, UINT64_MAX - 1);
    assert_ok(bat_counts_add(counts, &key, 0, 1));
    assert_count(counts, &key, UINT64_MAX, UINT64_MAX);

    struct bat_counts_batch batch = {.count = 0};
    assert_ok(bat_counts_add_later(counts, &batch, &key, 1, 0));
    assert_int_equal(bat_counts_flush(counts, &batch), BAT_ERR_RANGE);
    assert_int_equal(batch.count, 0);

    struct bat_counts *other = new_counts(1);
    assert_ok(bat_counts_add(other, &key, 0, 1));
    assert_int_equal(bat_counts_merge(counts, other), BAT_ERR_RANGE);
    assert_count(counts, &key, UINT64_MAX, UINT64_MAX);
}

TEST(test_merge)
{
    struct bat_counts *left = new_counts(2);
    struct bat_counts *right = new_counts(2);
    for (uint64_t i = 0; i < 3000; i++) {
        const uint64_t key[2] = {i, i % 7};
        assert_ok(bat_counts_add(i % 2 ? left : right, key, i, 1));
        if (i % 3 == 0)
            assert_ok(bat_counts_add(i % 2 ? right : left, key, 5, 2));
    }
    assert_ok(bat_counts_merge(left, right));
    assert_int_equal(left->count, 3000);
    for (uint64_t i = 0; i < 3000; i++) {
        const uint64_t key[2] = {i, i % 7};
        assert_count(left, key, i + (i % 3 ? 0 : 5), i % 3 ? 1 : 3);
    }
}

/* What cannot be added altogether is taken back, and what was there is found as before. */
TEST(test_taken_back)
{
    for (uint64_t bad = 0; bad < 100; bad += 33) {
        struct bat_counts *left = new_counts(2);
        struct bat_counts *right = new_counts(2);
        for (uint64_t i = 0; i < 2000; i++) {
            const uint64_t key[2] = {i, 7};
            if (i % 2)
                assert_ok(bat_counts_add(left, key, i, i == 2 * bad + 1 ? UINT64_MAX : 1));
            assert_ok(bat_counts_add(right, key, 3, 1));
        }
        assert_int_equal(bat_counts_merge(left, right), BAT_ERR_RANGE);
        assert_int_equal(left->count, 1000);
        for (uint64_t i = 0; i < 2000; i++) {
            const uint64_t key[2] = {i, 7};
            if (i % 2)
                assert_count(left, key, i, i == 2 * bad + 1 ? UINT64_MAX : 1);
            else
                assert_null(bat_counts_find(left, key));
        }
    }
}

TEST(test_truncate)
{
    struct bat_counts *counts = new_counts(1);
    struct bat_strings *strings = kept_strings((struct bat_strings){0});
    bat_counts_truncate(counts, 0);
    bat_strings_truncate(strings, 0);
    uint32_t number;
    for (uint64_t i = 0; i < 200; i++) {
        char name[8];
        assert_ok(bat_counts_add(counts, &i, i, 0));
        snprintf(name, sizeof(name), "s%u", (unsigned)i);
        assert_ok(bat_strings_add(strings, name, strlen(name), &number));
    }
    for (uint64_t kept = 200; kept > 0; kept -= 50) {
        bat_counts_truncate(counts, (uint32_t)kept);
        bat_strings_truncate(strings, (uint32_t)kept);
        for (uint64_t i = 0; i < 200; i++) {
            char name[8];
            snprintf(name, sizeof(name), "s%u", (unsigned)i);
            assert_int_equal(bat_counts_find(counts, &i) != NULL, i < kept);
            assert_int_equal(bat_strings_find(strings, name, strlen(name)),
                             i < kept ? i : BAT_NONE);
        }
    }
    /* What is added then has the next number. */
    assert_ok(bat_strings_add(strings, "new", 3, &number));
    assert_int_equal(number, 50);
    assert_string_equal(bat_strings_get(strings, 50), "new");
}

TEST(test_sort)
{
    /* Word by word, as unsigned numbers. */
    static const uint64_t keys[][2] = {{2, 0}, {1, UINT64_MAX}, {UINT64_MAX, 0},
                                       {1, 3}, {0, 5},          {1, (uint64_t)1 << 63}};
    static const unsigned sorted[] = {4, 3, 5, 1, 0, 2};
    struct bat_counts *counts = new_counts(2);
    for (unsigned i = 0; i < 6; i++)
        assert_ok(bat_counts_add(counts, keys[i], i, 10 * i));
    bat_counts_sort(counts);
    for (unsigned i = 0; i < 6; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        assert_memory_equal(item, keys[sorted[i]], 2 * sizeof(uint64_t));
        assert_int_equal(item[2], sorted[i]);
        assert_int_equal(item[3], 10 * sorted[i]);
    }
    assert_null(bat_counts_find(counts, keys[0])); /* look-ups are over */
}

/* --- Strings -------------------------------------------------------------------------------- */

TEST(test_strings)
{
    struct bat_strings *strings = kept_strings((struct bat_strings){0});
    uint32_t number = 99;
    assert_int_equal(bat_strings_find(strings, "a", 1), BAT_NONE);
    /* Of a longer text only `size` bytes count, and one is no beginning of another. */
    static const struct {
        const char *text;
        size_t size;
        uint32_t number;
    } added[] = {{"abcde", 3, 0}, {"abcde", 4, 1}, {"ab", 2, 2},
                 {"", 0, 3},      {"abcX", 3, 0},  {"x", 0, 3}};
    for (size_t i = 0; i < COUNT(added); i++) {
        assert_ok(bat_strings_add(strings, added[i].text, added[i].size, &number));
        assert_int_equal(number, added[i].number);
    }
    assert_int_equal(strings->count, 4);
    assert_string_equal(bat_strings_get(strings, 0), "abc");
    assert_string_equal(bat_strings_get(strings, 1), "abcd");
    assert_string_equal(bat_strings_get(strings, 2), "ab");
    assert_string_equal(bat_strings_get(strings, 3), "");
    assert_int_equal(bat_strings_find(strings, "abcd", 4), 1);
    assert_int_equal(bat_strings_find(strings, "abcde", 5), BAT_NONE);
    assert_int_equal(bat_strings_find(strings, "a", 1), BAT_NONE);
    bat_strings_free(strings);
    assert_int_equal(bat_strings_find(strings, "abc", 3), BAT_NONE);
}

/* Through several times of growing; the longest string is longer than all before. */
TEST(test_many_strings)
{
    struct bat_strings *strings = kept_strings((struct bat_strings){0});
    char name[8192];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            int length = snprintf(name, sizeof(name), "%*u", 4 + (int)(i % 97) * 3, i);
            uint32_t number = BAT_NONE;
            assert_ok(bat_strings_add(strings, name, (size_t)length, &number));
            assert_int_equal(number, i);
        }
    }
    memset(name, 'x', sizeof(name));
    uint32_t number;
    assert_ok(bat_strings_add(strings, name, sizeof(name) - 1, &number));
    assert_int_equal(number, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "%*u", 4 + (int)(i % 97) * 3, i);
        assert_string_equal(bat_strings_get(strings, i), name);
        assert_int_equal(bat_strings_find(strings, name, strlen(name)), i);
    }
    assert_int_equal(strlen(bat_strings_get(strings, 5000)), sizeof(name) - 1);
}

/* Each string the beginning of all that were there before: found by its whole length only. */
TEST(test_beginnings)
{
    struct bat_strings *strings = kept_strings((struct bat_strings){0});
    char name[400];
    memset(name, 'x', sizeof(name));
    for (uint32_t i = 0; i < sizeof(name); i++) {
        uint32_t number = BAT_NONE;
        assert_ok(bat_strings_add(strings, name, sizeof(name) - i, &number));
        assert_int_equal(number, i);
    }
    for (uint32_t i = 0; i < sizeof(name); i++)
        assert_int_equal(bat_strings_find(strings, name, sizeof(name) - i), i);
}

/* What one table takes from another: all of it, whether it was empty or not. */
TEST(test_take)
{
    struct bat_counts *counts = new_counts(2);
    for (uint64_t round = 1; round <= 3; round++) {
        struct bat_counts *from = new_counts(2);
        for (uint64_t i = 0; i < 100 * round; i++) {
            const uint64_t key[2] = {i, 1};
            assert_ok(bat_counts_add(from, key, i, round));
        }
        assert_ok(bat_counts_take(counts, from));
        assert_int_equal(counts->count, 100 * round);
    }
    const uint64_t low[2] = {50, 1};
    const uint64_t high[2] = {250, 1};
    assert_count(counts, low, 150, 6);
    assert_count(counts, high, 250, 3);
    struct bat_counts *full = new_counts(2);
    assert_ok(bat_counts_add(full, low, UINT64_MAX - 149, 0));
    assert_int_equal(bat_counts_take(counts, full), BAT_ERR_RANGE);
}

/* A table that shares with others never grows beyond its limit, and nothing is lost. */
TEST(test_shared)
{
    enum { KEYS = 50000 };
    for (uint32_t words = 1; words <= BAT_COUNTS_MAX_WORDS; words++) {
        struct bat_shared_counts *shared = bat_shared_counts_new(words);
        assert_non_null(shared);
        struct bat_counts *all = new_counts(words);
        for (uint64_t part = 1; part <= 2; part++) {
            struct bat_counts *counts = new_counts(words);
            bat_counts_share(counts, shared);
            for (uint64_t i = 0; i < KEYS; i++) {
                const uint64_t key[BAT_COUNTS_MAX_WORDS] = {i, 1, 2, 3};
                assert_ok(bat_counts_add(counts, key, part, i));
                assert_true(counts->capacity <= BAT_SHARED_LIMIT);
            }
            assert_ok(bat_counts_take(all, counts));
            assert_null(all->shared);
        }
        assert_ok(bat_shared_counts_take(shared, all));
        assert_int_equal(all->count, KEYS);
        for (uint64_t i = 0; i < KEYS; i++) {
            const uint64_t key[BAT_COUNTS_MAX_WORDS] = {i, 1, 2, 3};
            assert_count(all, key, 3, 2 * i);
        }
        bat_shared_counts_free(shared);
    }
}

/* The first addition of a key counts, later ones find it. */
TEST(test_find_or_add)
{
    struct bat_counts *counts = new_counts(2);
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 5000; i++) {
            const uint64_t key[2] = {i * 0x9e3779b97f4a7c15u, i % 7};
            const uint64_t *found;
            bool is_new;
            assert_ok(bat_counts_find_or_add(counts, key, i + round, 2 * i, &found, &is_new));
            assert_int_equal(is_new, round == 0);
            assert_int_equal(found[0], i);
            assert_int_equal(found[1], 2 * i);
        }
    assert_int_equal(counts->count, 5000);
}

/* Large tables: table t has every key that t + 1 divides. */
TEST(test_sort_together)
{
    enum { KEYS = 60000, TABLES = 3 };
    struct bat_counts tables[TABLES];
    for (uint64_t t = 0; t < TABLES; t++) {
        tables[t] = bat_counts_new(2);
        for (uint64_t i = 0; i < KEYS; i++) {
            const uint64_t k = i * 7919 % KEYS;
            const uint64_t key[2] = {k / 1000, k % 1000};
            if (k % (t + 1) == 0)
                assert_ok(bat_counts_add(&tables[t], key, k + t, 1));
        }
    }
    /* Nothing has changed then. */
    const uint64_t full[2] = {54, 0};
    const uint64_t room = UINT64_MAX - 54000;
    assert_ok(bat_counts_add(&tables[0], full, room, 0));
    assert_int_equal(bat_counts_sort_together(&tables[0], tables + 1, TABLES - 1), BAT_ERR_RANGE);
    assert_int_equal(tables[0].count, KEYS);
    for (uint32_t i = 0; i < KEYS; i++)
        if (bat_counts_item(&tables[0], i)[2] == UINT64_MAX)
            tables[0].items[(size_t)i * 4 + 2] -= room;
    assert_ok(bat_counts_sort_together(&tables[0], tables + 1, TABLES - 1));
    assert_int_equal(tables[0].count, KEYS);
    for (uint64_t k = 0; k < KEYS; k++) {
        uint64_t first = 0;
        uint64_t second = 0;
        for (uint64_t t = 0; t < TABLES; t++) {
            first += k % (t + 1) == 0 ? k + t : 0;
            second += k % (t + 1) == 0;
        }
        const uint64_t item[4] = {k / 1000, k % 1000, first, second};
        assert_memory_equal(bat_counts_item(&tables[0], (uint32_t)k), item, sizeof(item));
    }
    for (unsigned t = 0; t < TABLES; t++) {
        assert_int_equal(tables[t].count, t == 0 ? KEYS : 0);
        bat_counts_free(&tables[t]);
    }
}
