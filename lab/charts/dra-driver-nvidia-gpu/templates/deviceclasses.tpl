{{- range $name, $type := dict "gpu" "gpu" "mig" "mig" "vfio.gpu" "vfio" }}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: {{ $name }}.nvidia.com
spec:
  {{- if eq $name "gpu" }}
  extendedResourceName: nvidia.com/gpu
  {{- end }}
  selectors:
    - cel:
        expression: device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == {{ $type | squote }}
{{- end }}
