# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every failure known from the field has a test named after it (``C17`` in the test's id)."""

from __future__ import annotations

import subprocess
import sys

import pytest
import snapshot

COVERAGE = snapshot.ROOT.parent / "shared" / "bin" / "case-coverage"


@pytest.mark.shared
@pytest.mark.skipif(not COVERAGE.exists(), reason="the list of field cases is not beside this checkout")
def test_every_field_case_has_a_test():
    collect = [sys.executable, "-m", "pytest", "--collect-only", "tests"]
    collected = subprocess.run(collect, check=False, cwd=snapshot.ROOT, capture_output=True, text=True)
    assert collected.returncode == 0, collected.stdout
    ledger = subprocess.run(
        [sys.executable, str(COVERAGE)], check=False, input=collected.stdout, capture_output=True, text=True
    )
    assert ledger.returncode == 0, ledger.stdout
