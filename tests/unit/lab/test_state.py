# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab's own record, its ports, its processes, and the sentences of the command about them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import pytest

from ansible_collections.inference.dra.lab import cli, state
from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.processes import Processes, Program, start_time
from ansible_collections.inference.dra.lab.state import PORT_ROLES, Wishes


@pytest.fixture(autouse=True)
def labs(tmp_path, monkeypatch):
    monkeypatch.setenv("DRA_LAB_STATE", str(tmp_path))
    return tmp_path


def test_a_lab_is_found_again_as_it_was_made():
    made = state.create("one", Wishes(speed=7.5, project="p", seed=3, optimistic=True))
    assert state.load("one") == made
    assert (made.speed, made.project, made.seed, made.optimistic) == (7.5, "p", 3, True)
    assert made.directory.stat().st_mode & 0o777 == 0o700


def test_labs_side_by_side_share_no_port():
    first, second = state.create("one", Wishes()), state.create("two", Wishes())
    assert set(first.ports) == set(PORT_ROLES)
    assert not set(first.ports.values()) & set(second.ports.values())


def test_a_port_in_use_is_passed_over():
    with socket.socket() as busy:
        port = state.free_ports(set())["google"]
        with suppress(OSError):  # somebody else took it meanwhile, which will do
            busy.bind(("127.0.0.1", port))
            busy.listen()
        assert port not in state.free_ports(set()).values()


@pytest.mark.parametrize("name", ["", "Big", "a_b", "-a", "a-", "../a", "a" * 33])
def test_names_that_can_not_be_directories_are_refused(name):
    with pytest.raises(LabError, match="small letters"):
        state.directory_of(name)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ports": {}, "colour": 1}'])
def test_a_state_that_can_not_be_read_says_how_to_go_on(labs, text):
    (labs / "old").mkdir()
    (labs / "old" / "lab.json").write_text(text)
    with pytest.raises(LabError, match="dra-lab down --name old"):
        state.load("old")


SENTENCES = {
    "status": (["status"], "dra-lab up --name default"),
    "env": (["env"], "There is no lab 'default'"),
    "logs": (["logs", "daemon"], "There is no lab"),
    "fault": (["fault", "list"], "There is no lab"),
}


@pytest.mark.parametrize(("words", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_a_command_about_no_lab_is_one_sentence(capsys, words, sentence):
    assert cli.main(words) == cli.FAILED
    said = capsys.readouterr()
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1
    assert not said.out


def test_down_of_no_lab_is_fine(capsys):
    assert cli.main(["down"]) == cli.OK
    assert "nothing to do" in capsys.readouterr().out


def test_a_log_that_is_not_there_names_those_that_are(capsys):
    lab = state.create("one", Wishes())
    (lab.directory / "logs").mkdir()
    (lab.directory / "logs" / "daemon.log").write_text("1\n2\n3\n")
    assert cli.main(["logs", "nobody", "--name", "one"]) == cli.FAILED
    assert "it has daemon" in capsys.readouterr().err
    assert cli.main(["logs", "daemon", "--name", "one", "--lines", "2"]) == cli.OK
    assert capsys.readouterr().out == "2\n3\n"


def test_a_process_is_known_by_its_start_and_ended_with_what_it_is(tmp_path):
    processes = Processes(tmp_path)
    processes.start(Program("sleeper", [sys.executable, "-c", "import signal; signal.pause()"]))
    pid = processes.pid("sleeper")
    assert processes.alive("sleeper")
    processes.start(Program("sleeper", ["/bin/false"]))
    assert processes.pid("sleeper") == pid  # started once
    processes.signal("sleeper", signal.SIGSTOP)
    processes.stop(["sleeper"])  # a paused process ends as well
    assert start_time(pid) == ""
    assert processes.names() == []
    with pytest.raises(ChildProcessError):  # it was collected, no zombie stays
        os.waitpid(pid, 0)


def test_another_process_of_the_same_number_is_not_ours(tmp_path):
    processes = Processes(tmp_path)
    processes.pids.mkdir()
    (processes.pids / "old").write_text(f"{os.getpid()} 1\n")
    assert not processes.alive("old")
    with pytest.raises(LabError, match="dra-lab up"):
        processes.signal("old", signal.SIGTERM)
    processes.stop(["old"])  # this test would not survive it


def test_a_process_that_ended_and_was_not_collected_is_not_alive(tmp_path):
    with subprocess.Popen(["/bin/true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert start_time(ended.pid) == ""
