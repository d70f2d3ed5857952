{{- $name := printf "resourceslices-policy-%s" .Chart.Name }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $name }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [resource.k8s.io]
        apiVersions: [v1, v1beta1, v1beta2]
        operations: [CREATE, UPDATE, DELETE]
        resources: [resourceslices]
  matchConditions:
    - name: isRestrictedUser
      expression: >-
        request.userInfo.username ==
        'system:serviceaccount:{{ .Release.Namespace }}:{{ .Chart.Name }}-service-account'
  validations:
    - expression: "'authentication.kubernetes.io/node-name' in request.userInfo.extra"
      message: only a pod on a node may write the slices of that node
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $name }}
spec:
  policyName: {{ $name }}
  validationActions: [Deny]
