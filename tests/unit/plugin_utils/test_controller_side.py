# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a module's work is done: in Ansible's own process, or as the plain module."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from ansible.module_utils.basic import env_fallback

from ansible_collections.inference.dra.plugins.plugin_utils.controller_side import (
    Talking,
    TalkingWithLibraries,
)

VARIABLE, SECRET = "DRA_TEST_PLACE", "DRA_TEST_TOKEN"
THE_MODULE = {"done": "by the module"}


class Work:
    """Some work that ends with its options and what programs of it would inherit."""

    def argument_spec(self):
        return {
            "place": {"type": "str", "fallback": (env_fallback, [VARIABLE])},
            "number": {"type": "int"},
            "token": {"type": "str", "no_log": True, "fallback": (env_fallback, [SECRET])},
        }

    def work(self, here):
        here.log(f"with {here.params['token']}")
        here.exit_json(**here.params, inherited=os.environ.get(VARIABLE), check_mode=here.check_mode)

    def _execute_module(self, task_vars, wrap_async):
        return THE_MODULE | {"in_background": wrap_async}


class Dependent(Work, Talking):
    def dependencies(self):
        return {"required_by": {"number": ("place",)}}


class Plain(Work, Talking):
    pass


class NeedsLibraries(Work, TalkingWithLibraries):
    pass


def run(kind, *, transport="local", become=None, async_val=0, interpreter="", environment=(), **args):
    task = SimpleNamespace(
        async_val=async_val,
        check_mode=True,
        environment=list(environment),
        args=args,
        diff=False,
        action="inference.dra.some_module",
    )
    connection = SimpleNamespace(transport=transport, become=become, _shell=SimpleNamespace(tmpdir=None))
    templar = SimpleNamespace(template=lambda value: value)
    return kind(task, connection, None, None, templar, None).run(
        task_vars={"ansible_python_interpreter": interpreter}
    )


@pytest.mark.parametrize(
    ("kind", "circumstances", "background"),
    [
        pytest.param(Plain, {"transport": "ssh"}, False, id="another-host"),
        pytest.param(Plain, {"become": "sudo"}, False, id="another-user"),
        pytest.param(Plain, {"async_val": 60}, True, id="in-the-background"),
        pytest.param(NeedsLibraries, {"interpreter": "/usr/bin/other"}, False, id="libraries-elsewhere"),
        pytest.param(NeedsLibraries, {"interpreter": None}, False, id="a-Python-still-to-be-found"),
        pytest.param(
            NeedsLibraries,
            {"interpreter": sys.executable, "transport": "ssh"},
            False,
            id="the-same-path-on-another-host",
        ),
    ],
)
def test_the_module_does_it(kind, circumstances, background):
    result = run(kind, **circumstances)
    assert result == THE_MODULE | {"in_background": background}


@pytest.mark.parametrize(
    ("kind", "interpreter"), [(Plain, "/usr/bin/other"), (NeedsLibraries, sys.executable)]
)
def test_it_is_done_here_with_the_environment_of_the_task(kind, interpreter, monkeypatch):
    monkeypatch.setenv(VARIABLE, "before")
    given = [{VARIABLE: "there"}, {"DRA_TEST_NUMBER": 7}]
    result = run(kind, interpreter=interpreter, environment=given, number="3")
    assert result["place"] == result["inherited"] == "there"
    assert (result["number"], result["check_mode"]) == (3, True)
    assert os.environ[VARIABLE] == "before"
    assert "DRA_TEST_NUMBER" not in os.environ


def test_options_that_need_others_are_refused_without_them():
    with pytest.raises(AnsibleActionFail, match="required by 'number': place"):
        run(Dependent, number="3")
    assert run(Dependent, number="3", place="here")["place"] == "here"


@pytest.mark.parametrize("given", ["option", "environment"])
def test_a_secret_is_neither_printed_nor_returned(given, monkeypatch, capsys):
    if given == "environment":
        monkeypatch.setenv(SECRET, "hush-hush")
        result = run(Plain)
    else:
        result = run(Plain, token="hush-hush")
    printed = capsys.readouterr().out
    assert "with " in printed
    assert "hush-hush" not in printed + str(result)
