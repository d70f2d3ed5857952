# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role's README is what its argument spec says, never edited by hand."""

from __future__ import annotations

import role_readmes


def test_no_readme_is_stale():
    assert role_readmes.stale() == [], "run `make readmes`"


def test_what_a_spec_becomes(tmp_path):
    role = tmp_path / "service"
    (role / "meta").mkdir(parents=True)
    (role / "meta/argument_specs.yml").write_text(
        """
argument_specs:
  main:
    short_description: Run the service
    description: [Applies the Deployment., 'Waits for O(service_replicas).']
    options:
      service_name: {type: str, required: true, description: What it is called.}
      service_replicas: {type: int, default: 2, description: How many.}
      service_kind: {choices: [a, b], description: Which | one.}
      service_ports:
        type: list
        elements: dict
        description: Where it listens.
        options: {port: {type: int, description: The number.}}
  teardown:
    short_description: Remove the service
"""
    )
    text = role_readmes.readme(role)
    assert "Waits for `service_replicas`." in text
    assert "| `service_name` | str | required | What it is called. |\n| `service_kind` | str |" in text
    assert "Which \\| one. One of `a`, `b`." in text
    assert "| `service_replicas` | int | `2` | How many. |" in text
    assert "| `service_ports.port` | int |" in text
    assert "    name: inference.dra.service\n    tasks_from: teardown\n" in text
