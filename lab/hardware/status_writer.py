# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a pod's status in the kubelet's place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import PODS, NotFound

from ..work import Context
from .pod_status import State, status


def write_status(context: Context, pod: Mapping[str, Any], states: Mapping[str, State]) -> None:
    """Have the pod's status say what its containers do; a pod that has gone needs none.

    :param states: as for ``pod_status.status``.
    """
    patch = status(pod, states, context.timestamp)
    if patch:
        meta = pod["metadata"]
        with suppress(NotFound):
            changed = context.api.merge_patch(
                PODS, meta["name"], {"status": patch}, meta["namespace"], subresource="status"
            )
            context.store.put(PODS, changed)
