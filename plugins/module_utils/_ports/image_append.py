# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images without a build engine: files and settings added to a base image, or to nothing, in the registry.

It takes a Dockerfile without ``RUN``. The same Dockerfile works with any engine, and nothing of a layer
depends on when or where it is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core import oci
from .._core.dockerfiles import assemble, base_images
from .._core.image_references import Reference, parse
from . import image_context
from .image_context import Context
from .registry import Registry, RegistryError

SAID = "files of the build context"


class BaseUnavailable(Exception):
    """A base image that can't be had.

    :param lines: the last lines of the program that said so.
    """

    def __init__(self, base: str, problem: str, lines: Sequence[str] = ()) -> None:
        super().__init__(f"the base image {base} can't be had: {problem}")
        self.lines = list(lines)


class AppendEngine:
    """Puts images together out of blobs."""

    def __init__(self, registry: Registry, progress: Callable[[str], None] = lambda _text: None) -> None:
        self._registry = registry
        self._progress = progress

    def build_and_push(
        self, context: Context, image: Reference, build_args: Mapping[str, str], platform: str
    ) -> None:
        """Push the image under its tag; what the registry has of it already is not sent again.

        :raises BaseUnavailable: where the base image can't be read.
        :raises RegistryError: where the image can't be pushed.
        :raises DockerfileError: for a Dockerfile that takes a build engine.
        """
        base, manifest, config = self._base(context, build_args, platform)
        made = assemble(context.dockerfile, build_args, config.get("config") or {}, context.paths)
        layers = oci.layers_of(manifest)
        for each in layers if base else ():
            self._copy(base, image, each)
        diff_ids = []
        if made.files:
            content = image_context.layer(context, made.files)
            packed = image_context.compressed(content)
            self._registry.push_blob(image, packed)
            layers.append(oci.descriptor(oci.LAYER, packed))
            diff_ids.append(oci.digest(content))
        body = oci.encoded(oci.image_config(config, made.config, diff_ids, platform, SAID))
        self._registry.push_blob(image, body)
        self._registry.push_manifest(image, oci.encoded(oci.image_manifest(body, layers)))

    def _base(
        self, context: Context, build_args: Mapping[str, str], platform: str
    ) -> tuple[Reference | None, dict[str, Any], dict[str, Any]]:
        names = base_images(context.dockerfile, build_args)
        if not names:
            return None, {}, {}
        base = parse(names[0])
        try:
            manifest = self._registry.manifest(base, platform)
            config = json.loads(self._registry.blob(base, manifest["config"]["digest"]))
        except RegistryError as problem:
            raise BaseUnavailable(names[0], str(problem)) from problem
        offered = f"{config.get('os')}/{config.get('architecture')}"
        if offered != "/".join(platform.split("/")[:2]):
            raise BaseUnavailable(names[0], f"it is made for {offered}, not for {platform}")
        return base, manifest, config

    def _copy(self, base: Reference | None, image: Reference, layer: Mapping[str, Any]) -> None:
        if base and self._registry.copy_blob(base, image, layer["digest"], layer["size"]):
            self._progress(f"copied {layer['size'] / 1e6:.1f} MB of {base} to {image.name}")
