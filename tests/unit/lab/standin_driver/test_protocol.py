# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages are upstream's, field by field, and both services answer over a socket."""

from __future__ import annotations

import re
from pathlib import Path

import grpc
import pytest

from ansible_collections.inference.dra.lab.standin_driver import protocol
from ansible_collections.inference.dra.lab.standin_driver.plugin import Places, Plugin

UPSTREAM = {
    protocol.DRA: "pkg/apis/dra/v1/api.proto",
    protocol.REGISTRATION: "pkg/apis/pluginregistration/v1/api.proto",
}
FIELD = re.compile(
    r"^\s*((?:repeated |optional )?)(map<string, *(\w+)>|\w+)\s+(\w+)\s*=\s*(\d+);", re.MULTILINE
)


def upstream_messages(text):
    """Return the messages of a proto file in the form of ``protocol.MESSAGES``."""
    found = {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        found[name] = {}
        for label, kind, of, field, number in FIELD.findall(body):
            shape = f"map {of}" if of else f"{label.replace('optional ', '')}{kind}"
            found[name][field] = (int(number), shape)
    return found


@pytest.mark.parametrize("package", sorted(UPSTREAM))
def test_the_table_is_upstream_s(package):
    modules = Path.home() / "go/pkg/mod/k8s.io"
    sources = sorted(modules.glob(f"kubelet@v0.3*/{UPSTREAM[package]}"))
    if not sources:
        pytest.skip("the source of k8s.io/kubelet is not in the Go module cache")
    assert protocol.MESSAGES[package] == upstream_messages(sources[-1].read_text())


class Recorder:
    """A driver that answers what a test wants."""

    name = "dra.cpu"

    def prepare(self, request, _context):
        answer = protocol.message(protocol.DRA, "NodePrepareResourcesResponse")()
        device = protocol.message(protocol.DRA, "Device")(
            request_names=["device"], pool_name="n1", device_name="d", cdi_device_ids=["k=a"], share_id="s"
        )
        for claim in request.claims:
            one = protocol.message(protocol.DRA, "NodePrepareResourceResponse")(devices=[device])
            answer.claims[claim.uid].CopyFrom(one)
        return answer

    def unprepare(self, request, _context):
        answer = protocol.message(protocol.DRA, "NodeUnprepareResourcesResponse")()
        for claim in request.claims:
            one = protocol.message(protocol.DRA, "NodeUnprepareResourceResponse")(error="busy")
            answer.claims[claim.uid].CopyFrom(one)
        return answer


@pytest.fixture
def kubelet(tmp_path):
    """Call a method of a registered driver as kubelet would."""
    registered = []
    places = Places(tmp_path / "plugins", tmp_path / "registry")
    plugin = Plugin(Recorder(), places, lambda: registered.append(True))
    plugin.start()

    def call(service, method, request, socket=None):
        package = service.rpartition(".")[0]
        takes, gives = protocol.SERVICES[service][method]
        path = socket or places.registration("dra.cpu")
        with grpc.insecure_channel(f"unix://{path}") as channel:
            invoke = channel.unary_unary(
                f"/{service}/{method}",
                request_serializer=protocol.message(package, takes).SerializeToString,
                response_deserializer=protocol.message(package, gives).FromString,
            )
            return invoke(protocol.message(package, takes)(**request), timeout=10)

    call.registered, call.places, call.plugin = registered, places, plugin
    yield call
    plugin.stop()


def test_registration_leads_to_the_driver_s_own_socket(kubelet):
    info = kubelet("pluginregistration.Registration", "GetInfo", {})
    assert (info.type, info.name) == ("DRAPlugin", "dra.cpu")
    assert list(info.supported_versions) == ["v1.DRAPlugin"]
    assert Path(info.endpoint).is_socket()


@pytest.mark.parametrize(("taken", "times"), [(True, 1), (False, 0)])
def test_slices_are_published_again_whenever_kubelet_took_the_driver_in(kubelet, taken, times):
    status = {"plugin_registered": taken, "error": "" if taken else "no"}
    kubelet("pluginregistration.Registration", "NotifyRegistrationStatus", status)
    assert len(kubelet.registered) == times


def test_every_claim_gets_its_own_answer(kubelet):
    socket = kubelet.places.endpoint("dra.cpu")
    claims = [{"namespace": "d", "uid": "u1", "name": "a"}, {"namespace": "d", "uid": "u2", "name": "b"}]
    found = kubelet(f"{protocol.DRA}.DRAPlugin", "NodePrepareResources", {"claims": claims}, socket)
    assert sorted(found.claims) == ["u1", "u2"]
    assert found.claims["u1"].devices[0].share_id == "s"
    found = kubelet(f"{protocol.DRA}.DRAPlugin", "NodeUnprepareResources", {"claims": claims}, socket)
    assert found.claims["u2"].error == "busy"


def test_a_driver_that_stops_leaves_no_socket(kubelet):
    kubelet.plugin.stop()
    assert not kubelet.places.registration("dra.cpu").exists()
    assert not kubelet.places.endpoint("dra.cpu").exists()
