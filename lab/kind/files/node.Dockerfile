# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A node of a kind cluster: Debian, kind's own files (images/base of its module) and Kubernetes. Services are
# reduced as in kind's images/base/Dockerfile, because systemd in a container must leave the machine alone.
ARG DEBIAN
FROM ${DEBIAN}
COPY . /
RUN find /lib/systemd/system/sysinit.target.wants -name systemd-tmpfiles-setup.service -delete \
 && rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* \
          /lib/systemd/system/local-fs.target.wants/* /lib/systemd/system/basic.target.wants/* \
          /lib/systemd/system/sockets.target.wants/*udev* /lib/systemd/system/sockets.target.wants/*initctl* \
 && echo ReadKMsg=no >> /etc/systemd/journald.conf \
 && ln -sf /usr/lib/systemd/systemd /sbin/init \
 && systemctl enable kubelet.service containerd.service undo-mount-hacks.service \
 && systemctl mask systemd-binfmt.service \
 && mkdir -p /etc/kubernetes/manifests /etc/cni/net.d /opt/cni /kind/manifests \
 && ln -s /usr/lib/cni /opt/cni/bin \
 && ctr oci spec \
    | jq '.hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' \
    > /etc/containerd/cri-base.json
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/usr/local/sbin/start-init"]
