{{- $top := . }}
{{- $read := list "get" "list" "watch" }}
{{- $write := list "create" "update" "delete" }}
{{- $daemon := dict "name" "compute-domain-daemon" "rules" (list
  (list "resource.nvidia.com" (list "computedomains" "computedomains/status") (concat $read (list "update" "patch")))
  (list "resource.nvidia.com" (list "computedomaincliques") (concat $read (list "create" "update" "patch")))
  (list "" (list "pods") (concat $read (list "patch")))) }}
{{- $controller := dict "name" "controller" "rules" (list
  (list "resource.nvidia.com" (list "computedomains") (concat $read (list "update")))
  (list "resource.nvidia.com" (list "computedomains/status") (list "update"))
  (list "resource.k8s.io" (list "resourceclaimtemplates") (concat $read $write))
  (list "coordination.k8s.io" (list "leases") (list "get" "create" "update"))
  (list "" (list "nodes") (concat $read (list "update")))
  (list "" (list "pods") $read)) "own" (list
  (list "apps" (list "daemonsets") (concat $read $write (list "patch")))
  (list "resource.nvidia.com" (list "computedomaincliques") (concat $read (list "update")))) }}
{{- $plugin := dict "name" "kubeletplugin" "rules" (list
  (list "resource.nvidia.com" (list "computedomains") $read)
  (list "resource.k8s.io" (list "resourceclaims") $read)
  (list "resource.k8s.io" (list "resourceslices") (concat $read $write))
  (list "" (list "nodes") (concat $read (list "update")))
  (list "" (list "pods") $read)) "own" (list
  (list "resource.nvidia.com" (list "computedomaincliques") (list "get"))) }}
{{- range $part := list $controller $plugin $daemon }}
{{- $ours := ne $part.name "compute-domain-daemon" }}
{{- $account := ternary (printf "%s-service-account-%s" $top.Chart.Name $part.name) (printf "%s-service-account" $part.name) $ours }}
{{- $role := ternary (printf "%s-clusterrole-%s" $top.Chart.Name $part.name) (printf "%s-role" $part.name) $ours }}
{{- $binding := ternary (printf "%s-clusterrole-binding-%s" $top.Chart.Name $part.name) (printf "%s-role-binding" $part.name) $ours }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $account }}
  namespace: {{ $top.Release.Namespace }}
  {{- if $ours }}
  labels: {{- include "labels.all" $top | nindent 4 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $role }}
rules:
  {{- range $part.rules }}
  - {apiGroups: [{{ index . 0 | quote }}], resources: {{ index . 1 | toJson }}, verbs: {{ index . 2 | toJson }}}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $binding }}{{ if eq $part.name "controller" }}-{{ $top.Release.Namespace }}{{ end }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $role }}}
subjects:
  - {kind: ServiceAccount, name: {{ $account }}, namespace: {{ $top.Release.Namespace }}}
{{- if $ours }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $top.Chart.Name }}-role-{{ $part.name }}
  namespace: {{ $top.Release.Namespace }}
rules:
  {{- range $part.own }}
  - {apiGroups: [{{ index . 0 | quote }}], resources: {{ index . 1 | toJson }}, verbs: {{ index . 2 | toJson }}}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $top.Chart.Name }}-role-binding-{{ $part.name }}
  namespace: {{ $top.Release.Namespace }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ $top.Chart.Name }}-role-{{ $part.name }}}
subjects:
  - {kind: ServiceAccount, name: {{ $account }}, namespace: {{ $top.Release.Namespace }}}
{{- end }}
{{- end }}
