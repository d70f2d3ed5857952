#!/usr/bin/python
# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_report
short_description: Write what was recorded of a service as one page and as data
version_added: 0.1.0
description:
  - Makes C(report.html), one self-contained page for light and dark screens and for phones, and C(report.json) out of a record.
  - Uses recorded data and nothing else; asks no cluster. The same record gives the same files.
options:
  record:
    description: Path of the file that the role P(inference.dra.scale_demo#role) wrote.
    type: path
    required: true
  traffic:
    description: Path of the file that the role P(inference.dra.traffic#role) wrote. A file that is not there is no traffic.
    type: path
  teardown:
    description: Path of the file that the playbook C(inference.dra.teardown) wrote. A file that is not there is no teardown.
    type: path
  plan:
    description: What P(inference.dra.inference_plan#filter) made of the alternatives.
    type: dict
    required: true
  environment:
    description: What the report calls the environment.
    type: dict
    default: {}
  directory:
    description: The folder to write to; it must exist.
    type: path
    required: true
extends_documentation_fragment:
  - inference.dra.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
author:
  - The inference.dra authors (@inference-dra)
"""

EXAMPLES = r"""
- name: Write the report
  inference.dra.inference_report:
    record: build/demo/record.json
    traffic: build/demo/traffic.json
    teardown: build/demo/teardown.json
    plan: "{{ inference_plan }}"
    directory: build/demo
"""

RETURN = r"""
summary:
  description: The report in one sentence.
  returned: success
  type: str
  sample: "4 replicas: 2 on gpu, 2 on cpu"
html:
  description: Path of the page.
  returned: success
  type: str
json:
  description: Path of the data.
  returned: success
  type: str
"""

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.inference.dra.plugins.module_utils._core import report, report_page
from ansible_collections.inference.dra.plugins.module_utils._glue.result import Module, ModuleFailure, run


def work(module: Module) -> dict[str, Any]:
    params = module.params
    made = report.build(
        recorded(Path(params["record"])),
        params["plan"],
        params["environment"],
        where_there(params["traffic"]),
        where_there(params["teardown"]),
    )
    directory = Path(params["directory"])
    files = {
        directory / "report.json": json.dumps(made, indent=2) + "\n",
        directory / "report.html": report_page.render(made),
    }
    changed = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if not module.check_mode:
        for path in changed:
            path.write_text(files[path])
    data, page = map(str, files)
    return {"changed": bool(changed), "summary": report.summary(made), "html": page, "json": data}


def where_there(path: str | None) -> dict[str, Any]:
    """Return what was recorded, nothing where that part of the story has not happened yet."""
    return recorded(Path(path)) if path and Path(path).exists() else {}


def recorded(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ModuleFailure(
            f"Writing the report: the record {path} can't be read ({error}). Run the playbook that writes it first.",
            "RecordUnreadable",
        ) from error
    if not isinstance(found, dict):
        raise ModuleFailure(f"Writing the report: {path} holds no record.", "RecordUnreadable")
    return found


def main() -> None:
    spec = {
        "record": {"type": "path", "required": True},
        "traffic": {"type": "path"},
        "teardown": {"type": "path"},
        "plan": {"type": "dict", "required": True},
        "environment": {"type": "dict", "default": {}},
        "directory": {"type": "path", "required": True},
    }
    run(AnsibleModule(argument_spec=spec, supports_check_mode=True), work)


if __name__ == "__main__":
    main()
