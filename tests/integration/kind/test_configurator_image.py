# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image configurator's image, built: its size, its user, and that it runs with nothing to write on."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.controllers.image_configurator.version import version
from ansible_collections.inference.dra.lab.kind import debian, images
from ansible_collections.inference.dra.lab.kind.cluster import Clusters, home

REFERENCE = f"{debian.LOCAL}/image-configurator-under-test:1"
LARGEST = 150_000_000


@pytest.fixture(scope="module")
def engine(docker_alone):
    clusters = Clusters(home(), print)
    reason = clusters.obstacle()
    if reason:
        pytest.skip(reason)
    with clusters.docker() as found:
        wanted = images.references() | {"image-configurator": REFERENCE}
        images.ensure(found, home(), wanted, print, pull=False)
        yield found
        found.run("image", "rm", REFERENCE)


def test_it_is_small_and_nobody_is_root_in_it(engine):
    shown = engine.run("image", "inspect", "--format", "{{.Size}} {{.Config.User}}", REFERENCE)
    size, user = shown.split()
    print(f"image of {int(size) / 1e6:.0f} MB, on a Debian; user {user}")
    assert int(size) <= LARGEST
    assert user == "65532:65532"


def test_it_starts_where_it_can_write_nothing(engine):
    limits = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none")
    assert engine.run("run", "--rm", *limits, REFERENCE, "--version") == version()
