#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_probe
short_description: Measure how fast the replicas of a service answer, by their hardware
version_added: 0.1.0
description:
  - Sends OpenAI requests (streamed chat completions) to every ready replica of a Deployment at the same time, and then through its
    Service, and returns time to first token, latency, tokens per second and errors, per replica and per alternative, and what a million
    tokens cost.
  - Reaches the pods through the API server (C(pods/portforward)), so it needs no address of the service and no load balancer. The
    way there and back is part of every time; RV(ignore:replicas[].round_trip_seconds) says how long it is.
  - Requests through the Service go to the ready endpoints of its EndpointSlices, each over a new connection to the next of them.
  - The requests cost what requests cost. Nothing in the cluster is changed.
  - Fails where no request can be sent at all. What goes wrong with some replicas or requests is in RV(verdicts).
options:
  namespace:
    description: Namespace of the Deployment.
    type: str
    required: true
  deployment:
    description: Name of the Deployment.
    type: str
    required: true
  service:
    description: Name of the Service to send requests through as well, O(requests) per endpoint. None where it is not given.
    type: str
  port:
    description: Port of the model server in the pods. By default the port that the pod names C(http), else its first, else 8000.
    type: int
  model:
    description: Name of the model. By default the first that each replica lists under C(/v1/models).
    type: str
  prompt:
    description:
      - What is asked. Each request has a number in front of it, because servers keep what equal beginnings computed.
    type: str
    default: Explain in plain words what a hardware accelerator is and when a model runs well without one.
  max_tokens:
    description: Tokens after which an answer ends.
    type: int
    default: 64
  requests:
    description: Requests to each replica.
    type: int
    default: 8
  concurrency:
    description: Requests to each replica at the same time.
    type: int
    default: 2
  timeout_seconds:
    description: Seconds after which a request counts as failed with the error V(timeout).
    type: int
    default: 120
  alternatives:
    description: Names of the alternatives in their order, for the order of RV(alternatives).
    type: list
    elements: str
    default: []
  prices:
    description: The key C(prices) of P(inference.dra.inference_plan#filter), with C(usd_per_hour) of one node by alternative.
    type: dict
    default: {}
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - inference.dra.attributes
  - inference.dra.attributes.reads
  - inference.dra.attributes.group_kubernetes
requirements:
  - python >= 3.11
  - PyYAML
  - urllib3 >= 2
  - websocket-client >= 1.6
  - cel-python >= 0.4 (to evaluate selectors; without it they can't be judged, and the answer says so)
notes:
  - Run over a local connection, it shows its progress while it measures.
seealso:
  - module: inference.dra.inference_service_info
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: See how fast the replicas answer
  inference.dra.inference_probe:
    namespace: default
    deployment: vllm-fungible
  register: traffic

- name: Measure the Service too, with more load and prices
  inference.dra.inference_probe:
    namespace: default
    deployment: vllm-fungible
    service: vllm-fungible
    requests: 32
    concurrency: 8
    max_tokens: 256
    alternatives: "{{ inference_plan.alternatives }}"
    prices: "{{ inference_plan.prices }}"
"""

RETURN = r"""
replicas:
  description: The replicas that requests were sent to, the oldest first.
  returned: success
  type: list
  elements: dict
  contains:
    pod: {description: Name of the pod., type: str}
    alternative: {description: The alternative it has., type: str, sample: gpu}
    node: {description: Its node., type: str}
    machine_type: {description: Machine type of the node., type: str}
    model: {description: The model that was asked for., type: str}
    round_trip_seconds: {description: Seconds that the smallest request took., type: float}
    requests: {description: Requests that were sent., type: int}
    succeeded: {description: Requests that were answered to the end; times and rates are of these., type: int}
    errors:
      description:
        - How many requests failed, by kind. C(timeout), C(connection), C(loading) (503), C(model_unknown) (404), C(overloaded) (429),
          C(server_error) (5xx), C(refused) (4xx) or C(malformed).
      type: dict
    error_examples: {description: Up to three messages of failed requests., type: list, elements: str}
    first_token_seconds: {description: 'Time to the first token: C(p50) and C(p95), null without an answer.', type: dict}
    latency_seconds: {description: 'Time to the end of the answer: C(p50) and C(p95).', type: dict}
    tokens: {description: 'C(prompt) and C(completion) tokens; C(counted) is false where the server did not report them.', type: dict}
    tokens_per_second: {description: Generated tokens per second of all requests together., type: float}
    tokens_per_second_per_request: {description: Median pace of one answer after its first token., type: float}
alternatives:
  description: The same per alternative, in the order of O(alternatives).
  returned: success
  type: list
  elements: dict
  contains:
    alternative: {description: Name of the alternative., type: str}
    machine_types: {description: Machine types of its nodes., type: list, elements: str}
    replicas: {description: Replicas that were measured., type: int}
    nodes: {description: Nodes that they run on., type: int}
    usd_per_hour: {description: 'What these nodes cost, null without a price.', type: float}
    usd_per_million_tokens: {description: What a million generated tokens cost at this load., type: float}
service:
  description: What requests through the Service tell; empty where none was asked for.
  returned: success
  type: dict
  contains:
    name: {description: Name of the Service., type: str}
    endpoints: {description: Ready endpoints., type: int}
    alternatives: {description: How many requests each alternative got., type: dict}
load:
  description: What was asked, so that a result can be compared with another.
  returned: success
  type: dict
verdicts:
  description: What went wrong, and what to do.
  returned: always, except after errors of connection
  type: list
  elements: dict
now:
  description: The time of the measurement.
  returned: success
  type: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._glue.probing import probe, probe_spec
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, run
from ansible_collections.inference.dra.plugins.module_utils._ports.clock import SystemClock


def silent(_line: str) -> None:
    """Say nothing: a module can't print."""


def work(module: Module) -> dict[str, Any]:
    return probe(module.params, SystemClock(), silent)


def main() -> None:
    run(AnsibleModule(argument_spec=probe_spec(), supports_check_mode=True), work)


if __name__ == "__main__":
    main()
