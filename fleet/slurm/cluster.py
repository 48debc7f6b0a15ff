# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Slurm of two nodes on this machine: real daemons on the loopback interface, all files in one folder."""

import os
import pathlib
import re
import signal
import socket
import subprocess

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
SlurmdTimeout=5
MessageTimeout=5
MaxArraySize=2001
MinJobAge=3600
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
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
            env={**self.environment, "PATH": path})
        log.close()

    def kill(self, name, how=signal.SIGKILL):
        """End a daemon."""
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait()

    def stop(self):
        """End all of them and what they run, the daemon that all others need last."""
        for node in NODES:
            if node in self.processes:
                self.die(node)
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

    def node_states(self):
        """{node: state}, such as idle, mixed, down*, drained; empty if the controller does not answer."""
        lines = (self.ask("sinfo", "-h", "-N", "-o", "%N %T") or "").splitlines()
        return dict(line.split() for line in lines)

    def up(self):
        """True if the nodes wait for work."""
        return list(self.node_states().values()) == ["idle"] * len(NODES)

    def queue(self):
        """[(job, name of job or array_task, state, reason)] of all that has not ended; None if nobody answers."""
        lines = self.ask("squeue", "-h", "-r", "-o", "%A|%i|%T|%r")
        return None if lines is None else [tuple(line.split("|")) for line in lines.splitlines()]

    def jobs(self):
        """{job or array_task: (state, restarts, name)} of all that the controller still knows."""
        result = {}
        for line in (self.ask("scontrol", "-o", "show", "job") or "").splitlines():
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            if "JobId" not in fields:       # "No jobs in the system"
                continue
            name = fields["JobId"]
            if fields.get("ArrayTaskId", "").isdigit():
                name = f"{fields['ArrayJobId']}_{fields['ArrayTaskId']}"
            result[name] = (fields["JobState"], int(fields["Restarts"]), fields["JobName"])
        return result

    def die(self, node):
        """A node loses its power: its daemon and all that runs there end at once."""
        self.kill(node)
        ours = os.fsencode(f"SLURM_CONF={self.conf}")
        there = os.fsencode(f"SLURMD_NODENAME={node}")
        victims = set()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
                if ours in variables and there in variables:
                    victims.add(int(entry.name))
                    victims.update(stepds_above(entry))
            except OSError:
                continue        # it has ended meanwhile
        for victim in sorted(victims):
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass


def stepds_above(entry):
    """slurmstepd, which is the parent of a task's first process."""
    parent = int(re.search(r"\nPPid:\t(\d+)", (entry / "status").read_text("ascii")).group(1))
    path = entry.parent / str(parent)
    if parent > 1 and (path / "comm").read_text("ascii").startswith("slurmstepd"):
        yield parent
