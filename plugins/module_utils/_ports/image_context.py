# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build contexts: the files of a directory that no ignore file names, as values, copies and archives."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._core.image_content import Entry, Ignore


class ContextUnreadable(Exception):
    """A build context that can't be read; the message names the file."""


@dataclass(frozen=True)
class Context:
    """A build context as it was read.

    :param directory: the directory that ``COPY`` is relative to.
    :param dockerfile: the text of the Dockerfile, which need not lie in the directory.
    :param entries: the files that are not ignored, ordered by path.
    """

    directory: Path
    dockerfile: str
    entries: tuple[Entry, ...]

    @property
    def paths(self) -> list[str]:
        return [entry.path for entry in self.entries]


def read_context(directory: Path, dockerfile: str) -> Context:
    """Return the context in a directory.

    The ignore file is the Dockerfile's own (``Dockerfile.dockerignore``), else the directory's, as BuildKit
    has it.

    :param dockerfile: path of the Dockerfile; a relative one lies in the directory.
    :raises ContextUnreadable: where something is missing or not readable.
    """
    path = directory / dockerfile
    try:
        text = path.read_text()
        own = path.with_name(f"{path.name}.dockerignore")
        rules = own if own.exists() else directory / ".dockerignore"
        ignore = Ignore(rules.read_text() if rules.exists() else "")
        return Context(directory, text, tuple(sorted(_entries(directory, ignore))))
    except OSError as error:
        raise ContextUnreadable(
            f"reading the build context {directory}: {error.filename or path}: {error.strerror}"
        ) from error


def _entries(root: Path, ignore: Ignore) -> Iterable[Entry]:
    for above, directories, names in os.walk(root):
        place = Path(above)
        # A link to a directory is one entry; it is not followed.
        links = [name for name in directories if (place / name).is_symlink()]
        directories[:] = [
            name
            for name in directories
            if name not in links and not ignore.prunes((place / name).relative_to(root).as_posix())
        ]
        for name in [*names, *links]:
            path = place / name
            relative = path.relative_to(root).as_posix()
            if ignore.ignores(relative):
                continue
            if path.is_symlink():
                yield Entry(relative, str(path.readlink()), is_link=True)
            elif path.is_file():
                yield Entry(relative, _sha256(path), executable=bool(path.stat().st_mode & 0o100))


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def copy(context: Context, target: Path) -> None:
    """Lay the context's files into an empty directory, and its Dockerfile as ``Dockerfile``."""
    for entry in context.entries:
        place = target / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(context.directory / entry.path, place, follow_symlinks=False)
    (target / "Dockerfile").write_text(context.dockerfile)


def archive(context: Context) -> bytes:
    """Return the context with its Dockerfile as a compressed archive, the same bytes for the same content."""
    placed = {
        entry.path: (entry, entry.executable) for entry in context.entries if entry.path != "Dockerfile"
    }
    return compressed(_tar(context, placed.items(), {"Dockerfile": context.dockerfile.encode()}))


def layer(context: Context, files: Mapping[str, tuple[str, int | None]]) -> bytes:
    """Return files of the context as an uncompressed layer of an image, owned by root.

    :param files: source in the context and mode (``None``: as in the context) by path in the image.
    """
    known = {entry.path: entry for entry in context.entries}
    placed = {}
    for path, (source, mode) in sorted(files.items()):
        entry = known[source]
        placed[path] = (entry, entry.executable if mode is None else mode)
    return _tar(context, placed.items(), {})


def compressed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _tar(
    context: Context,
    files: Iterable[tuple[str, tuple[Entry, bool | int]]],
    texts: Mapping[str, bytes],
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, (entry, mode) in files:
            member = tarfile.TarInfo(path)
            if entry.is_link:
                member.type, member.linkname = tarfile.SYMTYPE, entry.content
                tar.addfile(member)
                continue
            content = (context.directory / entry.path).read_bytes()
            member.mode = (0o755 if mode else 0o644) if isinstance(mode, bool) else mode
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for path, content in texts.items():
            member = tarfile.TarInfo(path)
            member.mode, member.size = 0o644, len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
