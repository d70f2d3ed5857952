# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The pod sandbox: one static program that does nothing. containerd ends it with SIGKILL.
ARG DEBIAN
FROM ${DEBIAN} AS debian

FROM scratch
COPY --from=debian /bin/busybox /busybox
ENTRYPOINT ["/busybox", "sleep", "infinity"]
