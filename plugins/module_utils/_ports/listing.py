# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A list of objects, fetched a page at a time (Kubernetes API concepts, chunked lists)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .resources import Resource

PAGE = 500

Query = Mapping[str, str]


class Listing:
    """The items of a list, one by one; afterwards ``resource_version``.

    :param fetch: returns the page that a query asks for.
    """

    def __init__(self, fetch: Callable[[Query], dict[str, Any]], resource: Resource, query: Query) -> None:
        self._fetch = fetch
        self._resource = resource
        self._query = {**query, "limit": str(PAGE)}
        self.resource_version = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            page = self._fetch(self._query | ({"continue": token} if token else {}))
            # The first page's version is the one the whole list is consistent with.
            self.resource_version = self.resource_version or page["metadata"]["resourceVersion"]
            token = page["metadata"].get("continue", "")
            for item in page.get("items") or []:
                yield {
                    "apiVersion": self._resource.api_version,
                    "kind": self._resource.kind,
                    **item,
                }
            if not token:
                return
