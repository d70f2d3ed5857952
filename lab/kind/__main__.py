# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ….lab.kind present|absent``: progress on standard error, the result as JSON on output."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from ..errors import LabError
from .lifecycle import Lifecycle

FAILED = 1


def say(line: str) -> None:
    """Print progress where it does not mix with the result."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command prints


def options_of(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dra-kind", description="A kind cluster with the plan's node pools."
    )
    parser.add_argument("state", choices=["present", "absent"])
    parser.add_argument("--name", default="inference-dra", help="which cluster")
    parser.add_argument("--kubeconfig", default="", help="where to write the kubeconfig")
    parser.add_argument("--check", action="store_true", help="only say what would be done")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    """Run one command, the plan as JSON on standard input; an expected failure is a sentence and status 1."""
    options = options_of(words)
    cluster = Lifecycle(say, options.name, check=options.check)
    try:
        if options.state == "present":
            result = cluster.present(json.load(sys.stdin), options.kubeconfig or None)
        else:
            result = cluster.absent(options.kubeconfig or None)
    except LabError as error:
        say(str(error))
        return FAILED
    print(json.dumps(result))  # noqa: T201 - a command prints
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
