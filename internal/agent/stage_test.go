package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// stage is an agent among fakes, on a real store, inside a synctest bubble: to
// sleep there is to let time pass.
type stage struct {
	t     testing.TB
	dir   string
	log   *bootLog
	world *world
	logs  slog.Handler
	// actuator is the world, or stands before it.
	actuator Actuator
	// archive is where evidence goes.
	archive Archive
	// onSave runs before and after a snapshot is saved.
	onSave func()
	// adjust changes what the agent is made of.
	adjust func(*Options)

	*Agent
	disk    *failing
	driver  *driver
	metrics *prometheus.Registry
	cancel  context.CancelFunc
	done    chan error
}

const (
	period    = 5 * time.Second
	grace     = 2 * time.Minute
	probation = 20 * time.Second
)

func newStage(t testing.TB) *stage { return newStageIn(t, memoryDir(t)) }

// newStageIn is a stage that keeps its files in a folder, for one after it too.
func newStageIn(t testing.TB, dir string) *stage {
	s := &stage{t: t, dir: dir, log: newBootLog("11111111-boot"), world: newWorld(), logs: slog.DiscardHandler}
	s.actuator, s.onSave = s.world, func() {}
	s.adjust = func(*Options) {}
	s.archive = evidence.NewDir(filepath.Join(s.dir, "evidence"), evidence.Limits{Keep: 64, MaxBytes: 32 << 20})
	s.boot("11111111-boot")
	return s
}

// memoryDir is a folder where to sync costs nothing, if this machine has one.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "gpuhealthd-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *stage) boot(id string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "boot_id"), []byte(id), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) statePath() string { return filepath.Join(s.dir, "state.db") }

func (s *stage) options() Options {
	s.metrics = prometheus.NewRegistry()
	s.driver = &driver{reports: make(chan nvml.Report)}
	o := Options{
		Log: slog.New(s.logs), Metrics: NewMetrics(s.metrics),
		Policy:    remediate.Policy{Mode: remediate.Contain, Probation: probation},
		Judge:     fault.Config{CleanPolls: 3, Fresh: 2 * period},
		Kernel:    kernlog.Config{Path: "not opened", BootIDPath: filepath.Join(s.dir, "boot_id")},
		Driver:    s.driver,
		Actuator:  s.actuator,
		StatePath: s.statePath(),
		Grace:     grace,
		Evidence:  s.archive,
		Version:   "test",
		Name:      "node-1",
		Slots:     map[xidparse.PCI]string{mustPCI(address(2)): "7"},
	}
	s.adjust(&o)
	return o
}

// make builds an agent that does not run yet.
func (s *stage) make() {
	s.t.Helper()
	a, err := New(s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	a.reader = &reading{log: s.log, position: a.core.memory.mark.Kmsg}
	a.Register(s.metrics)
	if a.core.memory.store != nil {
		s.disk = &failing{keeper: a.core.memory.store, onSave: s.onSave}
		a.core.memory.store = s.disk
	}
	s.Agent = a
}

// start runs a new agent on what the folder holds.
func (s *stage) start() {
	s.t.Helper()
	s.make()
	s.run()
}

func (s *stage) run() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan error, 1)
	go func() { s.done <- s.Agent.Run(ctx) }()
	synctest.Wait()
}

// stop ends the agent in order.
func (s *stage) stop() {
	s.t.Helper()
	s.cancel()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
}

// hear lets the kernel say lines, and waits until they have had their effect,
// the events included.
func (s *stage) hear(texts ...string) {
	s.log.say(texts...)
	synctest.Wait()
	time.Sleep(headStart)
	synctest.Wait()
}

// report lets the driver's child say something.
func (s *stage) report(r nvml.Report) {
	s.driver.reports <- r
	synctest.Wait()
}

// polls reports n polls, a period apart.
func (s *stage) polls(n int, changes ...func(*nvml.GPU)) {
	for range n {
		s.report(inventoryOf(changes...))
		time.Sleep(period)
		synctest.Wait()
	}
}

func mustPCI(text string) xidparse.PCI {
	at, ok := xidparse.ParsePCI(text)
	if !ok {
		panic(text)
	}
	return at
}

// gpus is how many GPUs the driver lists.
const gpus = 8

func address(i int) string { return fmt.Sprintf("0000:%02x:00", 0x1b+i*0x10) }

func uuid(i int) string { return fmt.Sprintf("GPU-%08d-aaaa-bbbb-cccc-0123456789ab", i) }

// inventoryOf is a poll of a healthy node with the changes made to every GPU.
func inventoryOf(changes ...func(*nvml.GPU)) nvml.Report {
	inv := nvml.Inventory{Driver: "570.195.03"}
	for i := range gpus {
		pci, _ := xidparse.ParsePCI(address(i))
		none := 0
		g := nvml.GPU{Index: i, Identity: nvml.Identity{UUID: uuid(i), PCI: pci}, Recovery: &none, Remap: &nvml.Remap{}}
		for _, change := range changes {
			change(&g)
		}
		inv.GPUs = append(inv.GPUs, g)
	}
	return nvml.InventoryReport(inv)
}

// wants is a change: the driver asks for a recovery of one GPU.
func wants(gpu, action int) func(*nvml.GPU) {
	return func(g *nvml.GPU) {
		if g.Index == gpu {
			g.Recovery = &action
		}
	}
}

func xid(gpu int, text string) string {
	return fmt.Sprintf("NVRM: Xid (PCI:%s): %s", address(gpu), text)
}

// The lines of a hard fault and of its end.
const (
	uncontained = "95, pid=1234, name=python3, Uncontained: FBHUB. RST: Yes, D-RST: No"
	resetAsked  = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
	nothingMore = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
)
