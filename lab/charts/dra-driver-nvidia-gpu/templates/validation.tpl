{{- if and .Values.resources.gpus.enabled (not .Values.gpuResourcesEnabledOverride) }}
{{- fail "gpuResourcesEnabledOverride must be true: this driver and the GPU device plugin may not share a node" }}
{{- end }}
{{- if and (eq .Release.Namespace "default") (not .Values.allowDefaultNamespace) }}
{{- fail "installing into the namespace default needs allowDefaultNamespace=true" }}
{{- end }}
