{{/* A pod that runs one command of gpudb against the server: (list $ name args resources) */}}
{{- define "gpudb.clientPod" -}}
{{- $root := index . 0 -}}
{{- include "gpudb.pod" $root }}
restartPolicy: Never
containers:
  - name: {{ index . 1 }}
    {{- include "gpudb.container" $root | nindent 4 }}
    args:
      {{- toYaml (index . 2) | nindent 6 }}
    env:
      - name: HOME
        value: /tmp
      - name: PGPASSWORD
        valueFrom:
          secretKeyRef:
            name: {{ include "gpudb.passwordSecret" $root }}
            key: gpudb
    resources:
      {{- toYaml (index . 3) | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
volumes:
  - name: tmp
    emptyDir: {sizeLimit: 64Mi}
{{- end -}}

{{- define "gpudb.url" -}}
postgresql://gpudb@{{ include "gpudb.fullname" . }}:{{ .Values.service.port }}/gpudb?sslmode=require
{{- end -}}
