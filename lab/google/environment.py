# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment in which gcloud, and this collection's modules, talk to the lab."""

from __future__ import annotations

# gcloud's property names of the APIs (`gcloud topic configurations`), with the path each begins at.
_GCLOUD_APIS = {
    "CONTAINER": "",
    "ARTIFACTREGISTRY": "",
    "SERVICEUSAGE": "",
    "CLOUDRESOURCEMANAGER": "",
    "COMPUTE": "compute/v1/",
}


def environment(endpoint: str, project: str, token_file: str) -> dict[str, str]:
    """Return environment variables that point gcloud and Google's Python clients at the lab.

    :param endpoint: ``http://127.0.0.1:PORT``.
    :param token_file: a file with any token in it, so that gcloud asks nobody for one. Google's
        Python clients read no endpoint from the environment: this collection's modules take
        ``GKE_API_ENDPOINT`` and, for a loopback address, need no credentials.
    """
    variables = {
        f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": f"{endpoint}/{path}" for api, path in _GCLOUD_APIS.items()
    }
    if token_file:
        variables["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] = token_file
    return variables | {
        "CLOUDSDK_CORE_PROJECT": project,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "GOOGLE_CLOUD_PROJECT": project,
        "GCP_PROJECT": project,
        "GKE_API_ENDPOINT": endpoint,
    }
