# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long simulated hardware takes, in simulated seconds (the lab divides them by its speed).

Only the 30 seconds of the kubelet and the spot notice are documented numbers; the others are
plausible round ones, and nothing about real durations can be concluded from them.
"""

from __future__ import annotations

NODE_READY = 80.0
"""From the wish for a machine to its Node object (assumed; GKE needs one to two minutes)."""
DRAIN = 15.0
"""From cordoning a node to its end (assumed)."""
KERNEL_DRIVER = 45.0
"""From the installer's pod to a loaded kernel driver (assumed; preloaded images, no download)."""
DRIVER_START = 5.0
"""From a running driver container to its slices (assumed)."""
SLICE_REMOVAL = 30.0
"""From a driver's end to the removal of its slices (kubelet, kubernetes/kubernetes#141912)."""
SPOT_NOTICE = 25.0
"""From the preemption notice to the machine's end (GKE: kubelet gets 25 s of Compute Engine's 30)."""
