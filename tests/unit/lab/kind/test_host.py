# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is changed on the machine is remembered once, put back, and nothing else is touched."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.kind import host

RULES = """\
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [5:300]
:DOCKER - [0:0]
:DOCKER-USER - [0:0]
-A INPUT -s 10.0.0.0/8 -j ACCEPT
-A FORWARD -j DOCKER-USER
-A FORWARD -o br-0d5a -j ACCEPT
-A FORWARD -i eth1 -j ACCEPT
COMMIT
"""


def test_docker_s_chains_go_and_everybody_else_s_rules_stay():
    assert host.without_docker(RULES).splitlines() == [
        "*filter",
        ":INPUT ACCEPT [0:0]",
        ":FORWARD ACCEPT [0:0]",
        "-A INPUT -s 10.0.0.0/8 -j ACCEPT",
        "-A FORWARD -i eth1 -j ACCEPT",
        "COMMIT",
    ]


def test_rules_that_were_there_before_stay_in_their_table():
    before = RULES.replace("-A FORWARD -o br-0d5a -j ACCEPT\n", "").replace("[5:300]", "[0:0]")
    assert host.without_docker(RULES, before).splitlines() == [
        line for line in RULES.splitlines() if "br-0d5a" not in line
    ]
    elsewhere = "*nat\n:FORWARD DROP [0:0]\n:DOCKER - [0:0]\nCOMMIT\n"
    assert "DOCKER" not in host.without_docker(RULES, elsewhere)


@pytest.fixture
def proc(tmp_path):
    for name, value in {
        "vm/overcommit_memory": "0",
        "kernel/panic": "1",
        "kernel/panic_on_oops": "0",
    }.items():
        path = tmp_path / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n")
    return tmp_path / "proc"


def remember(path, proc, monkeypatch):
    monkeypatch.setattr(host, "look", lambda: look(proc))
    host.remember(path)


look = host.look


def test_changed_settings_are_put_back_and_named(tmp_path, proc, monkeypatch):
    record = tmp_path / "host.json"
    remember(record, proc, monkeypatch)
    (proc / "vm/overcommit_memory").write_text("1")
    assert host.put_back(record, daemon_was_ours=False, proc=proc) == ["put back vm.overcommit_memory = 0"]
    assert (proc / "vm/overcommit_memory").read_text() == "0"
    assert not record.exists()


def test_a_second_cluster_does_not_remember_what_the_first_one_changed(tmp_path, proc, monkeypatch):
    record = tmp_path / "host.json"
    remember(record, proc, monkeypatch)
    (proc / "kernel/panic").write_text("10")
    remember(record, proc, monkeypatch)
    host.put_back(record, daemon_was_ours=False, proc=proc)
    assert (proc / "kernel/panic").read_text() == "1"


def test_what_only_root_may_put_back_is_said_and_the_rest_done(tmp_path, proc, monkeypatch):
    record = tmp_path / "host.json"
    remember(record, proc, monkeypatch)
    (proc / "kernel/panic").write_text("10")
    (proc / "vm/overcommit_memory").write_text("1")

    def refuse(path, text):
        if path.name == "overcommit_memory":
            raise PermissionError
        path.write_bytes(text.encode())

    monkeypatch.setattr(host.Path, "write_text", refuse)
    assert host.put_back(record, daemon_was_ours=False, proc=proc) == [
        "put back kernel.panic = 1",
        "only root can put back vm.overcommit_memory = 0",
    ]


def test_nothing_is_put_back_where_nothing_was_remembered(tmp_path, proc):
    assert host.put_back(tmp_path / "host.json", daemon_was_ours=True, proc=proc) == []


@pytest.mark.parametrize(
    ("instances", "nodes", "refused"), [(128, 5, False), (128, 6, True), (8192, 20, False)]
)
def test_more_nodes_than_inotify_allows_are_refused(tmp_path, instances, nodes, refused):
    limit = tmp_path / "fs/inotify/max_user_instances"
    limit.parent.mkdir(parents=True)
    limit.write_text(f"{instances}\n")
    if refused:
        with pytest.raises(LabError, match=r"fs\.inotify\.max_user_instances is 128"):
            host.require_inotify(nodes, tmp_path)
    else:
        host.require_inotify(nodes, tmp_path)
