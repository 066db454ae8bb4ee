package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The process of an agent that is going to be killed finds its folder, its history
// and the point by these.
const (
	killFolder  = "GPUHEALTHD_TEST_KILL_FOLDER"
	killHistory = "GPUHEALTHD_TEST_KILL_HISTORY"
	killPoint   = "GPUHEALTHD_TEST_KILL_POINT"
)

// TestKilledAnywhereInARepair is TestCrashAnywhereInARepair with a process for each
// agent, which SIGKILL ends, and a machine in a file. The process of the agent is
// this test too.
func TestKilledAnywhereInARepair(t *testing.T) {
	if dir := os.Getenv(killFolder); dir != "" {
		mortal(t, dir)
		return
	}
	for n, h := range histories {
		// One history in full; of the others, whose points are the same kinds, a few.
		every := 25
		if h.name == "a reset heals nothing and a reboot does" {
			every = 1
		}
		if testing.Short() {
			every *= 10
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			known := &references{t: t, history: h}
			points := append(known.without(), 0) // nowhere, too
			for i := len(points) - 1; i >= 0; i -= every {
				got, lapsed := h.killed(t, n, points[i])
				known.compare(t, fmt.Sprintf("killed at point %d", points[i]), got, lapsed)
			}
		})
	}
}

// killed plays the n-th history with a process that is killed at a point, and those
// that go on after it, until one has come to the end.
func (h history) killed(t *testing.T, n, at int) (left legacy, lapsed []lapse) {
	dir := memoryDir(t)
	for deaths := 0; ; deaths++ {
		agent := exec.Command(os.Args[0], "-test.run=^TestKilledAnywhereInARepair$", "-test.timeout=1m")
		agent.Env = append(os.Environ(), killFolder+"="+dir, fmt.Sprintf("%s=%d", killHistory, n), fmt.Sprintf("%s=%d", killPoint, at))
		said, err := agent.CombinedOutput()
		if err == nil {
			break
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || deaths > 5 {
			t.Fatalf("killed at point %d, %d times: %v\n%s", at, deaths, err, said)
		}
		c := newCourse(t, dir, h)
		read(t, dir, c.machine)
		if l, ok := c.lapse(); ok {
			lapsed = append(lapsed, l)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "left.json"))
	if err := errors.Join(err, json.Unmarshal(text, &left)); err != nil {
		t.Fatal(err)
	}
	return left, lapsed
}

// mortal is the process of one agent, and of the machine around it, which goes on
// where the one before it was killed.
func mortal(t *testing.T, dir string) {
	n, err := strconv.Atoi(os.Getenv(killHistory))
	at, err2 := strconv.Atoi(os.Getenv(killPoint))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, dir, histories[n])
		had := read(t, dir, c.machine)
		if c.crash.n = had.Points; !had.Killed {
			c.crash.at = []int{at}
		}
		c.crash.kill = func() {
			write(t, dir, c.machine, c.crash)
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			select {}
		}
		time.Sleep(time.Until(had.Clock))
		c.booted()
		c.log.say(c.machine.Said...)
		c.start()
		c.live()
		text, err := json.Marshal(c.legacy())
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "left.json"), text, 0o600)); err != nil {
			t.Error(err)
		}
		c.stop()
	})
}

// remains are all that outlives a process but for the agent's own store.
type remains struct {
	Machine standing
	Node    remediate.Observed
	Desired remediate.Desired
	Service []string
	Events  []remediate.Event
	Clock   time.Time
	Points  int
	Killed  bool
}

func write(t *testing.T, dir string, m *machine, c *crasher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.world
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := json.Marshal(remains{m.standing, w.node, w.desired, w.history, w.events, time.Now(), c.n, len(c.at) == 0})
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "machine.json"), text, 0o600)); err != nil {
		t.Error(err)
	}
}

// read brings a machine to where it was, if there is anything to read.
func read(t *testing.T, dir string, m *machine) (had remains) {
	text, err := os.ReadFile(filepath.Join(dir, "machine.json"))
	if errors.Is(err, os.ErrNotExist) {
		return had
	}
	if err := errors.Join(err, json.Unmarshal(text, &had)); err != nil {
		t.Fatal(err)
	}
	m.standing = had.Machine
	w := m.world
	w.node, w.desired, w.history, w.events = had.Node, had.Desired, had.Service, had.Events
	return had
}
