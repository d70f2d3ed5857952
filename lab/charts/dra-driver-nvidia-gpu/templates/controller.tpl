{{- if .Values.resources.computeDomains.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Chart.Name }}-controller
  namespace: {{ .Release.Namespace }}
  labels: {{- include "labels.all" . | nindent 4 }}
spec:
  replicas: {{ .Values.controller.replicas }}
  selector:
    matchLabels:
      {{ .Chart.Name }}-component: controller
  template:
    metadata:
      labels:
        {{- include "labels.selector" . | nindent 8 }}
        {{ .Chart.Name }}-component: controller
    spec:
      {{- with .Values.controller.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      serviceAccountName: {{ .Chart.Name }}-service-account-controller
      containers:
        - name: compute-domain
          image: {{ include "image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- with .Values.controller.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity: {{- toYaml .Values.controller.affinity | nindent 8 }}
      tolerations: {{- toYaml .Values.controller.tolerations | nindent 8 }}
{{- end }}
