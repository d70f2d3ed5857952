# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests that the role ``image_configurator`` installs, for the lab and for tests.

The role's templates are the only source; this module renders them without running Ansible.
"""

from __future__ import annotations

from typing import Any

from .version import COLLECTION

ROLE = COLLECTION / "roles" / "image_configurator"


def render(template: str, **variables: Any) -> list[dict[str, Any]]:
    """Return the objects of one template (such as ``rbac.yaml.j2``).

    :param variables: the role's variables that are to differ from its defaults.
    """
    # Not needed in the cluster, so not part of the image.
    import jinja2  # noqa: PLC0415
    import yaml  # noqa: PLC0415

    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROLE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,  # noqa: S701 - YAML, not HTML
    )
    text = environment.get_template(template).render({**defaults, **variables})
    return [document for document in yaml.safe_load_all(text) if document]
