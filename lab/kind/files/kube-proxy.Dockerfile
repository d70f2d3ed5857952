# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# kube-proxy in nftables mode: its program, nft, and the libraries nft loads.
ARG DEBIAN
FROM ${DEBIAN} AS debian
RUN mkdir /nft && cp --parents --dereference /usr/sbin/nft $(ldd /usr/sbin/nft | grep -o '/lib[^ ]*') /nft

FROM scratch
COPY --from=debian /nft /
COPY kube-proxy /usr/local/bin/
ENV PATH=/usr/local/bin:/usr/sbin
