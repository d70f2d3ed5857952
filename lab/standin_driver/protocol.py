# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two gRPC services a DRA driver has towards kubelet, as a table of messages.

Source: k8s.io/kubelet pkg/apis/dra/v1/api.proto and pkg/apis/pluginregistration/v1/api.proto (1.36).
The messages are built from the table at run time, so there is no generated code to keep in step. An
``optional`` string and an ordinary one are the same on the wire as long as nobody sends an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DRA = "k8s.io.kubelet.pkg.apis.dra.v1"
REGISTRATION = "pluginregistration"
SUPPORTED_VERSION = "v1.DRAPlugin"
PLUGIN_TYPE = "DRAPlugin"

Fields = Mapping[str, tuple[int, str]]
"""Field name → number and type: a scalar, a message of the same package, ``repeated X`` or ``map X``."""

MESSAGES: Mapping[str, Mapping[str, Fields]] = {
    DRA: {
        "Claim": {"namespace": (1, "string"), "uid": (2, "string"), "name": (3, "string")},
        "Device": {
            "request_names": (1, "repeated string"),
            "pool_name": (2, "string"),
            "device_name": (3, "string"),
            "cdi_device_ids": (4, "repeated string"),
            "share_id": (5, "string"),
        },
        "NodePrepareResourcesRequest": {"claims": (1, "repeated Claim")},
        "NodePrepareResourceResponse": {"devices": (1, "repeated Device"), "error": (2, "string")},
        "NodePrepareResourcesResponse": {"claims": (1, "map NodePrepareResourceResponse")},
        "NodeUnprepareResourcesRequest": {"claims": (1, "repeated Claim")},
        "NodeUnprepareResourceResponse": {"error": (1, "string")},
        "NodeUnprepareResourcesResponse": {"claims": (1, "map NodeUnprepareResourceResponse")},
    },
    REGISTRATION: {
        "PluginInfo": {
            "type": (1, "string"),
            "name": (2, "string"),
            "endpoint": (3, "string"),
            "supported_versions": (4, "repeated string"),
        },
        "RegistrationStatus": {"plugin_registered": (1, "bool"), "error": (2, "string")},
        "RegistrationStatusResponse": {},
        "InfoRequest": {},
    },
}
SERVICES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    f"{DRA}.DRAPlugin": {
        "NodePrepareResources": ("NodePrepareResourcesRequest", "NodePrepareResourcesResponse"),
        "NodeUnprepareResources": ("NodeUnprepareResourcesRequest", "NodeUnprepareResourcesResponse"),
    },
    f"{REGISTRATION}.Registration": {
        "GetInfo": ("InfoRequest", "PluginInfo"),
        "NotifyRegistrationStatus": ("RegistrationStatus", "RegistrationStatusResponse"),
    },
}

Proto = descriptor_pb2.FieldDescriptorProto
SCALARS = {"string": Proto.TYPE_STRING, "bool": Proto.TYPE_BOOL}


def _describe(package: str, messages: Mapping[str, Fields]) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field_name, (number, kind) in fields.items():
            label, _unused, of = kind.rpartition(" ")
            field = message.field.add(name=field_name, number=number)
            field.label = Proto.LABEL_REPEATED if label else Proto.LABEL_OPTIONAL
            if label == "map":
                of = _add_entry(package, message, field_name, of)
            if of in SCALARS:
                field.type = SCALARS[of]
            else:
                field.type, field.type_name = Proto.TYPE_MESSAGE, f".{package}.{of}"
    return file


def _add_entry(package: str, message: Any, field_name: str, of: str) -> str:
    """Add the message a ``map<string, of>`` stands for; return its name below the package."""
    entry = message.nested_type.add(name=f"{field_name.capitalize()}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=Proto.LABEL_OPTIONAL, type=Proto.TYPE_STRING)
    value = entry.field.add(name="value", number=2, label=Proto.LABEL_OPTIONAL, type=Proto.TYPE_MESSAGE)
    value.type_name = f".{package}.{of}"
    return f"{message.name}.{entry.name}"


_pool = descriptor_pool.DescriptorPool()
for _package, _messages in MESSAGES.items():
    _pool.Add(_describe(_package, _messages))


def message(package: str, name: str) -> Any:
    """Return the class of a message."""
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{package}.{name}"))


def handler(service: str, methods: Mapping[str, Callable[[Any, Any], Any]]) -> grpc.GenericRpcHandler:
    """Return the gRPC handler of a service whose methods take ``(request, context)``."""
    package = service.rpartition(".")[0]
    return grpc.method_handlers_generic_handler(
        service,
        {
            name: grpc.unary_unary_rpc_method_handler(
                methods[name],
                request_deserializer=message(package, request).FromString,
                response_serializer=message(package, answer).SerializeToString,
            )
            for name, (request, answer) in SERVICES[service].items()
        },
    )
