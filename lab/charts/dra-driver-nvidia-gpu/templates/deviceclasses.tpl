{{- $classes := list }}
{{- if .Values.resources.gpus.enabled }}
{{- $classes = concat $classes (list (list "gpu" "gpu" "type == 'gpu'") (list "mig" "gpu" "type == 'mig'") (list "vfio.gpu" "gpu" "type == 'vfio'")) }}
{{- end }}
{{- if .Values.resources.computeDomains.enabled }}
{{- $classes = concat $classes (list (list "compute-domain-daemon" "compute-domain" "type == 'daemon'") (list "compute-domain-default-channel" "compute-domain" "type == 'channel'")) }}
{{- end }}
{{- range $classes }}
{{- $driver := printf "%s.nvidia.com" (index . 1) }}
{{- $attributes := printf "device.attributes['%s']" $driver }}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: {{ index . 0 }}.nvidia.com
spec:
  {{- if eq (index . 0) "gpu" }}
  extendedResourceName: nvidia.com/gpu
  {{- end }}
  selectors:
    - cel:
        expression: >-
          device.driver == '{{ $driver }}' && {{ $attributes }}.{{ index . 2 }}
          {{- if contains "channel" (index . 0) }} && {{ $attributes }}.id == 0{{ end }}
{{- end }}
