/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of functions without what compilers and linkers append, and hashes. */
#include "program.h"

#include <elf.h>
#include <string.h>

#include "binary/functions/name_parts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t next_hash(const void *bytes, size_t size, uint32_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t next_hash_name(const char *name, size_t length)
{
    return (uint64_t)next_hash(name, length, 1) << 32 | next_hash(name, length, 2);
}

/* All that it calls becomes part of it, and then there is nothing left to do for other sizes. */
__attribute__((flatten)) uint32_t next_hash_pair(uint32_t first, uint32_t second, uint32_t seed)
{
    const uint32_t pair[2] = {first, second};
    return (uint32_t)XXH3_64bits_withSeed(pair, sizeof(pair), seed);
}

/* The length without ".word" and a number behind it, if the name ends so. */
static size_t without_suffix(const char *name, size_t length)
{
    static const char *const words[] = {".part",     ".isra", ".constprop",  ".cold",
                                        ".lto_priv", ".warm", ".localalias", ".clone",
                                        ".__uniq",   ".llvm"};
    size_t end = name_without_number(name, length, '.');
    const char *dot = memrchr(name, '.', end);
    size_t stem = dot ? (size_t)(dot - name) : 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && stem > 0; i++)
        if (strlen(words[i]) == end - stem && memcmp(dot, words[i], end - stem) == 0)
            return stem;
    return length;
}

/* Rust's legacy names end in a hash of the crate: 17h and 16 digits, before a last E. */
static size_t without_rust_hash(const char *name, size_t length)
{
    const size_t hash = 20;
    if (length <= hash + 3 || memcmp(name, "_ZN", 3) != 0 || name[length - 1] != 'E' ||
        memcmp(name + length - hash, "17h", 3) != 0)
        return length;
    for (size_t i = length - hash + 3; i < length - 1; i++)
        if (!((name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f')))
            return length;
    return length - hash;
}

/* The length of a name, of which length bytes are given, without what compilers append. */
static size_t plain_length(const char *name, size_t length)
{
    if (length > 4 && memcmp(name + length - 4, "@PLT", 4) == 0)
        length -= 4;
    for (size_t shorter; (shorter = without_suffix(name, length)) != length;)
        length = shorter;
    return without_rust_hash(name, length);
}

size_t next_plain_name_length(const char *name)
{
    return plain_length(name, unnumbered_name_length(name));
}

uint32_t next_called_name(const struct next_program *program, uint32_t function)
{
    static const struct {
        const char *before;
        const char *after;
    } veneers[] = {{"__", "_veneer"}, {"__AArch64ADRPThunk_", ""}, {"__AArch64AbsLongThunk_", ""}};
    const char *name = program->all[function].name;
    if (!name || bat_elf_machine(program->elf) != EM_AARCH64)
        return program->name_of[function];
    size_t length = unnumbered_name_length(name);
    for (size_t i = 0; i < sizeof(veneers) / sizeof(*veneers); i++) {
        size_t before = strlen(veneers[i].before);
        size_t after = strlen(veneers[i].after);
        if (length <= before + after || memcmp(name, veneers[i].before, before) != 0 ||
            memcmp(name + length - after, veneers[i].after, after) != 0)
            continue;
        const char *called = name + before;
        return next_hash(called, plain_length(called, length - before - after), 0);
    }
    return program->name_of[function];
}
