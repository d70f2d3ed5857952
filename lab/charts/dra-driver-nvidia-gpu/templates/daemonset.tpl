{{- $image := printf "%s:%s" .Values.image.repository (.Values.image.tag | default (printf "v%s" .Chart.AppVersion)) }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Chart.Name }}-service-account-kubeletplugin
  namespace: {{ .Release.Namespace }}
  labels: {{- include "labels.all" . | nindent 4 }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Chart.Name }}-kubelet-plugin
  namespace: {{ .Release.Namespace }}
  labels: {{- include "labels.all" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{ .Chart.Name }}-component: kubelet-plugin
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 100%
  template:
    metadata:
      labels:
        {{- include "labels.selector" . | nindent 8 }}
        {{ .Chart.Name }}-component: kubelet-plugin
      {{- with .Values.kubeletPlugin.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- with .Values.kubeletPlugin.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      serviceAccountName: {{ .Chart.Name }}-service-account-kubeletplugin
      initContainers:
        - name: init-container
          image: {{ $image }}
          env:
            - {name: NVIDIA_DRIVER_ROOT, value: {{ .Values.nvidiaDriverRoot | quote }}}
      containers:
        {{- if .Values.resources.computeDomains.enabled }}
        - name: compute-domains
          image: {{ $image }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
        {{- end }}
        {{- if .Values.resources.gpus.enabled }}
        - name: gpus
          image: {{ $image }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          env:
            - {name: NVIDIA_DRIVER_ROOT, value: {{ .Values.nvidiaDriverRoot | quote }}}
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        {{- end }}
      {{- with .Values.kubeletPlugin.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              {{- range $key, $value := dict
                "feature.node.kubernetes.io/pci-10de.present" "true"
                "feature.node.kubernetes.io/pci-0302_10de.present" "true"
                "feature.node.kubernetes.io/pci-0300_10de.present" "true"
                "feature.node.kubernetes.io/cpu-model.vendor_id" "NVIDIA"
                "nvidia.com/gpu.present" "true" }}
              - matchExpressions:
                  - key: {{ $key }}
                    operator: In
                    values: [{{ $value | quote }}]
              {{- end }}
      tolerations: {{- toYaml .Values.kubeletPlugin.tolerations | nindent 8 }}
