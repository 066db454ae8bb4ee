{{- define "gpuhealthd.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpuhealthd.config" -}}
{{ .Values.config | default (.Files.Get "config.yaml") }}
{{- end -}}

{{/*
Takes the keys out of a map that have no value, as deep as it goes: they mean their default.
*/}}
{{- define "gpuhealthd.compact" -}}
{{- range $key, $value := . -}}
{{- if kindIs "invalid" $value }}{{ $_ := unset $ $key }}{{ else if kindIs "map" $value }}{{ include "gpuhealthd.compact" $value }}{{ end -}}
{{- end -}}
{{- end -}}

{{/*
What the configuration needs, as YAML with one boolean a key. A class of fault may have a
mode of its own, and one class that is repaired needs what all would.
*/}}
{{- define "gpuhealthd.rights" -}}
{{- $given := fromYaml (include "gpuhealthd.config" .) -}}
{{- with $given.Error }}{{ fail (printf "config is not YAML: %s" .) }}{{ end -}}
{{- include "gpuhealthd.compact" $given -}}
{{- $config := mergeOverwrite (fromYaml (.Files.Get "config.yaml")) $given -}}
{{- $modes := prepend (values $config.modes) $config.mode -}}
{{- range $modes -}}
{{- if not (has . (list "observe" "contain" "repair")) }}{{ fail (printf "config: mode %v is not observe, contain or repair" .) }}{{ end -}}
{{- end -}}
{{- $repair := has "repair" $modes -}}
{{- $reset := $config.repair.reset -}}
cordon: {{ or $repair (has "contain" $modes) }}
repair: {{ $repair }}
force: {{ and $repair (eq (toString $config.repair.drain.atDeadline) "force") }}
serving: {{ $config.serving.enabled }}
operands: {{ and $repair (eq (toString $reset.mode) "command") $reset.pauseOperands }}
autoscalers: {{ $config.kubernetes.keepFromAutoscaler }}
{{- end -}}
