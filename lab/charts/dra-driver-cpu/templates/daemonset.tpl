apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "labels.all" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "labels.all" . | nindent 4 }}
    tier: node
    k8s-app: {{ .Chart.Name }}
spec:
  selector:
    matchLabels: {{- include "labels.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "labels.all" . | nindent 8 }}
        tier: node
        k8s-app: {{ .Chart.Name }}
        {{- with .Values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with .Values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations: {{- toYaml .Values.tolerations | nindent 8 }}
      serviceAccountName: {{ .Chart.Name }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: dracpu
          image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            - /dracpu
            - --v={{ .Values.args.logLevel }}
            - --cpu-device-mode={{ .Values.args.cpuDeviceMode }}
            - --group-by={{ .Values.args.groupBy }}
            - --bind-address=:{{ .Values.healthzPort }}
            {{- with .Values.args.reservedCPUs }}
            - --reserved-cpus={{ . }}
            {{- end }}
          ports:
            - name: healthz
              containerPort: {{ .Values.healthzPort }}
          readinessProbe:
            httpGet: {path: {{ .Values.healthzPath }}, port: healthz}
          resources: {{- toYaml .Values.resources | nindent 12 }}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: dra.cpu
spec:
  selectors:
    - cel:
        expression: device.driver == "dra.cpu"
