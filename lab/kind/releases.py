# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which programs and images a kind cluster is made of; pure data, like ``lab/releases.py``."""

from __future__ import annotations

from ..releases import KUBERNETES, Binary, Release, kubernetes
from ..releases import catalogue as lab_catalogue

KIND = "0.33.0"
CONTAINERD = "2.4.2"
CRICTL = "1.36.0"

# The tags that kubeadm asks for (kubernetes v1.36.3, cmd/kubeadm/app/constants).
PAUSE_TAG = "3.10.2"
ETCD_TAG = "3.6.8-0"
COREDNS = "1.14.2"

DEBIAN = "bookworm"  # the last whose systemd (252) supports cgroup v1
NODE_IMAGE = f"docker.io/kindest/node:v{KUBERNETES}"
BUILT_NODE_IMAGE = "inference-dra.local/node"
GITHUB = "https://github.com"


def tool_catalogue(os: str = "linux", arch: str = "amd64") -> tuple[Binary, ...]:
    """Return the programs for the person or playbook beside a kind cluster."""
    path = f"kubernetes-sigs/kind/releases/download/v{KIND}/kind-{os}-{arch}"
    kind = Binary(
        name="kind",
        version=KIND,
        module=f"sigs.k8s.io/kind@v{KIND}",
        package="sigs.k8s.io/kind",
        release=Release(GITHUB, path, f"{path}.sha256sum"),
    )
    return (*_from_lab("kubectl", os, arch), *_from_lab("helm", os, arch), kind)


def node_catalogue(os: str = "linux", arch: str = "amd64") -> tuple[Binary, ...]:
    """Return the programs inside a node image and inside the images that kubeadm starts."""
    containerd_tar = f"containerd/containerd/releases/download/v{CONTAINERD}"
    containerd_tar += f"/containerd-{CONTAINERD}-{os}-{arch}.tar.gz"
    crictl_tar = f"kubernetes-sigs/cri-tools/releases/download/v{CRICTL}/crictl-v{CRICTL}-{os}-{arch}.tar.gz"
    coredns_tar = f"coredns/coredns/releases/download/v{COREDNS}/coredns_{COREDNS}_{os}_{arch}.tgz"
    servers = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd")
    return (
        *(program for name in servers for program in _from_lab(name, os, arch)),
        *(kubernetes(name, KUBERNETES, os, arch) for name in ("kubelet", "kubeadm", "kube-proxy")),
        *(
            Binary(
                name=name,
                version=CONTAINERD,
                module=f"github.com/containerd/containerd/v2@v{CONTAINERD}",
                package=f"github.com/containerd/containerd/v2/cmd/{name}",
                release=Release(GITHUB, containerd_tar, f"{containerd_tar}.sha256sum", member=f"bin/{name}"),
                ldflags=f"-X github.com/containerd/containerd/v2/version.Version=v{CONTAINERD}",
            )
            for name in ("containerd", "ctr", "containerd-shim-runc-v2")
        ),
        Binary(
            name="crictl",
            version=CRICTL,
            module=f"sigs.k8s.io/cri-tools@v{CRICTL}",
            package="sigs.k8s.io/cri-tools/cmd/crictl",
            release=Release(GITHUB, crictl_tar, f"{crictl_tar}.sha256", member="crictl"),
            ldflags=f"-X sigs.k8s.io/cri-tools/pkg/version.Version=v{CRICTL}",
        ),
        Binary(
            name="coredns",
            version=COREDNS,
            module=f"github.com/coredns/coredns@v{COREDNS}",
            package=".",
            release=Release(GITHUB, coredns_tar, f"{coredns_tar}.sha256", member="coredns"),
            main=_coredns_main(),
        ),
    )


def _coredns_main() -> str:
    """Return CoreDNS with the plugins of kubeadm's Corefile; all of them would bring every cloud's client."""
    plugins = "cache errors forward health kubernetes loadbalance loop metrics ready reload".split()
    imports = [f'_ "github.com/coredns/coredns/plugin/{name}"' for name in plugins]
    lines = "\n\t".join(['"github.com/coredns/coredns/coremain"', *imports])
    return f"package main\n\nimport (\n\t{lines}\n)\n\nfunc main() {{ coremain.Run() }}\n"


def _from_lab(name: str, os: str, arch: str) -> tuple[Binary, ...]:
    return tuple(program for program in lab_catalogue(os, arch) if program.name == name)
