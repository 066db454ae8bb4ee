package dcgmi

import (
	"maps"
	"strings"
	"testing"
)

// table is what dcgmi of DCGM 4 prints on a machine with switches and CPUs.
const table = `2 GPUs found.
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA H100 80GB HBM3                                          |
|        | PCI Bus ID: 00000000:1B:00.0                                         |
|        | Device UUID: GPU-6513270e-269e-0d37-f2a7-4de452e6b438                |
+--------+----------------------------------------------------------------------+
| 3      | Name: NVIDIA H100 80GB HBM3                                          |
|        | PCI Bus ID: 00000000:61:00.0                                         |
|        | Device UUID: GPU-6F03675A-1600-a35a-0999-50d836f675cc                |
+--------+----------------------------------------------------------------------+
1 NvSwitches found.
+-----------+
| Switch ID |
+-----------+
| 7         |
+-----------+
1 CPUs found.
+--------+----------------------------------------------------------------------+
| CPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: Grace CPU                                                      |
+--------+----------------------------------------------------------------------+
`

func TestListed(t *testing.T) {
	got := listed("Warning: a word before\n" + table)
	want := map[string]int{"GPU-6513270e-269e-0d37-f2a7-4de452e6b438": 0, "GPU-6F03675A-1600-a35a-0999-50d836f675cc": 3}
	if !maps.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if got := listed(strings.Replace(table, "| 0  ", "|    ", 1)); len(got) != 1 {
		t.Errorf("a GPU without a number is listed: %v", got)
	}
}

// FuzzListed: every number listed is a GPU's of that table, once.
func FuzzListed(f *testing.F) {
	f.Add(table)
	f.Add("| 99999999999999999999 | Device UUID: GPU-1\n| 1 | Device UUID: GPU-2 Device UUID: GPU-3")
	f.Fuzz(func(t *testing.T, out string) {
		for uuid, id := range listed(out) {
			if id < 0 || !strings.HasPrefix(uuid, "GPU-") || !strings.Contains(out, uuid) {
				t.Errorf("%q is %d", uuid, id)
			}
		}
	})
}
