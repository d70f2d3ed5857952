# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role dra_drivers and Helm's releases: what an interrupted run left half done, and charts by digest."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import time
from pathlib import Path

import pytest

import ansible_collections.inference.dra as collection
from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import DAEMON_SETS, SECRETS
from ansible_collections.inference.dra.tests.integration.registries import running_registry

pytestmark = pytest.mark.lab

CHART, VERSION = "dra-driver-noop", "0.1.0"
ROOT = Path(collection.__path__[0])
SOURCE = ROOT / "lab" / "charts" / CHART
LONG_AGO = 400  # seconds; nobody's helm takes so long where 300 are allowed
HELM_REFUSES = {"pending-install": "another operation", "uninstalling": "has no deployed releases"}


def packed(body: dict) -> str:
    """Return a release as Helm 3 and 4 keep it in a Secret."""
    inner = base64.b64encode(gzip.compress(json.dumps(body).encode()))
    return base64.b64encode(inner).decode()


def unpacked(secret: dict) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))


def record(status: str, *, touched: int, revision: int = 1) -> dict:
    """Return helm's record of a release in a status, touched so many seconds ago."""
    body = {
        "name": CHART,
        "info": {"status": status, "first_deployed": "2026-01-01T00:00:00Z"},
        "chart": {"metadata": {"name": CHART, "version": VERSION, "apiVersion": "v2"}},
        "manifest": "",
        "version": revision,
    }
    labels = {"owner": "helm", "name": CHART, "status": status, "version": str(revision)}
    return {
        "metadata": {
            "name": f"sh.helm.release.v1.{CHART}.v{revision}",
            "labels": {**labels, "createdAt": str(int(time.time()) - touched)},
        },
        "type": "helm.sh/release.v1",
        "data": {"release": packed(body)},
    }


@pytest.fixture
def releases(api, namespace):
    """Return a function that returns the status of each revision of the release."""

    def statuses() -> dict[str, str]:
        records = api.list(SECRETS, namespace, label_selector="owner=helm")
        return {
            each["metadata"]["labels"]["version"]: each["metadata"]["labels"]["status"] for each in records
        }

    return statuses


@pytest.fixture
def have_driver(play, namespace, kubeconfig, lab_binaries):
    """Return a function that has the role install the no-op driver's chart, of which a cluster has one."""

    def run(told=lambda _line: None, **variables):
        given = {"dra_drivers_noop_image": {"repository": "r.example/noop", "tag": "1"}, **variables}
        given = {"dra_drivers_noop_chart": str(SOURCE), "dra_drivers_namespace": namespace, **given}
        status, said = play("chart", told, __dra_drivers_driver="noop", **given)
        return status, " ".join(said.split())

    yield run
    helm = [lab_binaries["helm"], "--kubeconfig", kubeconfig, "--namespace", namespace]
    subprocess.run([*helm, "uninstall", CHART, "--ignore-not-found"], check=True, capture_output=True)


def driver(api, namespace) -> list[str]:
    return [each["metadata"]["name"] for each in api.list(DAEMON_SETS, namespace)]


@pytest.mark.parametrize("status", HELM_REFUSES, ids=[f"C50-{status}" for status in HELM_REFUSES])
def test_a_release_that_an_interrupted_run_left_is_installed_anew(
    have_driver, api, namespace, releases, status
):
    api.create(SECRETS, record(status, touched=LONG_AGO), namespace)
    code, said = have_driver()
    assert code == 0, said
    assert HELM_REFUSES[status] in said
    assert f"Release {CHART} in namespace {namespace} is {status}: an interrupted run left it so, 40" in said
    assert releases() == {"1": "deployed"}
    assert driver(api, namespace) == [CHART]


def test_an_interrupted_upgrade_leaves_the_revision_before_it(have_driver, api, namespace, releases):
    assert have_driver()[0] == 0
    api.create(SECRETS, record("pending-upgrade", touched=LONG_AGO, revision=2), namespace)
    code, said = have_driver(dra_drivers_noop_image={"repository": "r.example/noop", "tag": "2"})
    assert code == 0, said
    assert "is pending-upgrade: an interrupted run left it so" in said
    assert releases() == {"1": "superseded", "2": "deployed"}


def test_somebodys_helm_is_waited_for(have_driver, api, namespace, releases):
    """It fails after a while, and takes its record along."""
    api.create(SECRETS, record("pending-install", touched=0), namespace)
    waited = []

    def end_it(line):
        if "RETRYING" in line:
            if not waited:
                api.delete(SECRETS, f"sh.helm.release.v1.{CHART}.v1", namespace)
            waited.append(line)

    code, said = have_driver(end_it)
    assert code == 0, said
    assert "either somebody's helm is at it, or a run was interrupted" in said
    assert "left it so" not in said
    assert len(waited) == 1
    assert releases() == {"1": "deployed"}


def test_what_nobody_touches_any_more_is_waited_for_only_so_long(have_driver, api, namespace, releases):
    api.create(SECRETS, record("pending-install", touched=0), namespace)
    code, said = have_driver(dra_drivers_timeout_seconds=8)
    assert code == 0, said
    assert "an interrupted run left it so" in said
    assert releases() == {"1": "deployed"}


def test_a_second_failure_says_what_helm_said(have_driver, api, namespace):
    api.create(SECRETS, record("pending-install", touched=LONG_AGO), namespace)
    code, said = have_driver(dra_drivers_noop_chart=str(ROOT / "nowhere"))
    assert code != 0
    assert "an interrupted run left it so" in said
    assert "nowhere" in said.rpartition("Installing once more")[2]


def test_a_teardown_finishes_one_that_was_interrupted(have_driver, play, api, namespace, releases):
    """Killed when helm had said in its record that it uninstalls, and had not begun."""
    assert have_driver()[0] == 0
    (secret,) = api.list(SECRETS, namespace, label_selector="owner=helm")
    body = unpacked(secret)
    body["info"]["status"] = "uninstalling"
    change = {"metadata": {"labels": {"status": "uninstalling"}}, "data": {"release": packed(body)}}
    api.merge_patch(SECRETS, secret["metadata"]["name"], change, namespace)
    installer = str(ROOT / "lab" / "manifests" / "nvidia-driver-installer.yaml")
    code, said = play("teardown", dra_drivers_namespace=namespace, dra_drivers_installer=installer)
    assert code == 0, said
    assert (releases(), driver(api, namespace)) == ({}, [])


# Charts by digest


@pytest.fixture(scope="module")
def charts(lab_binaries, tmp_path_factory):
    """The chart in a registry: its reference and its digest."""
    directory = tmp_path_factory.mktemp("registry")

    def helm(*words: str) -> str:
        return subprocess.run(
            [lab_binaries["helm"], *words], check=True, capture_output=True, text=True
        ).stderr

    helm("package", str(SOURCE), "--destination", str(directory))
    with running_registry(lab_binaries["crane"], directory) as host:
        base = f"oci://{host}/charts"
        pushed = helm("push", str(directory / f"{CHART}-{VERSION}.tgz"), base, "--plain-http")
        yield f"{base}/{CHART}", pushed.rpartition("Digest: ")[2].strip()


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_a_chart_of_another_digest_is_refused(have_driver, charts, api, namespace, right):
    reference, digest = charts
    wanted = digest if right else f"sha256:{'0' * 64}"
    chart = {"name": CHART, "ref": reference, "version": VERSION, "digest": wanted, "values": {}}
    code, said = have_driver(dra_drivers_charts={"noop": chart}, dra_drivers_plain_http=True)
    assert (code == 0) is right, said
    assert driver(api, namespace) == ([CHART] if right else [])
    assert (f"chart reference digest mismatch: {digest} is not {wanted}" in said) is not right


def test_a_mirror_has_its_own_digests(have_driver, charts):
    base, _slash, name = charts[0].rpartition("/")
    chart = {"name": name, "ref": "oci://nowhere.example/x", "version": VERSION, "values": {}}
    mirrored = {
        "dra_drivers_chart_base": base,
        "dra_drivers_charts": {"noop": {**chart, "digest": "sha256:0"}},
    }
    code, said = have_driver(dra_drivers_plain_http=True, **mirrored)
    assert code == 0, said
