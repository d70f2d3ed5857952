# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove what the tools made inside the checkout: build results and caches, nothing that git knows."""

import os
import shutil

import bootstrap

MADE = ("build", ".ansible", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache")


def main():
    for name in MADE:
        shutil.rmtree(os.path.join(bootstrap.ROOT, name), ignore_errors=True)
    for directory, folders, _files in os.walk(bootstrap.ROOT):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if "__pycache__" in folders:
            shutil.rmtree(os.path.join(directory, "__pycache__"), ignore_errors=True)


if __name__ == "__main__":
    main()
