# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What `lab/model_server/Dockerfile` puts on a Python, on nothing: no engine is needed to make it, and nothing
# in a lab runs an image. Its name, digest and architecture are what counts there.
FROM scratch
ARG BUILD=cuda
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/packages:/app MODEL_SERVER_BUILD=${BUILD}
WORKDIR /app/ansible_collections/inference/dra
COPY plugins/module_utils/_ports plugins/module_utils/_ports
COPY lab/__init__.py lab/errors.py lab/faults.py lab/state.py lab/
COPY lab/google lab/google
COPY lab/hardware lab/hardware
COPY lab/serving lab/serving
COPY lab/standin_driver lab/standin_driver
COPY lab/model_server lab/model_server
USER 65532:65532
EXPOSE 8000
ENTRYPOINT ["python", "-m", "ansible_collections.inference.dra.lab.model_server"]
