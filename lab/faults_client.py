# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``dra-lab fault``: ask a running lab for its faults, set one, clear some."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .errors import LabError
from .state import Lab

ANSWER_SECONDS = 10.0


def listed(lab: Lab) -> Iterator[str]:
    """Yield the faults that are on, then the kinds there are with what narrows and shapes each."""
    body = ask(lab, "GET", "/faults")
    for fault in body["faults"]:
        yield "on: " + ", ".join(f"{name} {value}" for name, value in fault.items() if value is not None)
    for kind in body["kinds"]:
        words = [*kind["narrows"], *(f"{name}={value}" for name, value in kind["shapes"].items())]
        more = f" [{', '.join(words)}]" if words else ""
        yield f"{kind['kind']:20} {kind['sentence']}{more}"


def set_one(lab: Lab, kind: str, pairs: Sequence[str]) -> str:
    """Switch a fault on and return a line with its id; ``pairs`` are ``name=value``."""
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise LabError(f"Setting fault {kind}: {pair!r} is not name=value.")
        parameters[name] = value
    answer = ask(lab, "POST", "/faults", {**parameters, "kind": kind})
    return f"{kind} is on: {answer['id']}"


def clear(lab: Lab, name: str) -> str:
    """Clear one fault by its id, all of a kind, or all; return a line that says how many."""
    answer = ask(lab, "DELETE", f"/faults/{quote(name)}" if name else "/faults")
    return f"{answer['cleared']} cleared"


def ask(lab: Lab, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(lab.url("admin") + path, data, method=method)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        raise LabError(json.load(error).get("error", str(error))) from error
    except OSError as error:
        raise LabError(
            f"Asking lab {lab.name} for its faults: nothing answers ({error}); `dra-lab up` repairs it."
        ) from error
    return found
