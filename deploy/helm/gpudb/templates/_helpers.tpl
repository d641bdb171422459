{{- define "gpudb.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpudb.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gpudb.labels" -}}
{{ include "gpudb.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "gpudb.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "gpudb.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "gpudb.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "gpudb.distributed" -}}
{{- if gt (int .Values.workers.replicas) 0 }}true{{ end -}}
{{- end -}}

{{- define "gpudb.passwordSecret" -}}
{{ .Values.auth.existingSecret | default (printf "%s-passwords" (include "gpudb.fullname" .)) }}
{{- end -}}

{{- define "gpudb.hbaSecret" -}}
{{ .Values.auth.hbaExistingSecret | default (printf "%s-hba" (include "gpudb.fullname" .)) }}
{{- end -}}

{{- define "gpudb.tlsSecret" -}}
{{- if .Values.tls.existingSecret -}}
{{ .Values.tls.existingSecret }}
{{- else if .Values.tls.certManager.enabled -}}
{{ include "gpudb.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "gpudb.clusterSecret" -}}
{{ .Values.cluster.certificates.existingSecret | default (printf "%s-cluster" (include "gpudb.fullname" .)) }}
{{- end -}}

{{- define "gpudb.dataClaim" -}}
{{ .Values.persistence.existingClaim | default (printf "%s-data" (include "gpudb.fullname" .)) }}
{{- end -}}

{{- define "gpudb.backupClaim" -}}
{{ .Values.backup.persistence.existingClaim | default (printf "%s-backups" (include "gpudb.fullname" .)) }}
{{- end -}}

{{/* Whether backups are a folder on a volume. */}}
{{- define "gpudb.backupVolume" -}}
{{- if and .Values.backup.enabled (not (contains "://" .Values.backup.destination)) }}true{{ end -}}
{{- end -}}

{{/* Whether the coordinator has GPUs itself. */}}
{{- define "gpudb.coordinatorGpu" -}}
{{- if and (eq .Values.engine "gpu") (not (include "gpudb.distributed" .)) }}true{{ end -}}
{{- end -}}

{{- define "gpudb.schedulerAddress" -}}
tls://{{ include "gpudb.fullname" . }}-scheduler:8786
{{- end -}}

{{/* Resources of a container with `count` GPUs: (list $ resources count) */}}
{{- define "gpudb.gpuResources" -}}
{{- $root := index . 0 -}}
{{- $resources := deepCopy (index . 1) -}}
{{- if $root.Values.gpu.claim.enabled -}}
{{- $_ := set $resources "claims" (list (dict "name" "gpu")) -}}
{{- else -}}
{{- $limits := deepCopy ($resources.limits | default dict) -}}
{{- $_ := set $limits $root.Values.gpu.resource (index . 2 | int) -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
{{ toYaml $resources }}
{{- end -}}

{{/* A volume for spilled rows and compiled kernels. */}}
{{- define "gpudb.spillVolume" -}}
- name: spill
{{- if .Values.spill.storageClassName }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: {{ .Values.spill.storageClassName }}
        resources:
          requests:
            storage: {{ .Values.spill.size }}
{{- else }}
  emptyDir:
    sizeLimit: {{ .Values.spill.size }}
{{- end }}
{{- end -}}

{{/* What all programs of gpudb find in their environment. */}}
{{- define "gpudb.commonEnv" -}}
- name: HOME
  value: /tmp
- name: TMPDIR
  value: /var/spill/tmp
- name: GPUDB_KERNEL_CACHE
  value: /var/spill/kernels
- name: CUPY_CACHE_DIR
  value: /var/spill/kernels/cupy
- name: LIBCUDF_KERNEL_CACHE_PATH
  value: /var/spill/kernels/libcudf
- name: CUDA_CACHE_PATH
  value: /var/spill/kernels/cuda
{{- end -}}

{{/* Dask's configuration of scheduler and workers: what gpudb sets for workers of its own. */}}
{{- define "gpudb.daskEnv" -}}
- name: DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES
  value: "[]"
- name: DASK_DISTRIBUTED__WORKER__HTTP__ROUTES
  value: "[]"
- name: DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE
  value: "False"
- name: DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE
  value: "False"
- name: DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED
  value: "False"
- name: DASK_DISTRIBUTED__ADMIN__TICK__LIMIT
  value: 60s
{{- end -}}

{{- define "gpudb.daskTls" -}}
- --tls-ca-file=/etc/gpudb/cluster/ca.crt
- --tls-cert=/etc/gpudb/cluster/tls.crt
- --tls-key=/etc/gpudb/cluster/tls.key
{{- end -}}

{{/* Fields that all pod specs begin with. Service links would set GPUDB_PORT and the like. */}}
{{- define "gpudb.pod" -}}
serviceAccountName: {{ include "gpudb.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- end -}}

{{- define "gpudb.container" -}}
image: {{ include "gpudb.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.containerSecurityContext | nindent 2 }}
{{- end -}}

{{/* A number, text or truth as an environment variable's text; integers stay integers. */}}
{{- define "gpudb.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ int64 . }}{{- else -}}{{ toString . }}{{- end -}}
{{- end -}}
