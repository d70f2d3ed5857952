{{- if .Values.rbac.create }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Chart.Name }}
  labels: {{- include "labels.all" . | nindent 4 }}
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [get]}
  - {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [list, watch, create, update, delete]}
  - {apiGroups: [resource.k8s.io], resources: [resourceclaims, deviceclasses], verbs: [get]}
  - {apiGroups: [resource.k8s.io], resources: [resourceclaims/status], verbs: [patch, update]}
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
  - apiGroups: [resource.k8s.io]
    resources: [resourceclaims/driver]
    resourceNames: [dra.cpu]
    verbs: ["associated-node:patch", "associated-node:update"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .Chart.Name }}
  labels: {{- include "labels.all" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .Chart.Name }}}
subjects:
  - {kind: ServiceAccount, name: {{ .Chart.Name }}, namespace: {{ .Release.Namespace }}}
{{- end }}
