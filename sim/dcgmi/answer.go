package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// object is one of JSON's.
type object = map[string]any

// The severity of an error after which dcgmi exits with 205.
const isolate = 2

// answer writes the results, of several iterations wrapped.
func (d *diagnosis) answer(tests []string) (int, error) {
	if len(tests) == 0 {
		return d.refuse(exitNoTest, "Error: requested tests are not available", nil)
	}
	one, code, err := d.iteration(tests)
	if err != nil {
		return exitUsage, err
	}
	if d.options.iterations <= 1 {
		return d.print(code, one)
	}
	result := "Pass"
	if code != 0 {
		result = "Fail"
	}
	return d.print(code, object{"iterations": slices.Repeat([]any{one}, d.options.iterations), "Overall Result": result})
}

// iteration makes the answer of one pass, in the JSON of the version.
func (d *diagnosis) iteration(tests []string) (answer object, code int, err error) {
	var categories []object
	for _, category := range []string{"Deployment", "Integration", "Hardware", "Stress"} {
		var list []object
		for _, l := range levels {
			if l.category != category || !slices.Contains(tests, l.name) {
				continue
			}
			made, worst, err := d.test(l.name)
			if err != nil {
				return nil, 0, err
			}
			list, code = append(list, made...), worse(code, worst)
		}
		if list != nil {
			categories = append(categories, object{"category": category, "tests": list})
		}
	}
	gpus, err := d.node.GPUs()
	if err != nil {
		return nil, 0, err
	}
	if d.old() {
		serials := object{}
		for _, i := range d.gpus {
			serials[fmt.Sprint(i)] = gpus[i].Serial
		}
		return object{"DCGM GPU Diagnostic": object{"test_categories": categories}, "version": d.version(),
			"Driver Version Detected": "535.183.01", "GPU Device Serials": serials}, code, nil
	}
	var entities []object
	for _, i := range d.gpus {
		entities = append(entities, object{"entity_id": i, "serial_num": gpus[i].Serial, "device_id": "2330"})
	}
	return object{"DCGM Diagnostic": object{"test_categories": categories},
		"entity_groups": []object{{"entity_group": "GPU", "entity_group_id": 1, "entities": entities}},
		"metadata":      object{"version": d.version(), "Driver Version Detected": "570.195.03"}}, code, nil
}

// worse gives the exit status that tells of more.
func worse(a, b int) int {
	for _, code := range []int{exitIsolate, exitFailed} {
		if a == code || b == code {
			return code
		}
	}
	return 0
}

// test makes a test's part of the answer, and the exit status it asks for.
func (d *diagnosis) test(name string) (made []object, code int, err error) {
	findings := map[int]node.Finding{}
	for _, i := range d.gpus {
		f, err := d.node.Diag().Finding(i, name)
		if err != nil {
			return nil, 0, err
		}
		findings[i] = f
		switch {
		case f.Status == "Fail" && f.Severity == isolate:
			code = exitIsolate
		case f.Status == "Fail":
			code = worse(code, exitFailed)
		}
	}
	switch {
	case d.old() && name == "software":
		return d.software3(findings), code, nil
	case d.old():
		return []object{d.test3(name, findings)}, code, nil
	}
	return []object{d.test4(name, findings)}, code, nil
}

// test4 repeats the errors of the results in the summary.
func (d *diagnosis) test4(name string, findings map[int]node.Finding) object {
	summary := object{"status": "Pass"}
	var results, all []object
	for _, i := range d.gpus {
		f := findings[i]
		result := object{"entity_group": "GPU", "entity_group_id": 1, "entity_id": i, "status": f.Status}
		if f.Status != "Pass" {
			summary["status"] = f.Status
		}
		if f.Text != "" {
			warning := warning("warning", f)
			result["warnings"] = []object{warning}
			all = append(all, warning)
		}
		results = append(results, result)
	}
	if all != nil {
		summary["warnings"] = all
	}
	return object{"name": name, "results": results, "test_summary": summary}
}

func warning(key string, f node.Finding) object {
	return object{key: f.Text, "error_id": f.Code, "error_severity": f.Severity, "error_category": 10}
}

// name3 is DCGM 3's name of a test.
func name3(test string) string {
	switch test {
	case "memory":
		return "GPU Memory"
	case "pcie":
		return "PCIe"
	case "eud":
		return "EUD Test"
	}
	words := strings.Split(test, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

func (d *diagnosis) test3(name string, findings map[int]node.Finding) object {
	var results []object
	for _, i := range d.gpus {
		result := object{"gpu_id": fmt.Sprint(i), "status": findings[i].Status}
		if findings[i].Text != "" {
			result["warnings"] = []object{warning("warning", findings[i])}
		}
		results = append(results, result)
	}
	return object{"name": name3(name), "results": results}
}

// software3 is DCGM 3's software test: its checks apart, and the errors of all
// GPUs, in a key of their own, under the number of the last.
func (d *diagnosis) software3(findings map[int]node.Finding) (tests []object) {
	for _, name := range []string{"Denylist", "NVML Library", "CUDA Main Library", "Permissions and OS Blocks",
		"Persistence Mode", "Environment Variables", "Graphics Processes", "Inforom"} {
		tests = append(tests, object{"name": name, "results": []object{{"status": "Pass"}}})
	}
	result := object{"status": "Pass"}
	var warnings []object
	for _, i := range d.gpus {
		if f := findings[i]; f.Status != "Pass" {
			result["status"], result["gpu_id"] = f.Status, i
			warnings = append(warnings, warning("warnings", f))
		}
	}
	if warnings != nil {
		result["warnings"] = warnings
	}
	return append(tests, object{"name": "Page Retirement/Row Remap", "results": []object{result}})
}
