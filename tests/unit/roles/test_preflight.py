# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which APIs the role preflight has enabled, and that google.cloud's module takes what the role gives it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles" / "preflight"
MODULE = "google.cloud.gcp_serviceusage_service"
CONTAINER, COMPUTE, ARTIFACTS = (
    f"{name}.googleapis.com" for name in ("container", "compute", "artifactregistry")
)
MINE = [CONTAINER, COMPUTE]


def trusted(value):
    """Return variables as Ansible loads them from files: their templates may be rendered."""
    if isinstance(value, dict):
        return {name: trusted(each) for name, each in value.items()}
    return trust_as_template(value) if isinstance(value, str) else value


def templated(template, **given):
    """Return what a template says to the role's variables, and what is given beside them."""
    variables = yaml.safe_load((ROLE / "vars" / "main.yml").read_text()) | given
    return Templar(DataLoader(), trusted(variables)).template(trusted(template))


@pytest.mark.parametrize(
    ("named", "answer", "expected"),
    [
        pytest.param(MINE, {CONTAINER: "DISABLED", COMPUTE: "ENABLED"}, [CONTAINER], id="one-is-not"),
        pytest.param(MINE, {CONTAINER: "ENABLED", COMPUTE: "ENABLED"}, [], id="all-are"),
        pytest.param(MINE, {CONTAINER: "ENABLED", ARTIFACTS: "DISABLED"}, [], id="not-named"),
        pytest.param([], {CONTAINER: "DISABLED"}, [], id="none-named"),
        pytest.param(MINE, {}, [], id="nobody-may-read-it"),
        pytest.param(MINE, None, [], id="google-not-asked"),
    ],
)
def test_those_are_enabled_that_are_named_and_are_not_enabled_yet(named, answer, expected):
    google = {} if answer is None else {"services": answer}
    given = {"preflight_services": named, "__preflight_google": google}
    assert templated("{{ __preflight_disabled }}", **given) == expected


@pytest.mark.parametrize(
    ("engine", "more"),
    [
        ("docker", []),
        ("cloud_build", ["cloudbuild.googleapis.com", "storage.googleapis.com"]),
    ],
)
def test_the_inventory_names_what_its_engine_needs(engine, more):
    def services(inventory):
        path = ROOT / "inventories" / inventory / "group_vars" / "all" / "environment.yml"
        return yaml.safe_load(path.read_text())["preflight_services"]

    found = templated(services("gke"), container_images_engine=engine)
    assert found == [CONTAINER, COMPUTE, ARTIFACTS, *more]
    assert services("gke_three") == services("gke")
    assert services("lab") == []


class Asked(Exception):
    """What a module states that it takes."""


def stated_options(monkeypatch) -> dict:
    """Return the argument spec that the installed google.cloud's own module makes."""
    module = pytest.importorskip(
        f"ansible_collections.google.cloud.plugins.modules.{MODULE.rpartition('.')[2]}"
    )
    utils = importlib.import_module(module.GcpModule.__module__)

    def remember(_self, *, argument_spec, **_more):
        raise Asked(argument_spec)

    monkeypatch.setattr(utils.AnsibleModule, "__init__", remember)
    with pytest.raises(Asked) as asked:
        module.main()
    return asked.value.args[0]


@pytest.mark.parametrize(
    ("variable", "environment", "kind"),
    [
        pytest.param("", "", "application", id="by-default"),
        pytest.param("", "serviceaccount", "serviceaccount", id="as-the-modules-take-it"),
        pytest.param("machineaccount", "serviceaccount", "machineaccount", id="stated"),
    ],
)
def test_google_clouds_module_takes_what_it_is_given(monkeypatch, variable, environment, kind):
    monkeypatch.setenv("GCP_AUTH_KIND", environment)
    monkeypatch.setenv("GCP_PROJECT", "my-project")
    tasks = yaml.safe_load((ROLE / "tasks" / "services.yml").read_text())
    (task,) = [each for each in tasks if MODULE in each]
    given = templated(task[MODULE], item=CONTAINER, preflight_auth_kind=variable)
    checked = ArgumentSpecValidator(stated_options(monkeypatch)).validate(given)
    assert checked.error_messages == []
    taken = checked.validated_parameters
    assert (taken["name"], taken["state"], taken["auth_kind"]) == (CONTAINER, "present", kind)
