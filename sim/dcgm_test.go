package sim_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// asClient names the check that a process of the test binary makes as a client
// of the simulated engine: the library is found by the environment that a
// process starts with.
const asClient = "GPUHEALTHD_TEST_DCGM_CLIENT"

// client runs a check of TestAsClient and gives the process's output and end.
func client(t *testing.T, check string) (string, error) {
	t.Helper()
	if out, err := exec.Command("make", "OUT=../build/sim").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	library, err := filepath.Abs("../build/sim")
	must(t, err)
	n, err := node.New(t.TempDir(), "hgx-h100")
	must(t, err)
	must(t, n.DCGM().Start("localhost:5555"))
	cmd := exec.Command(os.Args[0], "-test.run=^TestAsClient$")
	cmd.Env = append(os.Environ(), append(n.Env(library), asClient+"="+check)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDCGMCache(t *testing.T) {
	if out, err := client(t, "cache"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Why nothing reads past the cache: some fields fail the call, some end the
// engine, which is the process here.
func TestDCGMLiveReads(t *testing.T) {
	if out, err := client(t, "live"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := client(t, "live profiling"); err == nil || !strings.Contains(out, "SIGABRT") {
		t.Errorf("%v\n%s\nwant an abort", err, out)
	}
}

func TestAsClient(t *testing.T) {
	check := os.Getenv(asClient)
	if check == "" {
		t.Skip("runs in a process of its own, for the tests above")
	}
	_, err := dcgm.Init(dcgm.Standalone, "localhost:5555", "0")
	must(t, err)
	switch check {
	case "cache":
		readCache(t)
	case "live":
		for field, code := range map[dcgm.Short]int{150: 0, 230: -3, 9999: -3} {
			if got := readLive(field); got != code {
				t.Errorf("live read of %d: %d, want %d", field, got, code)
			}
		}
	case "live profiling":
		readLive(1002)
	}
}

func readCache(t *testing.T) {
	fields := []dcgm.Short{150, 230}
	check := func(what string, want []int) {
		t.Helper()
		values, err := dcgm.EntityGetLatestValues(dcgm.FE_GPU, 0, fields)
		must(t, err)
		for i, v := range values {
			if v.Status != want[i] || (v.Status != 0 && !dcgm.IsInt64Blank(v.Int64())) {
				t.Errorf("%s: field %d: status %d, value %d, want status %d", what, fields[i], v.Status, v.Int64(), want[i])
			}
		}
	}
	check("not watched", []int{-16, -16})
	set, err := dcgm.FieldGroupCreate("test", fields)
	must(t, err)
	must(t, dcgm.WatchFieldsWithGroup(set, dcgm.GroupAllGPUs()))
	check("watched, no XID yet", []int{0, -14})
	if _, err := dcgm.EntityGetLatestValues(dcgm.FE_GPU, 0, []dcgm.Short{150, 9999}); code(err) != -3 {
		t.Errorf("unknown field: %v, want -3 for the whole call", err)
	}
	if _, err := dcgm.FieldGroupCreate("unknown", []dcgm.Short{9999}); err == nil {
		t.Error("a set with an unknown field is made")
	}
	must(t, dcgm.Shutdown())
}

// readLive reads a field past the cache and gives DCGM's answer.
func readLive(field dcgm.Short) int {
	const live = 1 // DCGM_FV_FLAG_LIVE_DATA
	gpu := []dcgm.GroupEntityPair{{EntityGroupId: dcgm.FE_GPU, EntityId: 0}}
	_, err := dcgm.EntitiesGetLatestValues(gpu, []dcgm.Short{field}, live)
	return code(err)
}

func code(err error) int {
	if told := (*dcgm.Error)(nil); errors.As(err, &told) {
		return int(told.Code)
	}
	return 0
}
