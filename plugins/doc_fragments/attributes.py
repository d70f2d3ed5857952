# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The behaviour that every module states in the same words."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return what would change without changing it.
  diff_mode:
    description: Will return what changed, or would change, when in diff mode.
  idempotent:
    description: When run twice in a row outside check mode with the same arguments, the second run indicates no change.
"""

    # Modules that only look: whatever the mode, nothing is ever written.
    READS = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: This module never changes anything.
  diff_mode:
    support: N/A
    details: This module never changes anything.
  idempotent:
    support: full
    details: This module never changes anything.
"""

    GROUP_KUBERNETES = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/inference.dra.kubernetes) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - inference.dra.kubernetes
"""

    GROUP_GOOGLE = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/inference.dra.google) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - inference.dra.google
"""
