#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps on a real Slurm on this machine, with all that goes wrong on a cluster.

    BATKIT_BIN=... test.py FOLDER      FOLDER is one that model/recordings.py made

Needs root and Debian's packages slurmctld, slurmd, slurm-client and munge. Starts munged, slurmctld and two slurmd on the
loopback interface, with all their files in a temporary folder, and ends them. While the jobs run,

  - one shard fails once (its disk is full): its task is requeued;
  - a task is killed: it has failed for good, and the jobs behind it make its texts;
  - the controller is killed and has lost its last seconds: Slurm holds jobs, which `release.sh` releases;
  - a node dies with its tasks, and the other one can start no more: their tasks are requeued;
  - all jobs are cancelled. They are submitted again, and what is there is not made again;
  - everything is killed at once, also munged, and started again; the run is submitted while jobs of the one before are left.

Then the sum of all shards must be the text that one battranslate makes of all recordings, and the profiles and the verdict those
of that text, byte for byte, and the accounts must have the bytes that are in the files. Shards wait, so that there is a middle
in which all this happens. A second work folder has a shard that fails each time, and then too many bad recordings: no profile may
be made of it.
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from cluster import NODES, Cluster

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 2               # shards of a task
UNLUCKY = 9             # the shard that fails once, and so
UNLUCKY_TASK = (UNLUCKY - 1) // CHUNK + 1
SECOND = range(120 // CHUNK + 1, 190 // CHUNK + 1)      # tasks that wait for the second act, and those for the third
THIRD = range(190 // CHUNK + 1, 200 // CHUNK + 1)

# battranslate, but slower, with one write that fails. Some shards take 3 s in the first act, others wait for the next.
WRAPPER = """#!/bin/sh
case "$*" in
*--once*{unlucky}.preagg\\ *)
    if mkdir "{folder}/failed" 2>/dev/null; then
        echo "battranslate: {unlucky}.preagg: No space left on device" >&2
        exit 1
    fi ;;
esac
case "$*" in
*--once*"{folder}"/refused/0/000003.preagg\\ *)
    if [ ! -e "{folder}/mended" ]; then
        echo "battranslate: refused/0/000003.preagg: No space left on device" >&2
        exit 1
    fi ;;
esac
case "$*" in
*/host0[2-9]?.perf.data*)
    : >"{folder}/slow"
    for i in 1 2 3 4 5 6; do [ -e "{folder}/first" ] || sleep 0.5; done ;;
*/host1[2-8]?.perf.data*) while [ ! -e "{folder}/second" ]; do sleep 0.1; done ;;
*/host19?.perf.data*) while [ ! -e "{folder}/third" ]; do sleep 0.1; done ;;
*.perf.data*) sleep 0.2 ;;
esac
exec "{tools}/battranslate" "$@"
"""


def wait_for(what, condition, seconds=120):
    """Wait until condition() is true, and return what it is."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            sys.exit(f"test.py: waited {seconds} s for {what}")
        time.sleep(0.1)
    return result


def expect(condition, text):
    """End the test with a message if the condition does not hold."""
    if not condition:
        sys.exit(f"test.py: expected {text}")


def products(folder):
    """{name: bytes}."""
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix != ".json"}


def number_of(task):
    """Of array_task, or 0 of a job that is no array."""
    return int(task.partition("_")[2] or 0)


def judgement(report):
    """What --check says in a report."""
    return json.loads(report)["check"]


class Drill:
    """The cluster, a work folder, and a clock."""

    def __init__(self, folder, hosts):
        self.folder, self.hosts, self.work = folder, hosts, folder / "work"
        self.recordings = sorted(hosts.glob("*.perf.data"))[:200]
        self.tools = pathlib.Path(os.environ["BATKIT_BIN"]).resolve()
        slow = folder / "battranslate"
        slow.write_text(WRAPPER.format(folder=folder, tools=self.tools, unlucky=f"/0/{UNLUCKY:06}"),
                        encoding="ascii")
        slow.chmod(0o755)
        self.cluster = Cluster(folder)
        self.cluster.environment["BATTRANSLATE"] = str(slow)
        self.began = time.monotonic()
        self.released = set()   # tasks

    def say(self, text):
        """A line of the log."""
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def texts(self):
        """{number of a shard: time of its text}."""
        return {int(p.stem): p.stat().st_mtime_ns for p in (self.work / "0").glob("*.preagg")}

    def wait_for_texts(self, percent):
        """Until a share of the shards is done."""

        def done():
            self.administer()
            return len(self.texts()) >= count

        count = len(self.recordings) * percent // 100
        wait_for(f"{count} texts", done)

    def administer(self):
        """A controller that was killed does not know the jobs that began in its last seconds. If it starts them again while
        they run, it drains the node; then somebody must resume it. What is held must be released."""
        for node, state in self.cluster.node_states().items():
            if state.startswith("drain"):
                self.cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
                self.say(f"resumed {node}, which Slurm had drained")
        held = self.held()
        if held:
            printed = self.sh("slurm/release.sh", self.work).split()
            expect(len(printed) == 2 * len(held), f"all of {held} to be released, found {printed}")
            self.released |= held
            self.say(f"released {len(held)} jobs, which Slurm held")

    def sh(self, script, *arguments):
        """What a script of fleet/ prints."""
        return subprocess.run([HERE.parent / script, *map(str, arguments)], check=True, text=True,
                              env=self.cluster.environment, stdout=subprocess.PIPE).stdout

    def running(self, node=None):
        """{task: job} of the shards' tasks that run, on a node or anywhere."""
        where = ["-w", node] if node else []
        lines = self.cluster.ask("squeue", "-h", "-r", "-t", "R", "-n", "batkit-shards", "-o", "%i %A", *where)
        return dict(line.split() for line in (lines or "").splitlines())

    def wait_on_both_nodes(self, numbers):
        """Until tasks with these numbers wait on both nodes, and return those of the first. It takes a while: a controller that
        was killed has also forgotten which tasks ended, and keeps their processors for them until their node reports."""

        def waiting():
            self.administer()
            tasks = [{task for task in self.running(node) if number_of(task) in numbers and self.pid_of(task)}
                     for node in NODES]
            return all(tasks) and tasks[0]

        return wait_for("tasks on both nodes", waiting)

    def pid_of(self, task):
        """The script of a task."""
        array, number = task.split("_")
        wanted = {f"SLURM_CONF={self.cluster.conf}".encode(), f"SLURM_ARRAY_JOB_ID={array}".encode(),
                  f"SLURM_ARRAY_TASK_ID={number}".encode()}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if wanted <= set((entry / "environ").read_bytes().split(b"\0")) and \
                            b"shards" in (entry / "cmdline").read_bytes().split(b"\0"):
                        return int(entry.name)
                except OSError:
                    pass
        return None

    # --- What goes wrong ---------------------------------------------------------------------

    def kill_a_task(self):
        """A script that is killed is a job that failed. One that fails by itself is requeued; returns its task."""
        self.wait_for_texts(8)

        def kill():
            for task in self.running():
                pid = self.pid_of(task)
                if pid and number_of(task) != UNLUCKY_TASK:
                    os.kill(pid, signal.SIGKILL)
                    return task
            return None

        task = wait_for("a running task", kill)
        self.say(f"killed task {task} with {len(self.texts())} texts done")
        wait_for("its failure", lambda: self.cluster.jobs()[task][0] == "FAILED")
        unlucky = f"{task.split('_')[0]}_{UNLUCKY_TASK}"
        wait_for(f"{unlucky} to be requeued", lambda: self.cluster.jobs().get(unlucky, [0, 0])[1] == 1)
        expect((self.folder / "failed").is_dir(), f"shard {UNLUCKY} to have failed")
        self.say(f"task {task} has failed; Slurm has requeued task {unlucky}, whose shard {UNLUCKY} failed")
        return unlucky

    def wait_for_saved_jobs(self):
        """Until the controller has saved its state, so that the jobs of now are not lost. Returns the file. It saves only what has
        changed."""
        state, now = self.folder / "state" / "job_state", time.time()
        self.cluster.ask("scontrol", "update", f"JobId={self.cluster.queue()[0][1]}", "Comment=seen")
        wait_for("a saved state", lambda: state.stat().st_mtime > now)
        return state

    def kill_the_controller(self):
        """It saves its state every five seconds, and loses what came after. It does not know the jobs that began then,
        may start them again under the same numbers while they run, and when a node refuses that, drains the node and
        holds the jobs. Somebody must resume and release."""
        self.wait_for_texts(8)
        state, slow = self.wait_for_saved_jobs(), self.folder / "slow"
        wait_for("a task that the saved state does not have",
                 lambda: state.stat().st_mtime_ns < slow.stat().st_mtime_ns)
        self.cluster.kill("slurmctld")
        self.say(f"killed the controller with {len(self.texts())} texts done")
        time.sleep(2)
        self.cluster.start("slurmctld")
        wait_for("the controller", lambda: self.cluster.queue() is not None)
        self.say(f"the controller is back, with {len(self.texts())} texts done")
        # It need not happen. So a task is held by hand, as a site's programs do when a node looks ill.
        wait_for("a task to hold", lambda: any(self.cluster.ask("scontrol", "requeuehold", task) is not None
                                               for task in self.running()))
        wait_for("held jobs", self.held)
        (self.folder / "first").touch()
        self.administer()
        expect(self.released, "jobs that were held to be released")

    def lose_both_nodes(self):
        """All that runs on the first node ends at once. The second can no longer store the scripts of its jobs, so that
        it starts none. Both are mended. Returns the tasks of each that were requeued."""
        tasks = self.wait_on_both_nodes(SECOND)
        spool = self.folder / f"spool-{NODES[1]}"
        spool.rename(self.folder / "spool-away")
        spool.write_text("a file where a folder was\n", encoding="ascii")
        before = self.cluster.jobs()
        self.cluster.die(NODES[0])
        (self.folder / "second").touch()
        self.say(f"{NODES[0]} died with {len(tasks)} tasks, {NODES[1]} lost its disk; {len(self.texts())} texts done")
        wait_for("the controller to notice",
                 lambda: self.cluster.node_states().get(NODES[0], "").startswith("down"))
        after = self.cluster.jobs()
        requeued = {task for task in after if after[task][1] > before.get(task, (None, 0))[1]}
        dead = requeued & tasks
        self.say(f"{NODES[0]} is down: Slurm has requeued {len(dead)} of its tasks, and {len(requeued - dead)} that "
                 f"{NODES[1]} could not start; {len(self.texts())} texts done")
        expect(dead == tasks, f"all tasks of {NODES[0]} to be requeued, {tasks}, found {dead}")
        expect(requeued - dead, f"tasks of {NODES[1]} to be requeued")
        self.cluster.start(NODES[0])
        self.cluster.kill(NODES[1], signal.SIGTERM)
        spool.unlink()
        (self.folder / "spool-away").rename(spool)
        self.cluster.start(NODES[1])
        self.say("mended both")
        return requeued

    def held(self):
        """Names of the jobs that Slurm holds."""
        return {name for _, name, state, reason in self.cluster.queue() or []
                if state == "PENDING" and "held" in reason.lower()}

    def stop_all(self, tasks):
        """All jobs of the run are cancelled, when these tasks have ended well."""

        def done():
            self.administer()
            jobs = self.cluster.jobs()
            return all(jobs.get(task, ["gone"])[0] == "COMPLETED" for task in tasks)

        wait_for("the tasks that were requeued or held", done)
        self.say(f"all {len(tasks)} tasks that were requeued or held have ended well")
        for job in {name.split("_")[0] for _, name, _, _ in self.cluster.queue()}:
            self.cluster.ask("scancel", job)
        wait_for("an empty queue", lambda: self.cluster.queue() == [])
        texts = self.texts()
        self.say(f"cancelled all jobs with {len(texts)} texts done")
        expect(len(texts) < len(self.recordings), "a run that is not done yet")
        return texts

    def lose_power(self):
        """All daemons and all that runs end at once, and start again. Slurm does not know all that ran, so the run is submitted
        once more, while jobs of the one before are still there."""
        self.wait_on_both_nodes(THIRD)
        self.wait_for_saved_jobs()
        for node in NODES:
            self.cluster.die(node)
        for name in ("slurmctld", "munged"):
            self.cluster.kill(name)
        texts = self.texts()
        self.say(f"killed everything, munged too, with {len(texts)} texts done")
        (self.folder / "third").touch()
        time.sleep(1)
        expect(self.texts() == texts, "nobody to be left who makes texts")
        for name in ("munged", "slurmctld", *NODES):
            self.cluster.start(name)
        wait_for("the controller", lambda: self.cluster.queue() is not None)
        known = self.cluster.queue()
        self.sh("slurm/submit.sh", "-c", CHUNK, self.work)
        self.say(f"submitted once more: {len(known)} jobs of before are still there")
        expect(known, "jobs that Slurm still knows")

    def wait_for_the_end(self):
        """Until no job is left."""

        def ended():
            self.administer()
            return self.cluster.queue() == []

        wait_for("the jobs' end", ended, 300)
        self.say(f"no job is left; {len(self.texts())} texts done")

    # --- The run -----------------------------------------------------------------------------

    def run(self):
        """Everything, in this order."""
        for name in ("munged", "slurmctld", *NODES):
            self.cluster.start(name)
        wait_for("the nodes", self.cluster.up)
        self.sh("steps/plan.sh", "-w", self.work, "-f", "8", "-b", self.hosts / "bolted", "-i",
                self.hosts / "input", *self.recordings)
        self.began = time.monotonic()
        self.sh("slurm/submit.sh", "-c", CHUNK, self.work)
        self.say(f"submitted {len(self.recordings)} shards in tasks of {CHUNK}")
        unlucky = self.kill_a_task()
        self.kill_the_controller()
        requeued = self.lose_both_nodes()
        before = self.stop_all({task for task in {unlucky} | requeued | self.released if number_of(task) not in THIRD})
        self.sh("slurm/submit.sh", "-c", CHUNK, self.work)
        self.say("submitted again")
        self.lose_power()
        self.wait_for_the_end()
        states = collections.Counter(job[0] for job in self.cluster.jobs().values())
        self.say(f"jobs by state: {dict(states)}")
        after = self.texts()
        expect(len(after) == len(self.recordings), "a text of each shard")
        expect(all(after[number] == made for number, made in before.items()),
               "the texts of the cancelled run not to be made again")
        self.say(f"{len(before)} of {len(after)} texts were there before, and were not made again")
        self.refuse()

    # --- Verdicts ----------------------------------------------------------------------------

    def ends(self, *options):
        """Submit the second folder, and wait for the end. {name of job: [(state, restarts)]}."""
        known = self.cluster.jobs()
        self.sh("slurm/submit.sh", "-c", 2, *options, self.second, "--check-limit=density=0")
        wait_for("the jobs' end", lambda: self.cluster.queue() == [], 300)
        ended = collections.defaultdict(list)
        for job, (state, restarts, name) in self.cluster.jobs().items():
            if job not in known:
                ended[name.removeprefix("batkit-")].append((state, restarts))
        return {name: sorted(states) for name, states in ended.items()}

    def refuse(self):
        """A work folder from which no profile may be made: a shard that fails each time, then too many bad recordings."""
        bad = self.folder / "bad.perf.data"
        bad.write_bytes(self.recordings[7].read_bytes()[:-5000])
        self.second = self.folder / "refused"
        self.sh("steps/plan.sh", "-w", self.second, "-f", 2, "-b", self.hosts / "bolted", *self.recordings[:7], bad)
        nothing = {"level1": [("CANCELLED", 0)], "level2": [("CANCELLED", 0)], "level3": [("CANCELLED", 0)],
                   "products": [("CANCELLED", 0)]}
        shards = [("COMPLETED", 0)] * 4
        ended = self.ends("-x", 20)
        expect(ended == {"shards": [("COMPLETED", 0)] * 3 + [("FAILED", 3)], "settle": [("FAILED", 3)], **nothing},
               f"three requeues, then no profile, found {ended}")
        self.say("a shard that fails each time: its task was requeued three times, so was the one that settles; no profile")
        (self.folder / "mended").touch()
        ended = self.ends()
        expect(ended == {"shards": shards, "settle": [("FAILED", 0)], **nothing},
               f"no profile of too many bad recordings, found {ended}")
        expect(not list((self.second / "products").iterdir()), "no profile of too many bad recordings")
        self.say("1 of 8 recordings is bad, more than 1%: no profile")
        ended = self.ends("-x", 20)
        expect({state for states in ended.values() for state in states} == {("COMPLETED", 0)},
               f"all jobs to end well, found {ended}")
        whole = self.folder / "seven.fdata"
        subprocess.run([self.tools / "battranslate", self.hosts / "bolted", "-q", "-o", whole,
                        *(a for path in self.recordings[:7] for a in ("-p", path))], check=True)
        expect((self.second / "products" / "bolted.fdata").read_bytes() == whole.read_bytes(),
               "the profile of the other seven")
        self.say("with -x 20: the profile of the other 7, same bytes as on one machine")

    def compare(self):
        """The same bytes as on one machine."""
        whole = self.folder / "whole"
        whole.mkdir()
        total = self.folder / "total.preagg"
        tool = [self.tools / "battranslate", self.hosts / "bolted"]
        subprocess.run([*tool, "-q", *(a for path in self.recordings for a in ("-p", path)), "--once",
                        "--format=preagg", "-o", total], check=True)
        top = max(int(p.name) for p in self.work.iterdir() if p.name.isdigit())
        expect((self.work / str(top) / "000001.preagg").read_bytes() == total.read_bytes(),
               "the sum of all shards to be that of one machine")
        tool += [f"--original={self.hosts / 'input'}", "-p", total]
        report = subprocess.run([*tool, "-o", whole / "bolted.fdata", "-w", whole / "bolted.yaml", "--check",
                                 "--report=json"], check=True, text=True, stdout=subprocess.PIPE).stdout
        expected, found = (judgement(text) for text in (report, (self.work / "products/bolted.json").read_text("utf-8")))
        expect(found == expected and found["verdict"] == "fit", f"the same verdict, fit, found {found['verdict']}")
        subprocess.run([*tool, "-q", "--format=autofdo", "-o", whole / "bolted.prof"], check=True)
        made, expected = products(self.work / "products"), products(whole)
        differ = [name for name in {**made, **expected} if made.get(name) != expected.get(name)]
        expect(not differ, f"the same profiles as on one machine, found others: {differ}")
        self.say(f"same bytes as on one machine: { {k: len(v) for k, v in made.items()} }")

    def check_accounts(self):
        """WORK/totals, which the last job wrote."""
        text = (self.work / "totals").read_text("ascii")
        print((self.work / "settled").read_text("ascii") + text, end="")
        rows = {tuple(line.split()[:2]): line.split()[2:] for line in text.splitlines()[1:]}
        sizes = [sum(p.stat().st_size for p in (self.work / str(level)).glob("*.preagg")) for level in range(4)]
        counts = [len(list((self.work / str(level)).glob("*.preagg"))) for level in range(4)]
        read = [sum(p.stat().st_size for p in self.recordings), *sizes]
        expect([counts, counts[0]] == [[200, 25, 4, 1], len(self.recordings)], f"a tree of 200, found {counts}")
        for level, name in enumerate(("shard", "combine", "combine", "combine")):
            jobs, bytes_in, bytes_out, seconds, processor, memory = rows[name, str(level)]
            expect([int(jobs), int(bytes_in), int(bytes_out)] == [counts[level], read[level], sizes[level]],
                   f"accounts of level {level} with the bytes of its files")
            expect(min(float(seconds), float(processor), float(memory)) > 0, "seconds and memory in the accounts")


def main():
    """Exit status 1 if anything is other than expected."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("test.py: terminated"))
    with tempfile.TemporaryDirectory(prefix="fleet-slurm-") as name:
        drill = Drill(pathlib.Path(name), pathlib.Path(sys.argv[1]).resolve())
        try:
            drill.run()
        except BaseException:
            if "KEEP" in os.environ:
                subprocess.run(["cp", "-r", name, os.environ["KEEP"]], check=False)
            subprocess.run(f"tail -n 40 {name}/slurmctld.log {name}/slurmd-*.log >&2", shell=True, check=False)
            raise
        finally:
            drill.cluster.stop()
        drill.compare()
        drill.check_accounts()


if __name__ == "__main__":
    main()
