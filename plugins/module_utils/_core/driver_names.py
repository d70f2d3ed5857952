# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drivers that rules know by name."""

from __future__ import annotations

GPU_DRIVER = "gpu.nvidia.com"
CPU_DRIVER = "dra.cpu"
