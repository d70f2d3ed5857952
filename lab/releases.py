# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which programs the lab runs, in which version, and the two places each can come from.

Pure data: nothing here reads a file or a network. ``binaries.py`` acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

KUBERNETES = "1.36.3"
ETCD = "3.6.16"
KWOK = "0.8.0"
HELM = "3.22.0"
CRANE = "0.22.1"

# The modules that k8s.io/kubernetes keeps in its own tree and therefore requires at v0.0.0; a build
# from the module proxy has to name their published versions (kubernetes/kubernetes go.mod, "replace").
STAGING_MODULES = (
    "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider "
    "cluster-bootstrap code-generator component-base component-helpers controller-manager cri-api "
    "cri-client cri-streaming csi-translation-lib dynamic-resource-allocation endpointslice "
    "externaljwt kms kube-aggregator kube-controller-manager kube-proxy kube-scheduler kubectl "
    "kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin "
    "sample-controller streaming"
).split()


@dataclass(frozen=True)
class Release:
    """An official download: ``url`` and ``checksums`` are relative to the mirror or ``base``.

    ``member`` names the file inside a tar archive; without it the download is the program itself.
    ``checksums`` is a text file of ``<sha256>  <name>`` lines, or the bare digest.
    """

    base: str
    url: str
    checksums: str
    member: str = ""


@dataclass(frozen=True)
class Binary:
    """One program: its version, its Go source, and its official release (``None``: build only)."""

    name: str
    version: str
    module: str
    package: str
    release: Release | None = None
    ldflags: str = ""
    replace: tuple[tuple[str, str], ...] = field(default=())
    main: str = ""
    """Source of a main package, where upstream's own is not importable as a module."""


def kubernetes(name: str, version: str, os: str, arch: str) -> Binary:
    staging = version.replace("1.", "0.", 1)
    minor = version.split(".")[1]
    stamp = "k8s.io/component-base/version"
    # Without the version stamp the server reports v0.0.0 and clients misbehave.
    flags = (
        f"-X {stamp}.gitVersion=v{version} -X {stamp}.gitMajor=1 -X {stamp}.gitMinor={minor} "
        f"-X k8s.io/client-go/pkg/version.gitVersion=v{version} -X {stamp}.gitTreeState=clean"
    )
    path = f"release/v{version}/bin/{os}/{arch}/{name}"
    return Binary(
        name=name,
        version=version,
        module=f"k8s.io/kubernetes@v{version}",
        package=f"k8s.io/kubernetes/cmd/{name}",
        release=Release("https://dl.k8s.io", path, f"{path}.sha256"),
        ldflags=flags,
        replace=tuple((f"k8s.io/{name}", f"v{staging}") for name in STAGING_MODULES),
    )


def catalogue(os: str = "linux", arch: str = "amd64") -> tuple[Binary, ...]:
    """Return every program of the lab, the slowest build first (its compile serves the others)."""
    github = "https://github.com"
    etcd_dir = f"etcd-v{ETCD}-{os}-{arch}"
    crane_arch = {"amd64": "x86_64"}.get(arch, arch)
    kwok_path = f"kubernetes-sigs/kwok/releases/download/v{KWOK}"
    crane_path = f"google/go-containerregistry/releases/download/v{CRANE}"
    helm_tar = f"helm-v{HELM}-{os}-{arch}.tar.gz"
    helm_version = KUBERNETES.split(".")
    return (
        *(
            kubernetes(name, KUBERNETES, os, arch)
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
        ),
        Binary(
            name="etcd",
            version=ETCD,
            module=f"go.etcd.io/etcd/server/v3@v{ETCD}",
            package=".",
            release=Release(
                github,
                f"etcd-io/etcd/releases/download/v{ETCD}/{etcd_dir}.tar.gz",
                f"etcd-io/etcd/releases/download/v{ETCD}/SHA256SUMS",
                member=f"{etcd_dir}/etcd",
            ),
            main=(
                'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\n'
                "func main() { etcdmain.Main(os.Args) }\n"
            ),
        ),
        *(
            Binary(
                name=name,
                version=KWOK,
                module=f"sigs.k8s.io/kwok@v{KWOK}",
                package=f"sigs.k8s.io/kwok/cmd/{name}",
                release=Release(
                    github,
                    f"{kwok_path}/{name}-{os}-{arch}",
                    f"{kwok_path}/{name}-{os}-{arch}.sha256",
                ),
                ldflags=f"-X sigs.k8s.io/kwok/pkg/consts.Version=v{KWOK}",
            )
            for name in ("kwok", "kwokctl")
        ),
        Binary(
            name="helm",
            version=HELM,
            module=f"helm.sh/helm/v3@v{HELM}",
            package="helm.sh/helm/v3/cmd/helm",
            release=Release("https://get.helm.sh", helm_tar, f"{helm_tar}.sha256sum", f"{os}-{arch}/helm"),
            # Without these `helm template` takes every cluster for v1.20.0.
            ldflags=(
                f"-X helm.sh/helm/v3/internal/version.version=v{HELM} "
                f"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor={helm_version[0]} "
                f"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor={helm_version[1]}"
            ),
        ),
        Binary(
            name="crane",
            version=CRANE,
            module=f"github.com/google/go-containerregistry@v{CRANE}",
            package="github.com/google/go-containerregistry/cmd/crane",
            release=Release(
                github,
                f"{crane_path}/go-containerregistry_{os.capitalize()}_{crane_arch}.tar.gz",
                f"{crane_path}/checksums.txt",
                member="crane",
            ),
            ldflags=f"-X github.com/google/go-containerregistry/cmd/crane/cmd.Version=v{CRANE}",
        ),
    )
