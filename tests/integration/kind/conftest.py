# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that use Docker take turns: one of them compares the machine before and after."""

from __future__ import annotations

import fcntl

import pytest

from ansible_collections.inference.dra.lab.kind.cluster import home


@pytest.fixture(scope="module")
def docker_alone():
    home().mkdir(parents=True, exist_ok=True)
    with (home() / "tests.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
