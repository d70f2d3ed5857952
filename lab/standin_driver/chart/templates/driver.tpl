apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Name }}
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [get, list, watch]
  - apiGroups: [resource.k8s.io]
    resources: [resourceclaims]
    verbs: [get]
  - apiGroups: [resource.k8s.io]
    resources: [resourceslices]
    verbs: [get, list, watch, create, update, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .Release.Name }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .Release.Name }}
subjects:
  - kind: ServiceAccount
    name: {{ .Release.Name }}
    namespace: {{ .Release.Namespace }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .Chart.Name }}
      app.kubernetes.io/instance: {{ .Release.Name }}
  updateStrategy:
    rollingUpdate:
      maxUnavailable: 100%
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ .Chart.Name }}
        app.kubernetes.io/instance: {{ .Release.Name }}
    spec:
      serviceAccountName: {{ .Release.Name }}
      priorityClassName: system-node-critical
      terminationGracePeriodSeconds: 5
      tolerations:
        - operator: Exists
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: plugin
          image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
          imagePullPolicy: IfNotPresent
          args:
            - --driver-names={{ .Values.driverNames }}
            - --node-name=$(NODE_NAME)
            {{- with .Values.args }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          resources:
            requests: {cpu: 10m, memory: 64Mi}
          securityContext:
            # Sockets in kubelet's directories belong to root.
            runAsUser: 0
            capabilities:
              drop: [ALL]
          volumeMounts:
            - {name: plugins, mountPath: /var/lib/kubelet/plugins}
            - {name: registry, mountPath: /var/lib/kubelet/plugins_registry}
            - {name: cdi, mountPath: /var/run/cdi}
      volumes:
        - name: plugins
          hostPath: {path: /var/lib/kubelet/plugins, type: DirectoryOrCreate}
        - name: registry
          hostPath: {path: /var/lib/kubelet/plugins_registry, type: DirectoryOrCreate}
        - name: cdi
          hostPath: {path: /var/run/cdi, type: DirectoryOrCreate}
{{- range $name, $expression := .Values.deviceClasses }}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: {{ $name }}
spec:
  selectors:
    - cel:
        expression: {{ $expression | quote }}
{{- end }}
