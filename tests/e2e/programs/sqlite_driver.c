/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A workload for SQLite: fills tables, queries, joins, updates, prints what came out. */
#include "sqlite3.h"

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

static void run(sqlite3 *db, unsigned long *sum, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, add_row, sum, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, message);
        exit(1);
    }
}

static void insert_rows(sqlite3 *db, int rows)
{
    sqlite3_stmt *insert;
    if (sqlite3_prepare_v2(db, "insert into item values (?, ?, ?)", -1, &insert, NULL) != SQLITE_OK)
        exit(1);
    for (int i = 0; i < rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "item %d", i * 7919 % rows);
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_text(insert, 2, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_double(insert, 3, i / 4.0);
        if (sqlite3_step(insert) != SQLITE_DONE)
            exit(1);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
}

int driver_main(int argc, char **argv);

int driver_main(int argc, char **argv)
{
    static const char *const queries[] = {
        "select substr(name, 1, 6), sum(price), count(*) from item group by 1 order by 2 desc",
        "select a.name from item a join item b on a.name = b.name where b.id % 3 = 1 order by "
        "a.price",
        "select max(price), min(name), avg(id) from item where name like '%1%' or price between 2 "
        "and 9",
        "update item set price = price * 2 where id % 2 = 0",
        "delete from item where id in (select id from item where price > 20 limit 5)",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 40) "
        "select group_concat(i, '-'), total(i) from n",
        "vacuum",
        "select count(distinct name), hex(name), upper(name) from item",
    };
    int rows = argc > 1 ? atoi(argv[1]) : 100;
    unsigned long sum = 0;
    sqlite3 *db;
    if (rows < 1 || sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 1;
    /* VACUUM gives a temporary database a random name: let every run have the same one. */
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 1, NULL);
    run(db, &sum,
        "create table item (id integer primary key, name text, price real);"
        "create index item_name on item (name); begin");
    insert_rows(db, rows);
    run(db, &sum, "commit");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        run(db, &sum, queries[i]);
    printf("%d rows, sum %lx\n", rows, sum);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
    return driver_main(argc, argv);
}
#endif
