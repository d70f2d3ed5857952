# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left on the machine is named by kind; what changes by itself is not."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.lab.kind import traces

BEFORE = {"kernel settings": ["vm.overcommit_memory = 0"], "mounts": ["/", "/tmp"], "containers": []}


@pytest.mark.parametrize(
    ("after", "said"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"mounts": ["/tmp", "/"]}, [], id="another-order"),
        pytest.param(
            {"kernel settings": ["vm.overcommit_memory = 1"]},
            ["Of the kernel settings, new are vm.overcommit_memory = 1; gone are vm.overcommit_memory = 0."],
            id="a-setting-that-was-not-put-back",
        ),
        pytest.param(
            {"kernel settings": ["net.nf_conntrack_max = 9", "vm.overcommit_memory = 0"]},
            [],
            id="a-setting-that-came-with-a-module",
        ),
        pytest.param(
            {"mounts": ["/", "/", "/tmp"]}, ["Of the mounts, new are /."], id="a-mount-over-a-mount"
        ),
        pytest.param({"mounts": ["/"]}, ["Of the mounts, gone are /tmp."], id="a-mount-too-few"),
        pytest.param({"containers": ["aa", "bb"]}, ["Of the containers, new are aa, bb."], id="containers"),
    ],
)
def test_differences(after, said):
    assert traces.differences(BEFORE, {**BEFORE, **after}) == said


def test_the_records_of_a_cluster_and_a_private_daemon_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    before = traces.look(tmp_path)
    for name in ("run", "clusters/one", "docker"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "host.json").touch()
    after = traces.look(tmp_path)
    assert after["records"] == [str(tmp_path / name) for name in ("clusters/one", "host.json", "run")]
    assert before["records"] == []


def test_every_running_program_counts_and_one_that_ended_does_not():
    lines = ["Ss   dockerd", "Zs   dockerd", "Sl   containerd-shim", "Sl   containerd-shim", "S    bash"]
    assert traces.running_programs(lines) == ["containerd-shim", "containerd-shim", "dockerd"]


def test_where_nothing_happened_nothing_differs(tmp_path):
    assert traces.differences(traces.look(tmp_path), traces.look(tmp_path)) == []
