# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write each role's README from its ``meta/argument_specs.yml``; with ``--check`` only say what differs.

Nobody writes an option down twice: the argument spec is what ansible-core validates, the README is
what a person reads on the web, and ``tests/checks/test_role_readmes.py`` fails when they part.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import snapshot
import yaml

Spec = Mapping[str, Any]
ROLES = snapshot.ROOT / "roles"


MARKUP = (  # Ansible's documentation markup and what it is in Markdown
    (re.compile(r"\b(?:C|E|M|O|P|RV|V)\(((?:[^()\\]|\\.)*)\)"), r"`\1`"),
    (re.compile(r"\bI\(([^)]*)\)"), r"*\1*"),
    (re.compile(r"\bB\(([^)]*)\)"), r"**\1**"),
    (re.compile(r"\bL\(([^,)]*), *([^)]*)\)"), r"[\1](\2)"),
    (re.compile(r"\bU\(([^)]*)\)"), r"<\1>"),
)


def paragraphs(text: str | list[str]) -> str:
    """Return a description, which may be one text or a list of them, as Markdown."""
    joined = "\n\n".join([text] if isinstance(text, str) else text).strip()
    for markup, markdown in MARKUP:
        joined = markup.sub(markdown, joined)
    return joined


def default_of(option: Spec) -> str:
    if option.get("required"):
        return "required"
    return f"`{json.dumps(option['default'])}`" if "default" in option else ""


def cell(option: Spec) -> str:
    """Return description and choices on one line, as a table wants it."""
    text = " ".join(paragraphs(option.get("description", "")).split())
    if "choices" in option:
        text += " One of " + ", ".join(f"`{choice}`" for choice in option["choices"]) + "."
    return text.replace("|", "\\|")


def rows(options: Spec, prefix: str = "") -> Iterator[str]:
    """Yield one table row per option, suboptions after their parent with a dotted name."""
    for name, option in sorted(options.items(), key=lambda item: (not item[1].get("required"), item[0])):
        kind = option.get("type", "str")
        if kind == "list":
            kind = f"list of {option.get('elements', 'any')}"
        yield f"| `{prefix}{name}` | {kind} | {default_of(option)} | {cell(option)} |"
        yield from rows(option.get("options", {}), f"{prefix}{name}.")


def entry_point(role: str, name: str, spec: Spec) -> Iterator[str]:
    """Yield the section of one way to call the role."""
    yield f"## `{name}`: {spec['short_description']}"
    if spec.get("description"):
        yield paragraphs(spec["description"])
    call = f"- name: {spec['short_description'].rstrip('.')}\n  ansible.builtin.include_role:\n"
    call += f"    name: inference.dra.{role}\n"
    call += "" if name == "main" else f"    tasks_from: {name}\n"
    yield f"```yaml\n{call}```"
    if spec.get("options"):
        head = "| variable | type | default | meaning |\n| --- | --- | --- | --- |"
        yield "\n".join([head, *rows(spec["options"])])


def readme(role: Path) -> str:
    """Return what the role's README must be."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    note = "<!-- Written by `make readmes` from meta/argument_specs.yml: change that file, not this one. -->"
    sections = [f"# inference.dra.{role.name}", note]
    for name in sorted(specs, key=lambda name: (name != "main", name)):
        sections += entry_point(role.name, name, specs[name])
    return "\n\n".join(sections) + "\n"


def stale() -> list[Path]:
    """Return the README files that are missing or not what the argument specs say."""
    files = []
    for role in sorted(path.parent.parent for path in ROLES.glob("*/meta/argument_specs.yml")):
        written = role / "README.md"
        if not written.exists() or written.read_text() != readme(role):
            files.append(written)
    return files


def main() -> int:
    """Bring every README up to date, or report the stale ones."""
    changed = stale()
    for path in changed:
        print(f"{path.relative_to(snapshot.ROOT)} is not what its argument spec says")
        if "--check" not in sys.argv:
            path.write_text(readme(path.parent))
    return int(bool(changed) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
