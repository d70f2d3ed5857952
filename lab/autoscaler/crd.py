# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The definition of ``cloud.google.com/v1`` ComputeClass that the lab installs.

Fields, enumerations, limits and rules follow Google's public API (GoogleCloudPlatform/compute-class-api,
2026-08-21); the text is the lab's own, and a conformance test holds both side by side. Two deep
branches, ``nodeSystemConfig`` and ``instanceMetadata``'s list of reserved keys, are taken as they come:
nothing in the lab reads them.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.dra.plugins.module_utils._ports.kubernetes import (
    Kubernetes,
    Resource,
)

from .schema import Schema, flag, labels, number, one_of, record, rule, several, text

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)

ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OFF = flag(default=False)
SWITCH = record("enabled", enabled=OFF)
STRATEGY = one_of("lowest-cost", "fleet-efficiency")
DURATION = text(pattern=r"^[0-9]+(\.[0-9]{1,9})?s$", maxLength=32)
TAINTS = several(
    record(
        "key effect",
        key=text(maxLength=320),
        value=text(maxLength=63, pattern="^([a-z0-9][-A-Za-z0-9_.]{1,61})?[A-Za-z0-9]$"),
        effect=one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
    ),
    maxItems=100,
)
LOCATION = record(
    zones=several(text(), minItems=1),
    zoneTypes=several(one_of("STANDARD", "AI", "CLUSTER_DEFAULT"), minItems=1, maxItems=3),
    locationPolicy=one_of("ANY", "BALANCED"),
)
CPU_PLATFORMS = (
    *(
        f"Intel {name}"
        for name in (
            "Sandy Bridge",
            "Ivy Bridge",
            "Haswell",
            "Broadwell",
            "Skylake",
            "Cascade Lake",
            "Ice Lake",
            "Sapphire Rapids",
            "Emerald Rapids",
            "Granite Rapids",
        )
    ),
    *(f"AMD {name}" for name in ("Rome", "Milan", "Genoa", "Turin")),
    "Ampere Altra",
    "Google Axion",
    "Nvidia Grace",
)
GPU = record(
    type=text(),
    count=number(0),
    topology=text(),
    driverVersion=text(default="default", enum=["default", "latest", "autoinstall-disabled"]),
    gpuSharing=record(
        sharingStrategy=one_of("MPS", "TIME_SHARING"),
        maxSharedClientsPerGPU=number(0),
        gpuPartitionSize=text(),
    ),
)
RESERVATIONS = record(
    "affinity",
    rules=[
        rule(
            "(has(self.specific) && size(self.specific) > 0) == (self.affinity == 'Specific')",
            "specific reservations go with affinity Specific, and with no other",
        )
    ],
    affinity=one_of("Specific", "AnyBestEffort", "None", "AnyThenFail"),
    specific=several(
        record(
            "name",
            name=text(),
            project=text(),
            zones=several(text(), minItems=1),
            reservationBlock=record("name", name=text(), reservationSubBlock=record("name", name=text())),
        )
    ),
)
STORAGE = record(
    rules=[
        rule(
            "!has(self.bootDiskStoragePools) || !has(self.bootDiskType) || "
            "self.bootDiskType == 'hyperdisk-balanced'",
            "storage pools hold boot disks of type hyperdisk-balanced only",
        ),
        rule(
            "has(self.bootDiskProvisionedIops) == has(self.bootDiskProvisionedThroughput) && "
            "(!has(self.bootDiskProvisionedIops) || "
            "(has(self.bootDiskType) && self.bootDiskType == 'hyperdisk-balanced'))",
            "provisioned IOPS and throughput go together, on a boot disk of type hyperdisk-balanced",
        ),
    ],
    bootDiskKMSKey=text(pattern="projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+"),
    bootDiskProvisionedIops=number(2000, 160000),
    bootDiskProvisionedThroughput=number(140, 2400),
    bootDiskSize=number(10),
    bootDiskStoragePools=several(
        text(pattern="^projects/[a-z0-9-]+/zones/[a-z0-9-]+/storagePools/[a-z0-9-]+$"), minItems=1
    ),
    bootDiskType=one_of("pd-balanced", "pd-standard", "pd-ssd", "hyperdisk-balanced"),
    localSSDCount=number(1),
    secondaryBootDisks=several(
        record(
            "diskImageName",
            diskImageName=text(),
            project=text(),
            mode=one_of("MODE_UNSPECIFIED", "CONTAINER_IMAGE_CACHE"),
        )
    ),
)
MINIMUM = record(targetNodeCount=number())
NAMES_MACHINES = (
    "has({0}.machineType) || has({0}.gpu) || has({0}.tpu) || "
    "(has({0}.reservations) && {0}.reservations.affinity == 'Specific')"
)
PRIORITY_RULES = [
    rule(
        "!has(self.nodepools) || size(dyn(self)) == 1 + (has(self.allocationStrategy) ? 1 : 0) "
        "+ (has(self.priorityScore) ? 1 : 0)",
        "nodepools goes with allocationStrategy and priorityScore only",
    ),
    rule("!(has(self.machineFamily) && has(self.machineType))", "machineFamily or machineType, not both"),
    rule(
        "!has(self.machineType) || !(has(self.minCores) || has(self.minMemoryGb))",
        "machineType already says how many cores and how much memory",
    ),
    rule("!has(self.machineFamily) || self.machineFamily != 'ek'", "machine family ek cannot be chosen"),
    rule("!has(self.machineType) || !self.machineType.startsWith('ek')", "machine types ek cannot be chosen"),
    rule(
        "!(has(self.flexStart) && self.flexStart.enabled && has(self.spot) && self.spot)",
        "flexStart and spot exclude each other",
    ),
    rule(
        "!has(self.capacityCheckWaitTimeSeconds) || has(self.tpu) || "
        "(has(self.flexStart) && self.flexStart.enabled)",
        "capacityCheckWaitTimeSeconds is for flexStart and for TPUs",
    ),
    rule(
        "!(has(self.gpuDirect) && self.gpuDirect == 'rdma') || has(self.acceleratorNetworkProfile)",
        "gpuDirect rdma needs an acceleratorNetworkProfile",
    ),
    rule(
        "!(has(self.minimumCapacity) && has(self.minimumCapacity.targetNodeCount)) || "
        + NAMES_MACHINES.format("self"),
        "minimumCapacity needs a machineType, gpu, tpu or specific reservation",
    ),
]
PRIORITY = record(
    rules=PRIORITY_RULES,
    nodepools=several(text()),
    machineFamily=text(maxLength=10),
    machineType=text(maxLength=100),
    minCores=number(0),
    minMemoryGb=number(0),
    minCpuPlatform=one_of(*CPU_PLATFORMS),
    spot=flag(),
    gpu=GPU,
    gpuDirect=one_of("rdma"),
    acceleratorNetworkProfile=text(maxLength=63, pattern="^[a-z]([a-z0-9-]*[a-z0-9])?$"),
    tpu=record(type=text(), count=number(), topology=text()),
    reservations=RESERVATIONS,
    flexStart=record(
        "enabled",
        enabled=OFF,
        nodeRecycling=record("leadTimeSeconds", leadTimeSeconds=number(1, 604800)),
    ),
    maxRunDurationSeconds=number(),
    capacityCheckWaitTimeSeconds=number(1, 86400),
    location=LOCATION,
    placement=record("policyName", policyName=text(minLength=1)),
    podFamily=one_of("general-purpose", "general-purpose-arm"),
    priorityScore=number(1, 1000),
    allocationStrategy=STRATEGY,
    maxPodsPerNode=number(8, 256),
    nodeLabels=labels(100),
    taints=TAINTS,
    instanceMetadata=labels(32),
    nodeSystemConfig=ANYTHING,
    storage=STORAGE,
    minimumCapacity=MINIMUM,
    enableNestedVirtualization=flag(),
) | {"minProperties": 1}

NODE_POOL_CONFIG = record(
    rules=[
        rule(
            "has(self.customImageConfig) == (has(self.imageType) && self.imageType == 'custom_containerd')",
            "customImageConfig goes with imageType custom_containerd, and with no other",
        )
    ],
    imageType=one_of("cos_containerd", "ubuntu_containerd", "custom_containerd"),
    customImageConfig=record("imageName imageProjectId", imageName=text(), imageProjectId=text()),
    serviceAccount=text(),
    nodeLabels=labels(100),
    taints=TAINTS,
    nodeVersion=text(),
    autoRepair=flag(),
    autoUpgrade=flag(),
    ipType=one_of("public", "private"),
    gvnic=SWITCH,
    imageStreaming=SWITCH,
    loggingConfig=record(loggingVariantConfig=record(variant=one_of("DEFAULT", "MAX_THROUGHPUT"))),
    confidentialNodeType=one_of("CONFIDENTIAL_INSTANCE_TYPE_UNSPECIFIED", "SEV", "SEV_SNP", "TDX"),
    workloadType=one_of("HIGH_AVAILABILITY", "HIGH_THROUGHPUT"),
    workloadMetadata=one_of("GCE_METADATA", "GKE_METADATA"),
    sandbox=record(type=one_of("gvisor", "microvm")),
    resourceManagerTags=several(record("key value", key=text(), value=text()), maxItems=5),
    instanceMetadata=labels(32),
    nodeDrainConfig=record(
        graceTerminationDuration=DURATION,
        pdbTimeoutDuration=DURATION,
        respectPdbDuringNodePoolDeletion=flag(),
    ),
    taintConfig=record(architectureTaintBehavior=one_of("NONE", "ARM")),
    maintenanceExclusion=text(),
    dra=record(networking=record(enabled=OFF)),
    tpu=record(driverMode=text(default="DevicePlugin", enum=["DevicePlugin", "DynamicResourceAllocation"])),
)
AUTOPILOT = "has(self.autopilot) && self.autopilot.enabled"
SPEC_RULES = [
    rule("!has(oldSelf.autopilot) || has(self.autopilot)", "autopilot cannot be taken away"),
    rule(
        f"!({AUTOPILOT}) || !self.priorities.exists(p, has(p.nodepools))",
        "with autopilot there are no node pools to name",
    ),
    rule(
        f"!({AUTOPILOT}) || !has(self.nodePoolAutoCreation) || self.nodePoolAutoCreation.enabled",
        "with autopilot, nodePoolAutoCreation stays on",
    ),
    rule(
        f"!({AUTOPILOT}) || !has(self.nodePoolConfig) || !has(self.nodePoolConfig.imageType) || "
        "self.nodePoolConfig.imageType == 'cos_containerd'",
        "with autopilot, the image type is cos_containerd",
    ),
    rule(
        f"!self.priorities.exists(p, has(p.podFamily)) || ({AUTOPILOT})",
        "podFamily needs autopilot",
    ),
    rule(
        "!has(self.nodePoolConfig) || !has(self.nodePoolConfig.workloadType) || has(self.nodePoolGroup) || "
        "self.nodePoolConfig.workloadType == 'HIGH_AVAILABILITY'",
        "without a nodePoolGroup the workload type is HIGH_AVAILABILITY",
    ),
    rule(
        "!has(self.nodePoolConfig) || !has(self.nodePoolConfig.confidentialNodeType) || "
        "self.priorities.all(p, has(p.machineFamily) || has(p.machineType))",
        "confidential nodes need a machineFamily or machineType in each priority",
    ),
    rule(
        "self.priorities.all(p, has(p.priorityScore)) || self.priorities.all(p, !has(p.priorityScore))",
        "priorityScore is set for all priorities or for none",
    ),
    rule(
        "self.priorities.all(p, !has(p.gpu) || !has(p.gpu.topology) || "
        "(((has(p.machineFamily) && p.machineFamily == 'a4x') || "
        "(has(p.gpu.type) && p.gpu.type == 'nvidia-gb200')) && has(p.placement)))",
        "a GPU topology is for A4X machines with a placement policy",
    ),
    rule(
        "!(has(self.minimumCapacity) && has(self.minimumCapacity.targetNodeCount)) || "
        f"self.priorities.all(p, {NAMES_MACHINES.format('p')})",
        "minimumCapacity needs machines named in each priority",
    ),
]
SPEC = record(
    "whenUnsatisfiable",
    rules=SPEC_RULES,
    whenUnsatisfiable=text(default="DoNotScaleUp", enum=["ScaleUpAnyway", "DoNotScaleUp"]),
    description=text(),
    activeMigration=record(
        "optimizeRulePriority", optimizeRulePriority=OFF, ensureAllDaemonSetPodsRunning=flag()
    ),
    autoscalingPolicy=record(
        consolidationDelayMinutes=number(1, 1440),
        consolidationThreshold=number(0, 100),
        gpuConsolidationThreshold=number(0, 100),
    ),
    nodePoolAutoCreation=record(
        "enabled",
        enabled=OFF,
        dynamicBootDiskSize=flag(),
        dynamicMaxPodsPerNode=flag(),
        shieldedInstanceConfig=record(enableIntegrityMonitoring=flag(default=True), enableSecureBoot=OFF),
    )
    | {"default": {"enabled": False}},
    autopilot=record("enabled", rules=[rule("self == oldSelf", "autopilot cannot be changed")], enabled=OFF),
    nodePoolConfig=NODE_POOL_CONFIG,
    nodePoolGroup=record("name", name=text(minLength=1)),
    minimumCapacity=MINIMUM,
    priorityDefaults=record(location=LOCATION, nodeSystemConfig=ANYTHING, enableNestedVirtualization=flag()),
    allocationStrategyDefaults=record(onDemand=STRATEGY, spot=STRATEGY, flexStart=STRATEGY),
    priorities=several(PRIORITY, default=[], maxItems=1000),
)
CONDITIONS = several(
    record(
        "type status reason message lastTransitionTime",
        type=text(maxLength=316),
        status=one_of("True", "False", "Unknown"),
        reason=text(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        message=text(maxLength=32768),
        lastTransitionTime=text(format="date-time"),
        observedGeneration=number(0),
    )
)
STATUS = record(
    conditions=CONDITIONS,
    priorityStatuses=several(
        record(
            identifier=text(),
            conditions=CONDITIONS,
            resourceInfo=several(ANYTHING),
            scalingEventsHistory=ANYTHING,
        )
    ),
    resourceInfo=several(ANYTHING),
)


def definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition."""
    return {
        "metadata": {"name": "computeclasses.cloud.google.com"},
        "spec": {
            "group": "cloud.google.com",
            "scope": "Cluster",
            "names": {
                "kind": "ComputeClass",
                "listKind": "ComputeClassList",
                "plural": "computeclasses",
                "singular": "computeclass",
                "shortNames": ["cc", "ccs"],
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": record(
                            "spec",
                            apiVersion=text(),
                            kind=text(),
                            metadata={"type": "object"},
                            spec=SPEC,
                            status=STATUS,
                        )
                    },
                }
            ],
        },
    }


def install(api: Kubernetes) -> None:
    """Write the definition; the API server serves it a moment later."""
    api.apply(DEFINITIONS, definition(), field_manager="inference.dra-lab", force=True)
