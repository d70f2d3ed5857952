# Copyright (c) 2026, the inference.dra authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason a verdict may carry, with the sentence that explains it to a user.

The names are part of the collection's interface: they are never renamed, and the reference page of
the documentation is made from this table. One section per subject, alphabetical within it.
"""

from __future__ import annotations

CLAIM_REASONS: dict[str, str] = {
    "AllocatedDeviceGone": "No slice publishes a device that a claim holds. Running pods keep it; "
    "pods that start now may not get it prepared.",
    "AllocatedDeviceTainted": "A device got a taint after it was allocated.",
    "AllocationLoop": "The scheduler keeps allocating the same devices after failed preparations.",
    "BindingConditionFailed": "A driver reported that it cannot prepare an allocated device.",
    "BindingConditionMissing": "A driver has not yet reported a condition that the pod waits for.",
    "BindingFailureMasked": "A failure stays unseen by the scheduler until the timeout, because it "
    "stops at an earlier device that is not ready.",
    "BindingTimeout": "The time for binding conditions is over; the scheduler gives the allocation "
    "up and starts again.",
    "ClaimDeleting": "The claim is being deleted and something still holds it.",
    "ClaimHeldByEndedPods": "The claim is reserved only for pods that have ended.",
    "ClaimMissing": "A pod names a claim that does not exist. The scheduler says nothing about it.",
    "ClaimNotGenerated": "A pod's claim has not been generated from its template yet.",
    "ClaimNotReserved": "A pod is bound to a node, and its claim is not reserved for it.",
    "ClaimOfOtherPod": "The claim was made for an earlier pod of the same name.",
    "ClaimPending": "Nothing is allocated to the claim.",
    "ClaimReservedForGonePods": "The claim is reserved for pods that no longer exist.",
    "DeploymentMissing": "The Deployment that was selected does not exist.",
    "GateInOtherClaim": "A pod's devices and the device with binding conditions are in different claims.",
    "GatedClaimShared": "Several pods share a claim with binding conditions: what was prepared for "
    "the first is not prepared for the others.",
    "ImageConfigConflict": "A container is given two images for the chosen alternative.",
    "ImageConfigContainerMissing": "An ImageConfig names a container that the pod does not have.",
    "ImageConfigInvalid": "An ImageConfig can never be carried out: no container, no image reference, or a "
    "field that nobody reads.",
    "ImageConfigMissing": "A claim waits for an image, and no ImageConfig is for the alternative that was "
    "chosen.",
    "ImageNotSwitched": "A container does not have the image of the alternative that was chosen.",
    "PodLeftOver": "A pod of the workload is not one of its current, live pods and is not judged.",
    "PodMissing": "A pod that was selected does not exist.",
    "RolloutIncomplete": "A Deployment has not yet all replicas of its present specification.",
    "ShareStatusMerged": "The scheduler reads one share's conditions for all shares of a device.",
    "TemplateMissing": "The ResourceClaimTemplate that a pod names does not exist.",
}

SLICE_REASONS: dict[str, str] = {
    "AttributeMissing": "A device lacks an attribute that a selector or a constraint reads.",
    "AttributeTypeDiffers": "An attribute has another type than the one expected, so it never "
    "equals anything it is compared with.",
    "AttributeValueDiffers": "An attribute has another value than the one expected.",
    "DeviceTainted": "Devices carry a taint that keeps claims without a toleration away.",
    "DevicesMissing": "A node, or a cluster-wide pool, has not the number of devices that is expected.",
    "DevicesPublished": "A driver publishes what is expected of it.",
    "DriverMissing": "The DaemonSet of a driver does not exist.",
    "DriverPodMissing": "A driver's DaemonSet has no pod for a node that it should have one for.",
    "DriverPodNotReady": "A driver's pod is not ready on a node; an init container may hold it up.",
    "FieldDropped": "A device lacks a field that its driver sets; the API server drops it where a feature "
    "gate is off.",
    "ControllerRollsOut": "The newest specification of a controller does not run everywhere.",
    "GateWithoutController": "A gating device is offered and no controller runs that opens the gate.",
    "NoTargetNodes": "No node is one of those that a driver is expected on.",
    "NodeSelectionUnknown": "A slice selects its nodes in a way that this version does not know; "
    "the scheduler ignores such a slice.",
    "PoolCountZero": "The slices of a pool state a count of zero, so nothing is allocated from it.",
    "PoolEmpty": "The newest generation of a pool has no device.",
    "PoolIncomplete": "A pool has fewer or more slices of its newest generation than it states; "
    "nothing is allocated from it.",
    "PoolInvalid": "A pool contradicts itself: a device name twice, counts that disagree, or "
    "counters that do not exist.",
    "PoolPublishedByNodes": "Several nodes publish one pool, so their devices count as the same.",
    "SelectorNotMet": "A device is not one of those that a given expression selects.",
    "SliceMalformed": "A ResourceSlice could not be read; its devices are not judged.",
    "SliceOrphaned": "A slice names a node that does not exist.",
    "StaleSlice": "Slices of an older generation remain; the scheduler ignores them.",
}

DIAGNOSIS_REASONS: dict[str, str] = {
    "AlignmentNotOffered": "A claim compares PCIe roots, and no device of the cluster publishes any.",
    "AllocatorTimeout": "The scheduler spent its ten seconds on one node without a result and tries again.",
    "AttributeUnknown": "A constraint names an attribute that no device of the cluster has.",
    "AutoscalerRefused": "The autoscaler does not grow a pool for this pod and says why.",
    "CannotJudge": "The judgement lacks something, such as a library for selectors; it says nothing "
    "about the scheduler.",
    "CannotTell": "Objects that the answer depends on were not given.",
    "CapacityExhausted": "All devices that the pod could use are in use; this is no fault.",
    "CapacityTooSmall": "No single device offers the capacity that a request asks for.",
    "ClaimCreationFailed": "A claim could not be made from its template.",
    "ClaimElsewhere": "Another claim of the pod is allocated to other nodes.",
    "ClassMatchesNothing": "The driver publishes devices, and the device class selects none of them.",
    "ComputeClassUnhealthy": "A ComputeClass reports that its pools or rules are not as it needs them.",
    "ConstraintIneffective": "A constraint covers fewer than two devices, so it constrains nothing.",
    "ConstraintUnsatisfiable": "All devices are asked for, and a constraint forbids taking them together.",
    "ContainerCrashing": "A container ends again and again.",
    "ContainerNotCreated": "The kubelet cannot create a container.",
    "CpuClaimShared": "Several containers use one claim with CPUs; the CPU driver serves one.",
    "CpuManagerDiffers": "The kubelets pin containers to CPUs themselves, beside the driver that does so.",
    "CpuPoolExhausted": "Claims hold all CPUs of a device; other containers have none of their own.",
    "CpuRequestsExcludeNodes": "A pod requests as many CPUs as one of its alternatives has, and passes over "
    "the nodes of another.",
    "CpuRequestsMissing": "A pod holds CPUs by a claim and requests none, so they are given out twice.",
    "CountersExhausted": "Devices of a pool draw on counters that others have used up.",
    "DeviceClassMissing": "A device class does not exist; one missing class of an alternative stops the "
    "whole pod.",
    "DeviceInUse": "Other claims hold the devices.",
    "DevicePluginDisabled": "A pod asks for nvidia.com/gpu, and no node offers it: the device plugin is off.",
    "DevicesCompete": "Each request alone could be served, all of them together cannot.",
    "DevicesStranded": "Free devices cannot be used because other claims hold their partners.",
    "DoubleAllocated": "A device is given out more than once, or shares of it exceed its capacity.",
    "DoubleOffered": "A node offers its GPUs through a device plugin and through DRA, so they are given out "
    "twice.",
    "DriverNameUnexpected": "Devices are published under a driver's name that no device class selects.",
    "DriverNotRegistered": "The kubelet does not know a driver of the claim on the pod's node.",
    "DriverSlicesMissing": "The driver of a device class publishes nothing for the node.",
    "EvictedByDeviceTaint": "A device of the pod's claims got a taint that ends the pod.",
    "FitsNow": "The pod's claims fit now; something else or only time is missing.",
    "Fragmented": "Enough devices are free, but not on one node.",
    "FreeAtTheTime": "The devices of an earlier alternative were given away only after this claim was "
    "allocated.",
    "FreeNow": "An earlier alternative would fit now; whether it did at allocation time cannot be told.",
    "HeldByEndingPod": "The devices of an earlier alternative were held by a pod that was being replaced.",
    "ImagePlatformDiffers": "A container's image is for another architecture than its node.",
    "ImagePullFailed": "A node cannot pull the image of a container.",
    "NoCommonValue": "No free devices share the value of an attribute that a constraint compares.",
    "NoNode": "The cluster has no node.",
    "NodeNotReady": "The kubelet of the pod's node has stopped reporting, or cannot run pods.",
    "NodeResourcesInsufficient": "Devices are free, but the node has no room for the pod's requests.",
    "NodeSelectorMismatch": "The pod's node selector or required affinity passes over nodes.",
    "NodeTainted": "Nodes carry taints that the pod does not tolerate.",
    "NodeTooLate": "The earlier alternative's node or devices appeared after the claim was allocated.",
    "ObjectsMissing": "Kinds of object were not given without which the question cannot be answered.",
    "OutvotedBySpreading": "Spreading of a workload's pods outvoted the earlier alternative.",
    "OutvotedByTaint": "A soft taint on the node outvoted the earlier alternative.",
    "PodDeletionOverdue": "A node does not end a pod whose grace period is over.",
    "PoolAtMaximum": "A node pool has reached its maximum size.",
    "PoolInBackoff": "A node pool could not grow and is not tried again for a while.",
    "PreparationFailed": "A driver could not prepare the devices on the node.",
    "QuotaExceeded": "A quota forbids it: of the namespace for claims, of the project for machines.",
    "RailCrossed": "A GPU and a NIC share a PCIe root and belong to different rails.",
    "RequestUnsupported": "A request or constraint is of a kind that is not known.",
    "ScaleUpStarted": "The autoscaler is growing a pool for the pod.",
    "ScaleUpWouldNotHelp": "The autoscaler sees no device on the node it imagines, so no pool grows.",
    "SchedulerSaid": "What the scheduler itself said last.",
    "SchedulerSilent": "The scheduler has not looked at the pod; a claim that does not exist does that.",
    "SchedulingGated": "The scheduler must not look at the pod yet; a queue or a controller says so.",
    "SearchTooLong": "Too many combinations of devices; the scheduler too may give up.",
    "SelectorError": "A selector fails on a device; then no pod of that class is placed anywhere.",
    "SelectorMatchesNothing": "The class selects devices, and the request's own selectors none of them.",
    "StockOut": "The cloud has no machine of this kind at the moment.",
    "TooManyDevices": "A claim asks for more than 32 devices.",
}

GOOGLE_REASONS: dict[str, str] = {
    "AcceleratorMissing": "A node pool has not the accelerators that the alternative it serves needs.",
    "AcceleratorNotOffered": "A zone does not offer the accelerator, or not as many per machine.",
    "ApiEnabled": "An API that the plan needs is enabled.",
    "ApiNotEnabled": "An API that the plan needs is not enabled in the project.",
    "ClusterCompatible": "The existing cluster can take the plan.",
    "ClusterIncompatible": "The cluster lacks something that only creation can set.",
    "ComputeClassMismatch": "Labels, taints or autoscaling of a pool do not fit its compute class, which "
    "then passes it over.",
    "CpuGroupTooSmall": "An alternative asks for more CPUs than one device of the CPU driver has.",
    "DevicePluginActive": "GKE's device plugin would give out the GPUs that the DRA driver gives out.",
    "DriverInstalledByGke": "GKE installs a kernel driver where the DRA driver expects that of a DaemonSet.",
    "DriverLabelMissing": "A pool lacks the label by which the autoscaler knows its DRA driver.",
    "LeftOver": "Something that was to be removed still exists.",
    "MachineTypeNotOffered": "A zone does not offer the machine type.",
    "NamespaceQuotaForbids": "A ResourceQuota refuses a claim because of one of its alternatives.",
    "NetworkFound": "The network of the cluster exists.",
    "NetworkMissing": "The network of the cluster does not exist.",
    "NodePoolUnknown": "Something names a node pool that the plan does not have.",
    "NothingLeft": "Everything that was asked for is gone.",
    "NotReadable": "Something could not be read from the project or the cluster, so it was not judged.",
    "OperationRunning": "An operation on the cluster is not done; what it makes may appear later.",
    "PlanHasProblems": "The plan has an option that Google would refuse.",
    "QuotaShort": "A quota is smaller than what the plan needs.",
    "QuotaSufficient": "A quota allows the plan at its largest sizes.",
    "QuotaUnknown": "No quota metric could be read for something that the plan needs.",
    "ScaleFromZeroNotPredicted": "A pool may be empty, and GKE's autoscaler cannot imagine the devices of "
    "its driver.",
    "SelectorNeverMatchesAtZero": "A selector reads what an imagined device does not have, so an empty "
    "pool never grows for it.",
    "VersionNotOffered": "GKE does not offer the version.",
    "VersionOffered": "GKE offers a version that fits.",
    "VersionTooOld": "A version is older than what the service needs.",
}

TRAFFIC_REASONS: dict[str, str] = {
    "ModelLoading": "A replica counts as ready and still loads its model.",
    "ModelNotServed": "A replica serves other models than the one that requests are for.",
    "ReplicaNotReady": "A replica is not ready, so no request was sent to it.",
    "ReplicaUnreachable": "A ready replica gives no usable answer.",
    "RequestsFailed": "Requests were not answered, or not to the end.",
    "ServiceWithoutEndpoints": "A Service does not exist or has no ready pod behind it.",
    "TokensNotReported": "A model server does not say how many tokens it generated.",
}

SERVICE_REASONS: dict[str, str] = {
    "AlternativesAsPredicted": "As many replicas have each alternative as was predicted.",
    "AlternativesDiffer": "More or fewer replicas have an alternative than was predicted.",
    "DevicesDiffer": "A replica holds other devices than its alternative asks for.",
    "DisruptionRefused": "A PodDisruptionBudget allowed no replica to be ended.",
    "ImageDiffers": "A replica has not the image of its alternative.",
    "LandedLater": "A replica that was replaced got a later alternative than it had to.",
    "NodeGone": "A node went while replicas were started: a spot machine was taken back, for example.",
    "NodeOfOtherAlternative": "A replica runs on a node that is not of its alternative.",
    "NotPaused": "A Deployment replaces its replicas by its own strategy, which does not keep their devices.",
    "NotReplaced": "The successor of a replica did not serve in time, or never will.",
    "PoolSizeUnexpected": "A node pool has more or fewer nodes than was predicted, or more than it may have.",
    "ReplicaNotReady": "A replica does not serve.",
    "RolloutUnderWay": "A Deployment has replicas of another specification than the one it states.",
    "ScaleUpUnrecorded": "A pool grew, and no event about the replicas on its new nodes says so.",
    "TimeLineBroken": "A replica's steps were not taken in their order, or one is missing.",
}

REASONS: dict[str, str] = {
    **CLAIM_REASONS,
    **SLICE_REASONS,
    **DIAGNOSIS_REASONS,
    **GOOGLE_REASONS,
    **TRAFFIC_REASONS,
    **SERVICE_REASONS,
}
