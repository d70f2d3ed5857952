# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a vLLM container makes of its hardware, how fast it is, and what it answers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from datetime import datetime, timezone

import pytest

from ansible_collections.inference.dra.lab.serving import profiles, startup
from ansible_collections.inference.dra.lab.serving.engine import Engine
from ansible_collections.inference.dra.lab.serving.openai_api import Server
from ansible_collections.inference.dra.lab.serving.pods import hardware_of
from ansible_collections.inference.dra.lab.serving.ports import Ports
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import ManualClock

L4 = startup.Hardware("nvidia-l4", 1, 8)
CPUS = startup.Hardware("", 0, 12)


def container(image="x/vllm-gpu:1", **more):
    return {"name": "m", "image": image, **more}


@pytest.mark.parametrize(
    ("image", "build"),
    [
        ("vllm/vllm-openai:latest", "cuda"),
        ("vllm/vllm-openai-cpu:latest", "cpu"),
        ("europe-docker.pkg.dev/cpu-project/r/vllm-gpu@sha256:00", "cuda"),
        ("127.0.0.1:5000/p/vllm-gemma4-cpu:1", "cpu"),
    ],
)
def test_build_is_read_from_the_images_own_name(image, build):
    assert startup.build_of(image) == build


@pytest.mark.parametrize(
    ("found", "model", "port"),
    [
        pytest.param(container(), startup.DEFAULT_MODEL, 8000, id="hidden-in-the-image"),
        pytest.param(container(args=["--model=a/b-8B", "--port", "9"]), "a/b-8B", 9, id="arguments"),
        pytest.param(container(command=["vllm", "serve", "a/b"]), "a/b", 8000, id="vllm-serve"),
        pytest.param(container(args=["exec python3 -m x --model=a/b"]), "a/b", 8000, id="shell"),
        pytest.param(container(ports=[{"containerPort": 8200}]), startup.DEFAULT_MODEL, 8200, id="port"),
    ],
)
def test_settings(found, model, port):
    settings = startup.settings_of(found)
    assert (settings.model, settings.port) == (model, port)


@pytest.mark.parametrize(
    ("image", "hardware", "profile", "dies_with"),
    [
        pytest.param("vllm-gpu", L4, "NVIDIA L4", "", id="gpu-on-gpu"),
        pytest.param("vllm-cpu", CPUS, "12 vCPUs", "", id="cpu-on-cpus"),
        pytest.param("vllm-gpu", CPUS, None, "RuntimeError: Failed to infer device type", id="gpu-on-cpus"),
        pytest.param("vllm-cpu", L4, "8 vCPUs", "", id="cpu-beside-a-gpu-serves-slowly"),
    ],
)
def test_image_and_hardware(image, hardware, profile, dies_with):
    found = startup.plan(startup.settings_of(container(image)), hardware)
    assert found.dies_with == dies_with
    assert profile in (None, found.profile.name)
    assert startup.lines(found)[-1] == (dies_with or "INFO:     Application startup complete.")


def test_weights_that_do_not_fit_end_the_server():
    settings = startup.settings_of(container(args=["--model=a/b-70B"]))
    assert "OutOfMemory" in startup.plan(settings, L4).dies_with
    eight = startup.Hardware("nvidia-h200-141gb", 8)
    assert startup.plan(settings, eight).dies_with == ""


@pytest.mark.parametrize(
    ("name", "billions"),
    [("a/b-8B", 8), ("google/gemma-4-E2B-it", 2), ("q/x-30B-A3B", 3), ("m/no-size", 2), ("l-0.5b-x", 0.5)],
)
def test_size_stands_in_the_name(name, billions):
    assert profiles.model_of(name).parameters == billions * 1e9


def test_faster_memory_serves_faster():
    model = profiles.model_of("a/b-8B")
    seconds = [
        profiles.cpu_profile(12).token_seconds(model),
        profiles.gpu_profile("nvidia-l4", 1).token_seconds(model),
        profiles.gpu_profile("nvidia-h100-80gb", 1).token_seconds(model),
        profiles.gpu_profile("nvidia-h200-141gb", 1).token_seconds(model),
    ]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[1] == pytest.approx(16 / (0.6 * 300))


def engine(clock, hardware=L4, image="vllm-gpu"):
    return Engine(startup.plan(startup.settings_of(container(image)), hardware), clock)


def test_an_answer_takes_the_time_of_its_profile():
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
    serving = engine(clock)
    words = list(serving.generate(serving.answer("one two", 11)))
    profile, model = serving.plan.profile, serving.plan.model
    wanted = profile.first_token_seconds(model, 2) + 10 * profile.token_seconds(model)
    assert len(words) == 11
    assert clock.monotonic() == pytest.approx(wanted)
    assert "vllm:generation_tokens_total" in serving.metrics()
    assert 'finished_reason="length"} 1' in serving.metrics()


def test_the_same_prompt_gets_the_same_answer():
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert engine(clock).answer("x", 20) == engine(clock).answer("x", 20)
    assert engine(clock).answer("x", 20) != engine(clock).answer("y", 20)


@pytest.fixture
def url():
    ports = Ports()
    server = Server(engine(ManualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))))
    server.ready = True
    yield f"http://127.0.0.1:{ports.open(server.serve)}", server
    ports.stop()


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        pytest.param("/health", None, 200, "", id="health"),
        pytest.param("/v1/models", None, 200, '"max_model_len": 8192', id="models"),
        pytest.param("/metrics", None, 200, "vllm:time_to_first_token_seconds_bucket", id="metrics"),
        pytest.param("/nothing", None, 404, "Not Found", id="unknown-path"),
        pytest.param("/v1/completions", {"prompt": "x"}, 200, '"completion_tokens": 16', id="completion"),
        pytest.param(
            "/v1/chat/completions",
            {"messages": MESSAGES, "max_tokens": 3},
            200,
            '"finish_reason": "length"',
            id="chat",
        ),
        pytest.param(
            "/v1/chat/completions",
            {
                "messages": MESSAGES,
                "max_tokens": 2,
                "stream": True,
                "stream_options": {"include_usage": True},
            },
            200,
            '"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}\n\ndata: [DONE]',
            id="stream-with-usage",
        ),
        pytest.param(
            "/v1/chat/completions",
            {"messages": MESSAGES, "model": "x"},
            404,
            "does not exist",
            id="other-model",
        ),
        pytest.param("/v1/chat/completions", {}, 400, "messages", id="no-messages"),
        pytest.param(
            "/v1/completions",
            {"prompt": "x", "max_tokens": 9000},
            400,
            "maximum context length",
            id="too-long",
        ),
    ],
)
def test_http(url, path, body, status, text):
    address, _unused = url
    found, answer = ask(address + path, body)
    assert found == status
    assert text in answer


def test_until_the_model_is_loaded_it_answers_503(url):
    address, server = url
    server.ready = False
    assert ask(f"{address}/health")[0] == 503
    assert ask(f"{address}/v1/chat/completions", {"messages": MESSAGES})[0] == 503


def claim(*results):
    return {"status": {"allocation": {"devices": {"results": list(results)}}}}


GPU_RESULT = {"driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0"}
CPU_RESULT = {"driver": "dra.cpu", "consumedCapacity": {"dra.cpu/cpu": "12"}}
GATE = {"driver": "image-configurator.x-k8s.io", "pool": "all-nodes"}


@pytest.mark.parametrize(
    ("accelerator", "spec", "claims", "wanted"),
    [
        pytest.param("nvidia-l4", {}, [claim(GPU_RESULT, GATE)], (1, 16), id="gpu-claim"),
        pytest.param("", {}, [claim(CPU_RESULT, GATE)], (0, 12), id="cpu-claim"),
        pytest.param(
            "", {}, [claim({"driver": "dra.cpu"}, {"driver": "dra.cpu"})], (0, 2), id="individual-cpus"
        ),
        pytest.param(
            "nvidia-l4", {"resources": {"limits": {"nvidia.com/gpu": "1"}}}, [], (1, 16), id="device-plugin"
        ),
        pytest.param("nvidia-l4", {}, [], (0, 16), id="gpu-node-without-a-claim"),
    ],
)
def test_hardware_is_what_the_pod_got(accelerator, spec, claims, wanted):
    labels = {"cloud.google.com/gke-accelerator": accelerator, "cloud.google.com/gke-accelerator-count": "1"}
    node = {"metadata": {"labels": labels}, "status": {"capacity": {"cpu": "16"}}}
    pod = {"spec": {"containers": [container(**spec)]}}
    found = hardware_of(pod, node, claims)
    assert (found.gpus, found.cpus) == wanted
