# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that speak to Google's APIs."""

from __future__ import annotations


class ModuleDocFragment:
    # Authentication, by the names and environment variables of google.cloud, and the address.
    DOCUMENTATION = r"""
options:
  project:
    description:
      - The Google Cloud project.
      - Taken from the environment variable E(GCP_PROJECT), then from the credentials, where it is not given.
    type: str
  auth_kind:
    description:
      - The kind of credentials. Application default credentials where nothing is given.
      - Taken from the environment variable E(GCP_AUTH_KIND) where it is not given.
    type: str
    choices:
      accesstoken: The token in O(access_token).
      application: Application default credentials.
      machineaccount: The service account of the machine the module runs on.
      serviceaccount: The key in O(service_account_file) or O(service_account_contents).
  service_account_file:
    description:
      - Path of a service account key, on the host where the module runs.
      - Taken from the environment variable E(GCP_SERVICE_ACCOUNT_FILE) where it is not given.
    type: path
  service_account_contents:
    description:
      - A service account key, as JSON text or as a dictionary.
      - Taken from the environment variable E(GCP_SERVICE_ACCOUNT_CONTENTS) where it is not given.
    type: jsonarg
  service_account_email:
    description:
      - The service account to use with O(auth_kind=machineaccount) in the place of the machine's default one.
      - Taken from the environment variable E(GCP_SERVICE_ACCOUNT_EMAIL) where it is not given.
    type: str
  access_token:
    description:
      - An access token, good for about one hour.
      - Taken from the environment variable E(GCP_ACCESS_TOKEN) where it is not given.
    type: str
  scopes:
    description:
      - OAuth scopes of the credentials. V(https://www.googleapis.com/auth/cloud-platform) where nothing is given.
      - Taken from the environment variable E(GCP_SCOPES) where it is not given.
    type: list
    elements: str
  api_endpoint:
    description:
      - Address of all Google APIs in the place of Google's own, such as that of the lab.
      - V(http://) is accepted for loopback only. No credentials are needed there.
      - Taken from the environment variable E(GKE_API_ENDPOINT) where it is not given.
      - Taken from the environment variable E(GKE_API_ENDPOINT) where it is not given.
    type: str
requirements:
  - google-auth
  - requests
"""

    CONTAINER = r"""
options: {}
requirements:
  - google-cloud-container >= 2.50.0; newer options name the release they need when they are used
"""

    # What every module that changes something returns, and how it waits.
    WAIT = r"""
options:
  wait:
    description:
      - Whether to wait until Google is done.
      - With V(false) a creation or deletion is left under way, and the time is free for other work. What is in its way is waited for, and
        so is any other change.
      - What becomes of it is not known without waiting, so follow it with a run that waits.
    type: bool
    default: true
  timeout_seconds:
    description:
      - How long to wait for everything together, in seconds.
      - What still runs then goes on running at Google. The failure names the operation, and the next run waits for it.
      - A stock-out takes GKE about 35 minutes to report, longer than the 30 minutes that gcloud waits.
    type: int
    default: 2700
"""
