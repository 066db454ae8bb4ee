package main

import "strings"

const (
	daemonSetFile  = "daemonset.yaml"
	podFile        = "overlays/repair/pod.yaml" // what mode repair changes in the pod
	driverRootFile = "driver-root.yaml"
)

// templates gives the templates by name. What $rights has stands in _helpers.tpl.
func templates(m *manifests) map[string]string {
	const labels = "  labels:\n    app.kubernetes.io/name: gpuhealthd\nspec:"
	return map[string]string{
		daemonSetFile: m.template(daemonSetFile, "", daemonSet(m)...),
		"admission.yaml": m.template("admission.yaml", ".Values.admission",
			change{`cordon: "true"`, "cordon: {{ $rights.cordon | quote }}"},
			change{`operands: "false"`, "operands: {{ $rights.operands | quote }}"},
			change{`autoscalers: "false"`, "autoscalers: {{ $rights.autoscalers | quote }}"}),
		"repair.yaml":       m.template("repair.yaml", "$rights.repair"),
		"repair-force.yaml": m.template("repair-force.yaml", "$rights.force"),
		"serving.yaml":      m.template("serving.yaml", "$rights.serving"),
		"podmonitor.yaml": m.template("podmonitor.yaml", ".Values.podMonitor.enabled",
			change{labels, strings.TrimSuffix(labels, "spec:") + with("podMonitor.labels", "{{ toYaml . | indent 4 }}\n") + "spec:"}),
	}
}

// daemonSet is what values and rights change in the manifest of that name.
func daemonSet(m *manifests) []change {
	const (
		name        = "      serviceAccountName: gpuhealthd\n"
		priority    = "      priorityClassName: "
		tolerations = "      tolerations:\n"
		env         = "        env:\n"
		limits      = "          limits:\n"
		mounts      = "        volumeMounts:\n"
		volumes     = "      volumes:\n"
	)
	text := func(from, to string) string { return m.between(daemonSetFile, from, to) }
	resources, contained := text("        resources:\n", "        securityContext:"), text(limits, "        securityContext:")
	repaired := m.between(podFile, "limits: # the host's programs count here\n", "")
	return []change{
		{"# Equal to packaging/config.yaml; go test ./deploy -update copies it here.\n", ""},
		{text("  config.yaml: |\n", "---\n"), "{{ include \"gpuhealthd.config\" . | indent 4 }}\n"},
		{name, name + with("image.pullSecrets", "      imagePullSecrets:\n{{ toYaml . | indent 6 }}\n") +
			with("runtimeClassName", "      runtimeClassName: {{ . | quote }}\n") +
			repairs(m.between(podFile, "  template:\n    spec:\n", "      containers:"), "")},
		{priority + text(priority, "\n"), priority + "{{ .Values.priorityClassName | quote }}"},
		{tolerations + text(tolerations, "\n\n") + "\n", with("tolerations", tolerations+"{{ toYaml . | indent 6 }}\n") +
			with("nodeSelector", "      nodeSelector:\n{{ toYaml . | indent 8 }}\n")},
		{"runtime-class.yaml.", "runtimeClassName."},
		{"driver-root.yaml.", "driverRoot."},
		{text("        image: ", "\n"), "{{ include \"gpuhealthd.image\" . | quote }}"},
		{env, env + repairs(m.between(podFile, "env: # a drain leaves the agent's own pod alone\n", "        resources:"), "")},
		{resources, "{{- with .Values.resources }}\n{{ toYaml . | indent 10 }}\n{{- else }}\n" +
			strings.Replace(resources, contained, repairs(repaired, contained), 1) + "{{- end }}\n"},
		{mounts, mounts + with("driverRoot", m.between(driverRootFile, mounts, volumes))},
		{volumes, volumes + with("driverRoot", strings.Replace(m.between(driverRootFile, volumes, ""), "/run/nvidia/driver", "{{ . | quote }}", 1))},
	}
}

// with is text that is there for a value which is not empty, and is the dot in it.
func with(value, text string) string {
	return "{{- with .Values." + value + " }}\n" + text + "{{- end }}\n"
}

// repairs is text for mode repair, and another for the other modes, or none.
func repairs(text, other string) string {
	if other != "" {
		other = "{{- else }}\n" + other
	}
	return "{{- if $rights.repair }}\n" + text + other + "{{- end }}\n"
}
