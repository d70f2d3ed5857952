# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelets and Docker change on the machine itself, remembered before and put back after."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import LabError

# Written by kubelet (setupKernelTunables), kube-proxy and dockerd, and not part of a container.
SYSCTLS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/bridge/bridge-nf-call-ip6tables",
    "net/bridge/bridge-nf-call-iptables",
    "net/ipv4/ip_forward",
    "net/ipv6/conf/all/forwarding",
    "net/ipv6/conf/default/forwarding",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
FIREWALLS = ("iptables", "ip6tables")
DOCKER_S = ("DOCKER", " br-", " docker0")
KEY = Path("/etc/docker/key.json")
INOTIFY_PER_NODE = 24


@dataclass(frozen=True)
class Before:
    """The machine before the first cluster: kernel settings, rules, and what Docker had left before."""

    sysctls: dict[str, str]
    cgroups: list[str] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)
    docker_key: bool = False
    docker_folder: bool = False


def look(proc: Path = Path("/proc/sys")) -> Before:
    return Before(
        sysctls={name: (proc / name).read_text().strip() for name in SYSCTLS if (proc / name).exists()},
        cgroups=docker_cgroups(),
        rules={firewall: saved(firewall) for firewall in FIREWALLS},
        docker_key=KEY.exists(),
        docker_folder=KEY.parent.exists(),
    )


def remember(path: Path) -> None:
    """Write down how the machine is, unless that was done for a cluster that is still there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(look())))


def put_back(path: Path, *, daemon_was_ours: bool, proc: Path = Path("/proc/sys")) -> list[str]:
    """Undo what was changed since ``remember``; return what was done, one phrase each."""
    if not path.exists():
        return []
    before = Before(**json.loads(path.read_text()))
    done = []
    if daemon_was_ours:
        done += _clear_docker(before)
    for name, value in before.sysctls.items():
        if (proc / name).read_text().strip() != value:
            done.append(_set(proc, name, value))
    path.unlink()
    return done


def _set(proc: Path, name: str, value: str) -> str:
    """Set a kernel setting; return what was done. Who may use Docker need not be root."""
    setting = f"{name.replace('/', '.')} = {value}"
    try:
        (proc / name).write_text(value)
    except PermissionError:
        return f"only root can put back {setting}"
    return f"put back {setting}"


def _clear_docker(before: Before) -> list[str]:
    done = []
    done += [
        f"removed Docker's rules of {firewall}"
        for firewall in FIREWALLS
        if _clear_rules(firewall, before.rules.get(firewall, ""))
    ]
    for path in docker_cgroups():
        if path not in before.cgroups and _remove_cgroup(Path(path)):
            done.append(f"removed {path}")
    if not before.docker_key and KEY.exists():
        KEY.unlink()
        done.append(f"removed {KEY}")
    if not before.docker_folder and KEY.parent.exists() and not any(KEY.parent.iterdir()):
        KEY.parent.rmdir()
    return done


def saved(firewall: str) -> str:
    """Return the rules of a firewall, empty where it does not exist here."""
    try:
        done = subprocess.run([f"{firewall}-save"], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout


def without_docker(rules: str, before: str = "") -> str:
    """Return saved rules without Docker's chains, rules and default policy, but for those of before."""
    known = set(_by_table(before))
    kept = []
    for place, line in zip(_by_table(rules), rules.splitlines(), strict=True):
        if place in known or not any(word in line for word in DOCKER_S):
            is_docker_s_policy = line.startswith(":FORWARD DROP") and place not in known
            kept.append(":FORWARD ACCEPT [0:0]" if is_docker_s_policy else line)
    return "\n".join(kept) + "\n"


def _by_table(rules: str) -> list[tuple[str, str]]:
    """Return each line, without the counters, beside the table it is in."""
    table, found = "", []
    for line in rules.splitlines():
        table = line if line.startswith("*") else table
        found.append((table, line.partition(" [")[0]))
    return found


def _clear_rules(firewall: str, before: str) -> bool:
    rules = saved(firewall)
    wanted = without_docker(rules, before)
    if wanted.splitlines() == rules.splitlines():
        return False
    subprocess.run([f"{firewall}-restore"], check=True, input=wanted, text=True)
    return True


def docker_cgroups(root: Path = Path("/sys/fs/cgroup")) -> list[str]:
    return sorted(str(path) for path in [*root.glob("docker"), *root.glob("*/docker")])


def _remove_cgroup(path: Path) -> bool:
    """Remove a control group and those below it, if no process is in them."""
    try:
        for below in sorted((each for each in path.rglob("*") if each.is_dir()), reverse=True):
            below.rmdir()
        path.rmdir()
    except OSError:
        return False
    return True


def require_inotify(nodes: int, proc: Path = Path("/proc/sys")) -> None:
    """Refuse more nodes than inotify instances allow: systemd and kubelet of one node take 24."""
    limit = int((proc / "fs/inotify/max_user_instances").read_text())
    if limit < nodes * INOTIFY_PER_NODE:
        raise LabError(
            f"A kind cluster of {nodes} nodes takes about {nodes * INOTIFY_PER_NODE} inotify instances, "
            f"fs.inotify.max_user_instances is {limit}. Raise it "
            f"(`sysctl fs.inotify.max_user_instances=512`), or ask for fewer nodes."
        )
