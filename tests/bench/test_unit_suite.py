# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit suite is what a contributor runs after every edit, so it has a budget of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_unit_suite(measured):
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "tests/unit"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    measured("unit suite", round(time.monotonic() - started, 1), "s", budget=30)
