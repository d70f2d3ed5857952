apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Chart.Name }}-role
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [get]}
  - {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .Chart.Name }}-rolebinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ .Chart.Name }}-role}
subjects:
  - {kind: ServiceAccount, name: {{ .Chart.Name }}, namespace: {{ .Release.Namespace }}}
