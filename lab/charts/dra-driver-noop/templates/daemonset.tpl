apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Chart.Name }}
  labels: {{- include "labels.all" . | nindent 4 }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Chart.Name }}
  labels: {{- include "labels.all" . | nindent 4 }}
spec:
  selector:
    matchLabels: {{- include "labels.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "labels.selector" . | nindent 8 }}
    spec:
      serviceAccountName: {{ .Chart.Name }}
      containers:
        - name: plugin
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: [/usr/bin/dra-driver-noop]
          args:
            - -driver-names={{ .Values.driverNames }}
            - -node-name=$(NODE_NAME)
          env:
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
          securityContext: {{- toYaml .Values.kubeletPlugin.containers.plugin.securityContext | nindent 12 }}
