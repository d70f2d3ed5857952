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
    "GatedClaimShared": "Several pods share a claim with binding conditions: what was prepared for "
    "the first is not prepared for the others.",
    "ImageConfigConflict": "A container is given two images for the chosen alternative.",
    "ImageConfigContainerMissing": "An ImageConfig names a container that the pod does not have.",
    "ImageConfigInvalid": "An ImageConfig lacks the container's name or the image.",
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
    "NodeSelectionUnknown": "A slice selects its nodes in a way that this version does not know; "
    "the scheduler ignores such a slice.",
    "PoolCountZero": "The slices of a pool state a count of zero, so nothing is allocated from it.",
    "PoolEmpty": "The newest generation of a pool has no device.",
    "PoolIncomplete": "A pool has fewer or more slices of its newest generation than it states; "
    "nothing is allocated from it.",
    "PoolInvalid": "A pool contradicts itself: a device name twice, counts that disagree, or "
    "counters that do not exist.",
    "PoolPublishedByNodes": "Several nodes publish one pool, so their devices count as the same.",
    "SliceMalformed": "A ResourceSlice could not be read; its devices are not judged.",
    "SliceOrphaned": "A slice names a node that does not exist.",
    "StaleSlice": "Slices of an older generation remain; the scheduler ignores them.",
}

DIAGNOSIS_REASONS: dict[str, str] = {}

GOOGLE_REASONS: dict[str, str] = {}

REASONS: dict[str, str] = {
    **CLAIM_REASONS,
    **SLICE_REASONS,
    **DIAGNOSIS_REASONS,
    **GOOGLE_REASONS,
}
