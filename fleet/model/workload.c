/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SQLite at the work that its argument says: SQL, in memory. Prints a sum of all that came out. */
#include <sqlite3.h>

#include <stdio.h>
#include <stdlib.h>

static int add_row(void *context, int columns, char **values, char **names)
{
    unsigned long *sum = context;
    (void)names;
    for (int i = 0; i < columns; i++)
        for (const char *c = values[i] ? values[i] : "null"; *c; c++)
            *sum = *sum * 31 + (unsigned char)*c;
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long sum = 0;
    char *message = NULL;
    sqlite3 *db;
    if (argc != 2 || sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 2;
    if (sqlite3_exec(db, argv[1], add_row, &sum, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], message);
        return 1;
    }
    printf("sum %lx\n", sum);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
