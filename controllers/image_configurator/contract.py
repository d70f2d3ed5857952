# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names this driver shares with claims, device classes and the scheduler.

They are those of the image configurator of gke-labs/dra-drivers, so claim templates written for it
work unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

CONFIG_KIND = "ImageConfig"
CONFIG_VERSION = "v1alpha1"
RESOURCE_API = "resource.k8s.io/v1"
COMPONENT = "image-configurator"


@dataclass(frozen=True, slots=True)
class Gate:
    """The one device that every gated claim is allocated, and the conditions it waits for."""

    driver: str = "image-configurator.x-k8s.io"
    pool: str = "all-nodes"
    device: str = "image-configurator"

    @property
    def updated(self) -> str:
        """Return the binding condition: True lets the scheduler bind the pod (KEP-5007)."""
        return f"{self.driver}/image-updated"

    @property
    def failed(self) -> str:
        """Return the binding failure condition: True makes the scheduler give the allocation up."""
        return f"{self.driver}/image-update-failed"

    @property
    def config_api(self) -> str:
        """Return the ``apiVersion`` an ImageConfig carries."""
        return f"{self.driver}/{CONFIG_VERSION}"
