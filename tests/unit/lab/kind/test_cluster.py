# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine on which kind can't run says why in one sentence; somebody else's cluster is never touched."""

from __future__ import annotations

import os

import pytest

from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.kind import cluster, docker
from ansible_collections.inference.dra.lab.kind.workers import Worker

STATUS = "Name:\tx\nCapBnd:\t000001fffeffffff\nSeccomp:\t0\n"


def program(directory, name, text):
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH with nothing on it but what a test puts there."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


def test_no_docker_program(tmp_path, path):
    with pytest.raises(LabError, match="there is no `docker` on PATH"):
        docker.connect(tmp_path)


def test_no_daemon_and_not_root(tmp_path, path, monkeypatch):
    program(path, "docker", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="only root can start a private one"):
        docker.connect(tmp_path)


def test_no_daemon_and_none_to_start(tmp_path, path, monkeypatch):
    program(path, "docker", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(docker, "daemon_program", lambda: None)
    with pytest.raises(LabError, match="there is no dockerd to start"):
        docker.connect(tmp_path)


def test_no_daemon_and_no_control_groups(tmp_path, path, monkeypatch):
    program(path, "docker", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(docker, "daemon_program", lambda: "/usr/sbin/dockerd")
    monkeypatch.setattr(docker, "missing_controllers", lambda: ["memory"])
    with pytest.raises(LabError, match="this machine has no memory"):
        docker.connect(tmp_path)


def test_a_daemon_that_does_not_come_up_is_an_obstacle_and_leaves_nothing(tmp_path, path, monkeypatch):
    program(path, "docker", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(
        docker, "daemon_program", lambda: str(program(tmp_path, "dockerd", "echo no nat; exit 1"))
    )
    monkeypatch.setattr(docker, "missing_controllers", list)
    found = cluster.Clusters(tmp_path / "home", lambda _line: None)
    assert "A private dockerd did not start: no nat" in found.obstacle()
    assert not (tmp_path / "home" / "host.json").exists()


def test_a_docker_that_answers_is_used_and_no_other_started(tmp_path, path):
    program(path, "docker", "echo 28.0.1")
    found = docker.connect(tmp_path)
    assert not found.private
    assert not (tmp_path / "run").exists()


def test_an_error_of_docker_is_its_last_line_as_a_sentence(path):
    client = docker.Docker(
        program(path, "docker", "echo first >&2; echo no such image >&2; exit 1"), {}, False
    )
    with pytest.raises(LabError, match=r"`docker pull x …` failed: no such image$"):
        client.run("pull", "x")


def test_an_archive_that_docker_refuses_is_an_error_and_not_a_broken_pipe(path):
    client = docker.Docker(program(path, "docker", "echo bad archive >&2; exit 1"), {}, False)
    with pytest.raises(LabError, match="bad archive"), client.feed("import", "-", "x") as pipe:
        for _unused in range(200):
            pipe.write(b"x" * 65536)


@pytest.mark.parametrize(
    ("folders", "unified", "missing"),
    [
        pytest.param(["cpu,cpuacct", "cpuset", "memory", "pids"], None, [], id="version-1-joined"),
        pytest.param(["cpu", "cpuset"], None, ["memory", "pids"], id="version-1-incomplete"),
        pytest.param([], "cpuset cpu io memory pids", [], id="version-2"),
        pytest.param([], None, ["cpu", "cpuset", "memory", "pids"], id="none"),
    ],
)
def test_control_groups(tmp_path, folders, unified, missing):
    for name in folders:
        (tmp_path / name).mkdir()
    if unified:
        (tmp_path / "cgroup.controllers").write_text(unified)
    assert docker.missing_controllers(tmp_path) == missing


@pytest.mark.parametrize(("number", "there"), [(24, False), (21, True)])
def test_capabilities(tmp_path, number, there):
    status = tmp_path / "status"
    status.write_text(STATUS)
    assert docker.has_capability(number, status) is there


@pytest.mark.parametrize("name", ["", "Upper", "a" * 33, "-a", "a_b"])
def test_a_bad_name_is_refused(name):
    with pytest.raises(LabError, match="can't be the name of a kind cluster"):
        cluster.require_name(name)


@pytest.mark.parametrize(
    ("version", "refused"), [("0.33.0", False), ("0.27.0", False), ("0.26.0", True), ("what", True)]
)
def test_an_old_kind_is_refused(tmp_path, version, refused):
    kind = program(tmp_path, "kind", f"echo {version}")
    if refused:
        with pytest.raises(LabError, match=r"0\.27 or newer is needed"):
            cluster.require_kind(kind)
    else:
        cluster.require_kind(kind)


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        pytest.param(
            'Creating "c" ...\nERROR: failed to init node\n\nCommand Output: I1130\nerror: timed out\n',
            "failed to init node: error: timed out",
            id="of-a-program-in-a-node",
        ),
        pytest.param("ERROR: no such image\n", "no such image", id="of-kind-itself"),
        pytest.param("", "it printed nothing", id="killed"),
    ],
)
def test_an_error_of_kind_is_a_sentence(printed, said):
    assert cluster.said_by_kind(printed).removeprefix("ERROR: ") == said


def clusters(tmp_path, path, *, listed):
    """A machine whose Docker lists these containers for every cluster."""
    lines = "".join(f"echo '{line}';" for line in listed) or ":"
    program(path, "docker", f'case "$1" in ps) {lines} ;; *) echo 28 ;; esac')
    return cluster.Clusters(tmp_path / "home", lambda _line: None)


def test_a_cluster_that_somebody_else_made_is_refused_and_not_removed(tmp_path, path):
    found = clusters(tmp_path, path, listed=["c-control-plane aaa"])
    with pytest.raises(LabError, match="exists that was not made here"):
        found.state("c", 4)
    with pytest.raises(LabError, match="exists that was not made here"):
        found.down("c")


def record(found, containers):
    found._write("c", cluster.Record(containers=containers))


def test_a_cluster_of_ours_is_present(tmp_path, path):
    found = clusters(tmp_path, path, listed=["c-control-plane aaa", "c-worker bbb"])
    record(found, {"c-control-plane": "aaa", "c-worker": "bbb"})
    assert found.state("c", 1) == "present"
    assert found.state("c", 4) == "it has 1 workers instead of 4"


def test_a_cluster_whose_node_is_gone_says_so(tmp_path, path):
    found = clusters(tmp_path, path, listed=["c-control-plane aaa"])
    record(found, {"c-control-plane": "aaa", "c-worker": "bbb"})
    assert found.state("c", 1) == "c-worker is not running"


def test_another_container_under_the_name_of_ours_is_not_ours(tmp_path, path):
    found = clusters(tmp_path, path, listed=["c-control-plane zzz"])
    record(found, {"c-control-plane": "aaa"})
    with pytest.raises(LabError, match="was not made here"):
        found.state("c", 0)


def test_removing_nothing_is_nothing(tmp_path, path):
    assert clusters(tmp_path, path, listed=[]).down("c") == []


def test_too_few_inotify_instances_are_said_before_anything_is_made(tmp_path, path, monkeypatch):
    found = clusters(tmp_path, path, listed=[])
    monkeypatch.setattr(cluster.host, "INOTIFY_PER_NODE", 1 << 40)
    with pytest.raises(LabError, match=r"fs\.inotify\.max_user_instances is"):
        found.up("c", [Worker("pool", {}, [])])
    assert found.names() == []
    assert not (tmp_path / "home" / "host.json").exists()


@pytest.mark.parametrize(
    ("kind", "disk_bytes", "said"),
    [
        pytest.param("0.26.0", 0, r"is kind 0\.26\.0; 0\.27 or newer is needed", id="old-kind"),
        pytest.param("0.33.0", 1 << 60, "Free some space or set DRA_LAB_CACHE", id="too-little-disk"),
    ],
)
def test_what_shows_while_a_cluster_is_made_leaves_nothing(
    tmp_path, path, monkeypatch, *, kind, disk_bytes, said
):
    monkeypatch.setattr(cluster.node_image.debian, "DISK_BYTES", disk_bytes)
    monkeypatch.setenv("DRA_LAB_BIN", str(path))
    monkeypatch.setenv("DRA_LAB_MIRROR", "off")
    for name in ("kubectl", "helm"):
        program(path, name, ":")
    program(path, "kind", f"echo {kind}")
    program(path, "docker", 'case "$1" in version) echo 28 ;; esac')
    found = cluster.Clusters(tmp_path / "home", lambda _line: None)
    with pytest.raises(LabError, match=said):
        found.up("c", [Worker("pool", {}, [])])
    assert [each.name for each in (tmp_path / "home").rglob("*") if each.is_file()] == ["lock"]
    assert found.leftovers("c") == []


def test_no_docker_is_said_and_nothing_is_half_made(tmp_path, path):
    found = cluster.Clusters(tmp_path / "home", lambda _line: None)
    with pytest.raises(LabError, match="there is no `docker` on PATH"):
        found.up("c", [Worker("pool", {}, [])])
    assert sorted(each.name for each in (tmp_path / "home").iterdir()) == ["lock"]
    assert found.names() == []
    assert found.leftovers("c") == []


def test_a_private_daemon_that_an_interrupted_run_left_is_stopped(tmp_path, path, monkeypatch):
    class Left:
        running = True

        def __init__(self, home, clock):
            pass

        def stop(self):
            return True

    found = clusters(tmp_path, path, listed=[])
    monkeypatch.setattr(cluster, "Daemon", Left)
    assert found.down("c") == ["stopped the private dockerd"]


def test_a_killed_daemon_is_started_again_to_remove_its_containers(tmp_path, path, monkeypatch):
    found = clusters(tmp_path, path, listed=["c-control-plane aaa"])
    record(found, {"c-control-plane": "aaa"})
    client = docker.find(found.directory)
    monkeypatch.setattr(cluster, "find", lambda _home: None)
    monkeypatch.setattr(cluster, "connect", lambda _home, _say: client)
    assert found.down("c") == ["removed c-control-plane"]


def test_a_cluster_whose_docker_is_gone_stays_on_record_and_says_why(tmp_path, path):
    found = cluster.Clusters(tmp_path / "home", lambda _line: None)
    record(found, {"c-control-plane": "aaa"})
    with pytest.raises(LabError, match="there is no `docker` on PATH"):
        found.down("c")
    assert found.names() == ["c"]
