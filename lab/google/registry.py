# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""artifactregistry v1: repositories. Their content lives in an OCI registry that is not part of this.

Creating and deleting are ``google.longrunning`` operations, changing answers at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from . import defaults, places
from .cloud import Cloud, rfc3339
from .errors import CODES, ApiError, already_exists, invalid, not_found

Json = dict[str, Any]

REPOSITORY_ID = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
MULTI_REGIONS = ("us", "europe", "asia")
SECONDS: Mapping[str, float] = {"create": 15.0, "delete": 10.0}
CHANGEABLE = ("description", "labels", "dockerConfig", "cleanupPolicies", "cleanupPolicyDryRun")
SERVICE = "google.devtools.artifactregistry.v1"
DOMAIN = "artifactregistry.googleapis.com"


class Registry:
    """The Artifact Registry API of one cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def prefix(self, repository: str) -> str:
        """Return what image names of a repository begin with.

        :param repository: ``projects/P/locations/L/repositories/R``.
        """
        _unused, project, _unused, location, _unused, name = repository.split("/")
        host = self.cloud.registry or f"{location}-docker.pkg.dev"
        return f"{host}/{project}/{name}"

    def list_locations(self) -> Json:
        return {
            "locations": [
                {
                    "name": self.cloud.path(location),
                    "locationId": location,
                    "displayName": location,
                }
                for location in (*MULTI_REGIONS, *places.REGIONS)
            ]
        }

    def list_repositories(self, location: str) -> Json:
        self._check_location(location)
        parent = self.cloud.path(location) + "/"
        found = [
            self._message(item)
            for name, item in self.cloud.state.repositories.items()
            if location == "-" or name.startswith(parent)
        ]
        return {"repositories": found} if found else {}

    def get_repository(self, location: str, name: str) -> Json:
        return self._message(self._repository(location, name))

    def create_repository(self, location: str, name: str, repository: Json) -> Json:
        self._check_location(location)
        if not REPOSITORY_ID.fullmatch(name):
            raise invalid(f'Invalid repository id "{name}".')
        path = self.cloud.path(location, "repositories", name)
        if path in self.cloud.state.repositories:
            raise already_exists(path)
        if repository.get("format", "FORMAT_UNSPECIFIED") != "DOCKER":
            raise invalid("The lab keeps repositories of format DOCKER only.")
        mode = repository.get("mode", "")
        if mode not in ("", "MODE_UNSPECIFIED", "STANDARD_REPOSITORY"):
            raise invalid("The lab keeps repositories of mode STANDARD_REPOSITORY only.")
        now = rfc3339(self.cloud.timestamp())
        message = deepcopy(repository) | {
            "name": path,
            "mode": "STANDARD_REPOSITORY",
            "createTime": now,
            "updateTime": now,
            "satisfiesPzi": True,
            "vulnerabilityScanningConfig": {
                **repository.get("vulnerabilityScanningConfig", {}),
                "enablementState": "SCANNING_DISABLED",
            },
        }
        return self._begin("create", location, message)

    def update_repository(self, location: str, name: str, change: Json, mask: str) -> Json:
        """Change what the mask names (camel or snake case); without a mask, what is given."""
        item = self._repository(location, name)
        fields = [camel(field) for field in mask.split(",") if field] or list(change)
        for field in fields:
            top = field.partition(".")[0]
            if top not in CHANGEABLE and change.get(top) != item.get(top):
                raise invalid(f"Field {top} of a repository cannot be changed.")
        for field in {field.partition(".")[0] for field in fields}.intersection(CHANGEABLE):
            item[field] = deepcopy(change.get(field))
        item["updateTime"] = rfc3339(self.cloud.timestamp())
        self.cloud.changed("repository", item["name"])
        return self._message(item)

    def delete_repository(self, location: str, name: str) -> Json:
        item = self._repository(location, name)
        return self._begin("delete", location, item)

    def get_operation(self, location: str, name: str) -> Json:
        """Return an operation; it carries out what it stands for when its time has come."""
        path = self.cloud.path(location, "operations", name)
        operation = self.cloud.state.repository_operations.get(path)
        if operation is None or self.cloud.faults.take("operation-lost", type=_kind(operation)):
            raise not_found(path)
        self._settle(operation)
        return self._operation_message(operation)

    def has_operation(self, location: str, name: str) -> bool:
        path = self.cloud.path(location, "operations", name)
        return path in self.cloud.state.repository_operations

    def settle(self) -> None:
        """End the operations whose time has come."""
        for operation in self.cloud.state.repository_operations.values():
            self._settle(operation)

    def _begin(self, action: str, location: str, message: Json) -> Json:
        token = self.cloud.token()
        name = f"{token[:8]}-{token[8:12]}-{token[12:16]}-{token[16:20]}-{token[20:]}"
        path = self.cloud.path(location, "operations", name)
        operation = {
            "name": path,
            "action": action,
            "target": message["name"],
            "repository": message,
            "due": self.cloud.timestamp() + self.cloud.delay(SECONDS[action]),
            "done": False,
            "error": None,
        }
        self.cloud.state.repository_operations[path] = operation
        self.cloud.changed("operation", path)
        return self._operation_message(operation)

    def _settle(self, operation: Json) -> None:
        if operation["done"] or self.cloud.timestamp() < operation["due"]:
            return
        kind = _kind(operation)
        if self.cloud.faults.peek("operation-stuck", type=kind):
            return
        operation["done"] = True
        failure = self.cloud.faults.take("operation-fails", type=kind)
        repositories = self.cloud.state.repositories
        if failure:
            operation["error"] = {"code": failure["code"], "message": failure["message"]}
        elif operation["action"] == "delete":
            repositories.pop(operation["target"], None)
        elif operation["target"] in repositories:
            exists = already_exists(operation["target"])
            operation["error"] = {"code": CODES[exists.status][0], "message": exists.message}
        else:
            repositories[operation["target"]] = operation["repository"]
        self.cloud.changed("repository", operation["target"])

    def _operation_message(self, operation: Json) -> Json:
        message: Json = {
            "name": operation["name"],
            "metadata": {"@type": f"type.googleapis.com/{SERVICE}.OperationMetadata"},
        }
        if not operation["done"]:
            return message
        message["done"] = True
        if operation["error"]:
            message["error"] = operation["error"]
        elif operation["action"] == "create":
            repository = {"@type": f"type.googleapis.com/{SERVICE}.Repository"}
            message["response"] = repository | self._message(operation["repository"])
        else:
            message["response"] = {"@type": "type.googleapis.com/google.protobuf.Empty"}
        return message

    def _message(self, item: Json) -> Json:
        message: Json = defaults.strip(item | {"registryUri": self.prefix(item["name"])})
        return message

    def _repository(self, location: str, name: str) -> Json:
        self._check_location(location)
        self.settle()
        path = self.cloud.path(location, "repositories", name)
        try:
            return self.cloud.state.repositories[path]
        except KeyError:
            raise ApiError("NOT_FOUND", f'Requested entity was not found: "{path}".') from None

    def _check_location(self, location: str) -> None:
        known = location in (*MULTI_REGIONS, "-") or location in places.REGIONS
        if not known:
            raise invalid(f'Location "{location}" does not exist.')


def _kind(operation: Json) -> str:
    """Return what faults call an operation (``CREATE_REPOSITORY``)."""
    return f"{operation['action'].upper()}_REPOSITORY"


def camel(field: str) -> str:
    """Return a field name in JSON spelling (``docker_config`` -> ``dockerConfig``)."""
    head, *rest = field.split("_")
    return head + "".join(part.capitalize() for part in rest)
