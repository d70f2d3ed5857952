# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What `controllers/image_configurator/Dockerfile` puts on a Python, on nothing: no engine is needed to make it,
# and the lab runs the controller as a process of this machine.
FROM scratch
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/packages:/app
WORKDIR /app/ansible_collections/inference/dra
COPY galaxy.ym[l] MANIFEST.jso[n] LICENSE ./
COPY plugins/module_utils/_ports/*.py plugins/module_utils/_ports/
COPY controllers/__init__.py controllers/
COPY controllers/image_configurator/*.py controllers/image_configurator/
USER 65532:65532
ENTRYPOINT ["python", "-m", "ansible_collections.inference.dra.controllers.image_configurator"]
