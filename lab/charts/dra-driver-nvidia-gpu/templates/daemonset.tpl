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
  updateStrategy: {{- toYaml .Values.kubeletPlugin.updateStrategy | nindent 4 }}
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
          image: {{ include "image" . }}
          command: [bash, /usr/bin/kubelet-plugin-prestart.sh]
          env:
            - {name: NVIDIA_DRIVER_ROOT, value: {{ .Values.nvidiaDriverRoot | quote }}}
      containers:
        {{- if .Values.resources.computeDomains.enabled }}
        - name: compute-domains
          image: {{ include "image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
        {{- end }}
        {{- if .Values.resources.gpus.enabled }}
        - name: gpus
          image: {{ include "image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          env:
            - {name: NVIDIA_DRIVER_ROOT, value: {{ .Values.nvidiaDriverRoot | quote }}}
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        {{- end }}
      {{- with .Values.kubeletPlugin.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity: {{- toYaml .Values.kubeletPlugin.affinity | nindent 8 }}
      tolerations: {{- toYaml .Values.kubeletPlugin.tolerations | nindent 8 }}
