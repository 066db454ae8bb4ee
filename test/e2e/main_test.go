// Package e2e proves the daemon from outside: its real binary, started as an
// operator would, on a simulated GPU node, against a real API server and under
// its own service account with the rights that deploy/ gives it. The clock is
// the machine's; what is waited for is a condition, never a time.
package e2e

import (
	"flag"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

var (
	programs daemontest.Programs
	shared   kubetest.Shared
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait much and compute little, so that more of them than there
	// are processors run at once.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	defer programs.Remove()
	defer shared.Stop()
	m.Run()
}
