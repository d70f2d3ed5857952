# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tag of an image, what an ignore file leaves out, and the names of images."""

from __future__ import annotations

import pytest

from ansible_collections.inference.dra.plugins.module_utils._core.architectures import (
    architecture,
    platform_problems,
)
from ansible_collections.inference.dra.plugins.module_utils._core.image_content import (
    Entry,
    Ignore,
    content_tag,
)
from ansible_collections.inference.dra.plugins.module_utils._core.image_references import (
    InvalidReference,
    is_google,
    is_loopback,
    parse,
    parse_name,
)

DIGEST = "sha256:" + "a" * 64
ENTRIES = [Entry("app.py", "1" * 64), Entry("start", "2" * 64, executable=True)]
CONTENT = {
    "entries": ENTRIES,
    "dockerfile": "FROM base",
    "build_args": {"MODEL": "a"},
    "bases": ["docker.io/library/base:1"],
    "platform": "linux/amd64",
}


def test_a_tag_is_one_for_the_same_content_in_any_order():
    assert content_tag(**CONTENT) == content_tag(**{**CONTENT, "entries": reversed(ENTRIES)})
    assert content_tag(**CONTENT) == "c" + content_tag(**CONTENT)[1:]
    assert len(content_tag(**CONTENT)) == 21


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"entries": ENTRIES[:1]}, id="a-file-less"),
        pytest.param({"entries": [ENTRIES[0], ENTRIES[1]._replace(executable=False)]}, id="mode"),
        pytest.param({"entries": [ENTRIES[0]._replace(content="3" * 64), ENTRIES[1]]}, id="content"),
        pytest.param({"entries": [ENTRIES[0]._replace(path="b.py"), ENTRIES[1]]}, id="name"),
        pytest.param({"entries": [ENTRIES[0]._replace(is_link=True), ENTRIES[1]]}, id="link"),
        pytest.param({"dockerfile": "FROM  base"}, id="dockerfile"),
        pytest.param({"build_args": {"MODEL": "b"}}, id="build-argument"),
        pytest.param({"bases": ["docker.io/library/base:2"]}, id="base"),
        pytest.param({"platform": "linux/arm64"}, id="platform"),
    ],
)
def test_another_content_has_another_tag(change):
    assert content_tag(**{**CONTENT, **change}) != content_tag(**CONTENT)


@pytest.mark.parametrize(
    ("rules", "path", "ignored"),
    [
        pytest.param("", "a", False, id="no-rules"),
        pytest.param("# a\n\n", "a", False, id="comment"),
        pytest.param("a", "a", True, id="name"),
        pytest.param("/a/", "a", True, id="slashes"),
        pytest.param("./a", "a/b/c", True, id="below-a-directory"),
        pytest.param("a", "b/a", False, id="only-at-the-root"),
        pytest.param("**/a", "b/c/a", True, id="anywhere"),
        pytest.param("**/a", "a", True, id="anywhere-is-the-root-too"),
        pytest.param("**/*.pyc", "x/y.pyc", True, id="suffix-anywhere"),
        pytest.param("*.md", "README.md", True, id="star"),
        pytest.param("*.md", "docs/README.md", False, id="star-stays-in-its-directory"),
        pytest.param("docs/**", "docs/a/b", True, id="all-below"),
        pytest.param("?.txt", "a.txt", True, id="one-character"),
        pytest.param("[ab].txt", "c.txt", False, id="set"),
        pytest.param("[^ab].txt", "c.txt", True, id="negated-set"),
        pytest.param("\\*.txt", "a.txt", False, id="escaped"),
        pytest.param("a.b", "axb", False, id="dot-is-a-dot"),
        pytest.param("*\n!keep", "keep", False, id="taken-back"),
        pytest.param("*\n!keep", "other", True, id="not-taken-back"),
        pytest.param("*\n!keep/a", "keep/b", True, id="only-part-of-a-directory"),
        pytest.param("*\n!keep/*.py", "keep/b.py", False, id="pattern-taken-back"),
        pytest.param("!keep\n*", "keep", True, id="the-last-rule-decides"),
        pytest.param("*\n!keep\nkeep/not", "keep/not", True, id="left-out-again"),
    ],
)
def test_ignore_file(rules, path, ignored):
    assert Ignore(rules).ignores(path) is ignored


@pytest.mark.parametrize(
    ("rules", "directory", "pruned"),
    [
        pytest.param("a", "a", True, id="ignored"),
        pytest.param("a", "b", False, id="not-ignored"),
        pytest.param("*\n!b/c", "a", True, id="nothing-below-is-taken-back"),
        pytest.param("*\n!b/c", "b", False, id="something-below-is-taken-back"),
        pytest.param("*\n!*.py", ".venv", True, id="only-files-at-the-root"),
        pytest.param("*\n!**/x", "a", False, id="anything-may-be-taken-back"),
    ],
)
def test_what_need_not_be_read(rules, directory, pruned):
    # A pattern that stops above the directory says nothing about what is in it, so it is read.
    assert Ignore(rules).prunes(directory) is pruned


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("python", ("docker.io", "library/python", "", ""), id="docker-hub"),
        pytest.param("vllm/vllm-openai:v1", ("docker.io", "vllm/vllm-openai", "v1", ""), id="hub-user"),
        pytest.param("127.0.0.1:5000/a/b", ("127.0.0.1:5000", "a/b", "", ""), id="port"),
        pytest.param("localhost/a", ("localhost", "a", "", ""), id="localhost"),
        pytest.param(f"r.io/a:1@{DIGEST}", ("r.io", "a", "1", DIGEST), id="tag-and-digest"),
    ],
)
def test_a_reference_has_parts(text, parts):
    found = parse(text)
    assert (found.host, found.path, found.tag, found.digest) == parts


@pytest.mark.parametrize("text", ["", "Upper/case", "a b", "r.io/a:", "r.io/a@sha256:1", "-a", "r.io//a"])
def test_no_reference(text):
    with pytest.raises(InvalidReference):
        parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("r.io/a:latest", "leave it out", id="tag"),
        pytest.param(f"r.io/a@{DIGEST}", "leave it out", id="digest"),
        pytest.param("a/b", "names no registry", id="no-registry"),
    ],
)
def test_a_name_to_push_to(text, problem):
    with pytest.raises(InvalidReference, match=problem):
        parse_name(text)


def test_where_a_registry_is_asked():
    assert parse("python").api == "https://registry-1.docker.io/v2"
    assert parse("127.0.0.1:5000/a").api == "http://127.0.0.1:5000/v2"
    assert parse("us-central1-docker.pkg.dev/p/r/a").api == "https://us-central1-docker.pkg.dev/v2"


def test_kinds_of_hosts():
    assert [is_loopback(host) for host in ("localhost:1", "127.0.0.2", "[::1]:5000", "r.io", "10.0.0.1")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    hosts = ("us-docker.pkg.dev", "gcr.io", "eu.gcr.io", "pkg.dev.example", "notgcr.io")
    assert [is_google(host) for host in hosts] == [True, True, True, False, False]


def test_what_is_pinned():
    pinned = {
        text: parse(text).is_pinned for text in ("a", "a:latest", "a:v1", f"a@{DIGEST}", f"a:latest@{DIGEST}")
    }
    assert [text for text, yes in pinned.items() if not yes] == ["a", "a:latest"]


@pytest.mark.parametrize(
    ("machine_type", "expected"),
    [
        ("g2-standard-8", "amd64"),
        ("n2-standard-16", "amd64"),
        ("a3-ultragpu-8g", "amd64"),
        ("e2-medium", "amd64"),
        ("c4a-standard-16", "arm64"),
        ("t2a-standard-4", "arm64"),
        ("n4a-standard-8", "arm64"),
        ("a4x-highgpu-4g", "arm64"),
    ],
)
def test_architecture_of_a_machine_type(machine_type, expected):
    assert architecture(machine_type) == expected


def test_a_platform_that_the_machines_are_not():
    assert platform_problems("linux/amd64", ["g2-standard-8", "n2-standard-16"]) == []
    assert platform_problems("linux/arm64/v8", ["c4a-standard-16"]) == []
    assert platform_problems("linux/amd64", ["n2-standard-4", "c4a-standard-16"]) == [
        "platform linux/amd64: machines of type c4a-standard-16 are arm64"
    ]
    assert "linux/amd64 or linux/arm64 is needed" in platform_problems("amd64", [])[0]
