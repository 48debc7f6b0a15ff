#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of hosts with different work, for machines whose processor has no branch records.

    recordings.py [--hosts=200] [--samples=1000] OUT

OUT/input is SQLite with debug information, OUT/bolted what llvm-bolt-22 made of it, and
OUT/host000.perf.data and so on are recordings of OUT/bolted: perf.data with branch stacks of 32 entries. Each
host runs other SQL, chosen by its number: some of the statements below, with other numbers. The executions are real, under
qemu-user, and every taken branch is known; the samples are taken at equal distances, as a processor takes them. What is
there already is not made again.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "e2e"))

# pylint: disable=wrong-import-position
import branch_stacks  # noqa: E402
import elffile  # noqa: E402
import fixtures  # noqa: E402
import perf_data  # noqa: E402
import perf_scenes  # noqa: E402
import toolbox  # noqa: E402

FLAGS = ["-O1", "-g1", "-fPIE"]
BOLT = ["-enable-bat", *fixtures.SPLIT, "-split-strategy=profile2"]
DEPTH = 32
TRAINING = 100000       # the number of the host whose work the binary was BOLTed for

# What a host may do. {n} is a number of the host, {m} a small one.
STATEMENTS = [
    "select sum(price), count(*), substr(name, 1, 6) from item group by 3 order by 1 desc",
    "select a.name from item a join item b on a.name = b.name where b.id % 3 = 1 order by a.price",
    "select a.id from item a left join item b on a.id = b.id + {m} where b.id is null",
    "select max(price), min(name) from item where name like '%{m}%' or price between 2 and {n}",
    "select id from item where name glob '*{m}' union select id * 2 from item order by 1",
    "select id from item except select id from item where id % {m} = 0",
    "update item set price = price * 2, name = name || 'x' where id % {m} = 0",
    "delete from item where id in (select id from item order by price limit {m})",
    "insert or ignore into item (id, name, price) select id + 100000, upper(name), price / 3 "
    "from item where id % {m} = 1",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < {n}) "
    "select group_concat(i, '-'), total(i * i) from n",
    "select name, row_number() over (partition by id % {m} order by price) from item",
    "select sum(price) over (order by id rows between {m} preceding and current row) from item",
    "select ntile({m}) over (order by name), lag(price) over (order by id) from item",
    "select json_extract(json_object('a', id, 'b', json_array(name, price)), '$.b[0]') from item",
    "select value from json_each('[1, 2, {{\"k\": [{m}, {n}]}}, \"text\"]')",
    "select strftime('%Y-%j', '2026-01-01', '+' || id || ' days'), julianday('now') > 0 from item",
    "select hex(zeroblob({m})), quote(name), printf('%08.3f|%-9s|%x', price, name, id) from item",
    "select replace(trim(lower(name)), 'i', '{n}'), instr(name, '{m}'), length(name) from item",
    "select case when price > {n} then 'a' when id % 2 then 'b' else null end, count(*) "
    "from item group by 1 having count(*) > 1",
    "create view cheap as select * from item where price < {n}; select count(*) from cheap; "
    "drop view cheap",
    "create temp trigger grow after update on item begin update total set n = n + 1; end; "
    "update item set price = price + 1 where id < {n}; select n from total; drop trigger grow",
    "insert into total values ({m}, 1) on conflict (id) do update set n = n + excluded.n",
    "begin; update item set price = -price; rollback; select sum(price) from item",
    "savepoint s; delete from item where id < {m}; release s; select changes()",
    "create index by_price on item (price desc, id) where price > {m}; analyze; "
    "select id from item where price > {n} order by price desc limit 9; drop index by_price",
    "select cast(name as integer), typeof(price), abs(id - {n}), round(price, 1) from item",
    "select exists (select 1 from item where id = {n}), coalesce(null, {m}), nullif({m}, {n})",
    "vacuum; pragma integrity_check",
    "pragma table_info(item); pragma index_list(item); select sql from sqlite_master",
    "explain query plan select * from item a, item b where a.id = b.price",
    "alter table item add column c{n} default {m}; select c{n} from item limit {m}",
    "create table w (k text primary key, v) without rowid; insert or ignore into w select name || id, price "
    "from item; select v from w where k > 'item {m}' limit {n}; drop table w",
]


def work(host):
    """The SQL of a host."""
    numbers = random.Random(host)
    rows = numbers.randint(12, 40)
    lines = ["create table item (id integer primary key, name text, price real)",
             "create table total (id integer primary key, n); insert into total values (0, 0)"]
    if numbers.random() < 0.5:
        lines.append("create index item_name on item (name)")
    lines.append(f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows}) "
                 "insert into item select i, 'item ' || (i * 7919 % 97), i / 4.0 from n")
    for statement in numbers.sample(STATEMENTS, numbers.randint(2, 7)):
        lines.append(statement.format(n=numbers.randint(10, rows), m=numbers.randint(2, 9)))
    return "; ".join(lines)


def run(*command, folder=None):
    """A command that must succeed."""
    subprocess.run([str(c) for c in command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def execute(binary, host, folder):
    """All branches of a host's run, as a branch_stacks.Recording."""
    branches, bias, _ = branch_stacks.execute(binary, [binary, work(host)])
    (folder / "branches").write_bytes(branches.tobytes())
    (folder / "bias").write_text(str(bias), encoding="ascii")
    return branch_stacks.Recording(binary, folder)


def record(binary, host, samples, out, folder):
    """perf.data of a host's run."""
    recording = execute(binary, host, folder)
    elf = recording.elf
    base = perf_scenes.BASES[host % len(perf_scenes.BASES)] if elf.type == 3 else 0
    pid = 1000 + host
    session = perf_data.Session([perf_scenes.cycles()], start=10**9 * (host + 1))
    session.comm(pid, pid, "bolted", exec=True)
    for address, length, offset in perf_scenes.mappings(elf):
        session.mmap2(pid, pid, address + base, length, offset, str(binary))

    def moved(address):
        return address + base if recording.inside(address) else address

    every = max((len(recording) - DEPTH) // samples, 1)
    for sample in recording.samples(DEPTH, every, host % every, samples):
        entries = [(moved(b), moved(t), perf_scenes.MISPREDICTED if (b ^ t >> 3) % 7 == 0
                    else perf_scenes.PREDICTED) for b, t in sample.branches]
        session.sample(pid=pid, tid=pid, ip=moved(sample.ip), branches=entries)
    part = out.with_suffix(".part")
    part.write_bytes(session.file(build_ids=[(str(binary), bytes.fromhex(elf.build_id()))]))
    part.rename(out)


def make_binary(out):
    """OUT/input and OUT/bolted."""
    if (out / "bolted").exists():
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in fixtures.SQLITE_SHA256:
            shutil.copy(fixtures.sqlite_source().folder() / file, folder)
        shutil.copy(HERE / "workload.c", folder)
        run("gcc", *FLAGS, *fixtures.SQLITE_DEFINES, "-w", "-pie", "-Wl,-q", "-Wl,--build-id=sha1",
            "-I.", "workload.c", "sqlite3.c", "-o", "input", "-lm", folder=folder)
        record(folder / "input", TRAINING, 100000, folder / "perf.data", folder)
        toolbox.fine("battranslate", folder / "input", "-p", folder / "perf.data", "-o",
                     folder / "fdata", "-q")
        run("llvm-bolt-22", "input", "-o", "bolted", "-data=fdata", *BOLT, folder=folder)
        shutil.copy(folder / "input", out / "input")
        shutil.copy(folder / "bolted", out / "bolted")


def main():
    """Make what is missing."""
    parser = argparse.ArgumentParser(description="Recordings of hosts with different work.")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    make_binary(out)
    with tempfile.TemporaryDirectory() as folder:
        for host in range(arguments.hosts):
            path = out / f"host{host:03}.perf.data"
            if not path.exists():
                record(out / "bolted", host, arguments.samples, path, pathlib.Path(folder))


if __name__ == "__main__":
    main()
