#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps on a real Slurm on this machine, while a task, a node's daemon and the controller are killed.

    BATKIT_BIN=... test.py FOLDER      FOLDER is one that model/recordings.py made

Needs root and Debian's packages slurmctld, slurmd, slurm-client and munge. Starts munged, slurmctld and two slurmd on the
loopback interface, with all their files in a temporary folder, and ends them. Each shard waits a fifth of a second, so that there is a
middle in which to kill. Compares the sum of all shards with the text that one battranslate makes of all recordings, and the
profiles with those of that text, byte for byte.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CHUNK = 2
NODES = ("fleet1", "fleet2")


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """munged, slurmctld and a slurmd for each of NODES."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = {}
        control, *ports = free_ports(1 + len(NODES))
        (folder / "state").mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        nodes = "".join(f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 "
                        f"Port={port} CPUs=4 State=UNKNOWN\n" for name, port in zip(NODES, ports))
        self.conf = folder / "slurm.conf"
        self.conf.write_text(f"""ClusterName=fleet
SlurmctldHost={socket.gethostname()}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=1,bf_interval=1
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
MaxArraySize=2001
JobRequeue=1
MailProg=/bin/true
{nodes}PartitionName=all Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
""", encoding="ascii")
        self.environment = {**os.environ, "SLURM_CONF": str(self.conf)}
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n", encoding="ascii")

    def start(self, name):
        """Start a daemon."""
        if name == "munged":
            command = ["munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                       f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                       f"--seed-file={self.folder}/munged.seed", f"--log-file={self.folder}/munged.log"]
        elif name == "slurmctld":
            command = ["slurmctld", "-D", "-f", self.conf]
        else:
            command = ["slurmd", "-D", "-f", self.conf, "-N", name]
        log = open(self.folder / f"{name}.out", "ab")
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        self.processes[name] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**self.environment, "PATH": path})
        log.close()

    def kill(self, name, how=signal.SIGKILL):
        """End a daemon."""
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait()

    def stop(self):
        """End all of them, the daemon that all others need last."""
        for name in list(self.processes)[::-1]:
            process = self.processes[name]
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def ask(self, *command):
        """What a command of Slurm prints; None if it fails."""
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, check=False)
        return done.stdout if done.returncode == 0 else None

    def up(self):
        """True if the nodes wait for work."""
        states = self.ask("sinfo", "-h", "-N", "-o", "%T")
        return states is not None and states.split() == ["idle"] * len(NODES)


def wait_for(what, condition, seconds=120):
    """Wait until condition() is true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"test.py: waited {seconds} s for {what}")
        time.sleep(0.2)


def tasks_of(work):
    """Processes of running tasks: scripts of the array job of shards."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(work) in words and b"shards" in words:
                yield int(entry.name)


def products(folder):
    """{name: bytes}."""
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix != ".json"}


def main():
    """Exit status 1 if anything differs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("test.py: terminated"))
    hosts = pathlib.Path(sys.argv[1]).resolve()
    bin_folder = pathlib.Path(os.environ["BATKIT_BIN"]).resolve()
    recordings = sorted(hosts.glob("*.perf.data"))
    with tempfile.TemporaryDirectory(prefix="fleet-slurm-") as name:
        folder = pathlib.Path(name)
        work = folder / "work"
        slow = folder / "battranslate"
        slow.write_text(f'#!/bin/sh\ncase "$*" in *.perf.data*) sleep 0.2 ;; esac\n'
                        f'exec "{bin_folder}/battranslate" "$@"\n', encoding="ascii")
        slow.chmod(0o755)
        cluster = Cluster(folder)
        cluster.environment["BATTRANSLATE"] = str(slow)
        try:
            drill(cluster, hosts, work, recordings)
        finally:
            cluster.stop()
        whole = folder / "whole"
        whole.mkdir()
        total = folder / "total.preagg"
        tool = [bin_folder / "battranslate", hosts / "bolted", "-q"]
        subprocess.run([*tool, *(a for path in recordings for a in ("-p", path)), "--once",
                        "--format=preagg", "-o", total], check=True)
        top = max(int(p.name) for p in work.iterdir() if p.name.isdigit())
        if (work / str(top) / "000001.preagg").read_bytes() != total.read_bytes():
            sys.exit("test.py: the sum of all shards is not that of one machine")
        tool += [f"--original={hosts / 'input'}", "-p", total]
        subprocess.run([*tool, "-o", whole / "bolted.fdata", "-w", whole / "bolted.yaml"], check=True)
        subprocess.run([*tool, "--format=autofdo", "-o", whole / "bolted.prof"], check=True)
        made, expected = products(work / "products"), products(whole)
        if made != expected:
            differ = [name for name in {**made, **expected} if made.get(name) != expected.get(name)]
            sys.exit(f"test.py: other than on one machine: {differ}")
        print("same bytes as on one machine:", {k: len(v) for k, v in made.items()})


def ended(cluster, say):
    """True if no job is left. A controller that was killed may have lost the last seconds. Then Slurm drains nodes whose
    jobs it does not know and holds jobs; an administrator, who is this function, resumes and releases."""
    for line in (cluster.ask("sinfo", "-h", "-N", "-o", "%N %T") or "").splitlines():
        node, state = line.split()
        if "drain" in state:
            cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
            say(f"resumed {node}, which was {state}")
    for line in (cluster.ask("squeue", "-h", "-o", "%A %r") or "").splitlines():
        job, _, reason = line.partition(" ")
        if "JobHeld" in reason or "held" in reason:
            cluster.ask("scontrol", "release", job)
            say(f"released job {job}")
    return cluster.ask("squeue", "-h") == ""


def drill(cluster, hosts, work, recordings):
    """Submit all jobs, and kill."""
    for name in ("munged", "slurmctld", *NODES):
        cluster.start(name)
    wait_for("the nodes", cluster.up)
    subprocess.run([HERE / "../steps/plan.sh", "-w", work, "-f", "8", "-b", hosts / "bolted", "-i",
                    hosts / "input", *recordings], check=True)
    began = time.monotonic()

    def say(text):
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    def texts():
        return len(list((work / "0").glob("*.preagg")))

    subprocess.run([HERE / "submit.sh", "-c", str(CHUNK), work], env=cluster.environment, check=True)
    wait_for("the first shards", lambda: texts() >= len(recordings) // 10)
    victims = []
    wait_for("a running task", lambda: victims.extend(tasks_of(work)) or victims)
    os.kill(victims[0], signal.SIGKILL)
    say(f"killed a task, with {texts()} shards done")
    wait_for("more shards", lambda: texts() >= len(recordings) // 4)
    cluster.kill(NODES[0])
    say(f"killed the daemon of {NODES[0]}, with {texts()} shards done")
    wait_for("more shards", lambda: texts() >= len(recordings) // 2)
    cluster.kill("slurmctld")
    say(f"killed the controller, with {texts()} shards done")
    time.sleep(2)
    cluster.start("slurmctld")
    cluster.start(NODES[0])
    wait_for("the controller", lambda: cluster.ask("squeue", "-h") is not None)
    say(f"both are back, with {texts()} shards done")
    wait_for("the jobs' end", lambda: ended(cluster, say), 300)
    # Requeued jobs wait for cred_expire, which is 120 s by default.
    say(f"no job is left; {texts()} shards done")
    jobs = (cluster.ask("scontrol", "-o", "show", "job") or "").splitlines()
    requeued = sum(int(m.group(1)) for line in jobs for m in re.finditer(r"Restarts=(\d+)", line))
    counts = {}
    for line in jobs:
        match = re.search(r"JobState=(\S+)", line)
        if match:
            counts[match.group(1)] = counts.get(match.group(1), 0) + 1
    say(f"jobs by state: {counts}, requeued {requeued}")
    print((work / "settled").read_text("ascii"), end="")
    subprocess.run([HERE / "../steps/accounts.sh", work], check=True)


if __name__ == "__main__":
    main()
