# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error family of the lab: a sentence for the person in front of it."""

from __future__ import annotations


class LabError(Exception):
    """What was attempted, what was observed, what to do; printed as it is, without a traceback."""
