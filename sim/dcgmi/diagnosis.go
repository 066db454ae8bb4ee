package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// diagnosis is one call of "dcgmi diag".
type diagnosis struct {
	node    *node.Node
	options options
	out     io.Writer
	gpus    []int
	// embedded: no engine answered, so one runs in this process.
	embedded bool
	said     string
	// open is what an embedded engine keeps open.
	open []*os.File
}

// levels are the tests by the lowest level that has them, in the order in which
// they run, with their categories.
var levels = [...]struct {
	level          int
	name, category string
}{
	{1, "software", "Deployment"},
	{2, "memory", "Hardware"}, {3, "diagnostic", "Hardware"}, {3, "nvbandwidth", "Hardware"}, {3, "nccl_tests", "Hardware"},
	{4, "pulse_test", "Hardware"}, {2, "pcie", "Integration"},
	{3, "eud", "Stress"}, {3, "memory_bandwidth", "Stress"}, {3, "targeted_stress", "Stress"}, {3, "targeted_power", "Stress"},
	{4, "memtest", "Stress"},
}

// run gives the exit status. An error is one of the simulation itself.
func (d *diagnosis) run() (code int, err error) {
	up, err := connect(d.node, d.options.host)
	if err != nil {
		return exitUsage, err
	}
	if d.embedded = !up; d.embedded {
		d.said = noEngine(d.options.host)
	}
	if code, words, err := d.choose(); code != 0 || err != nil {
		return d.refuse(code, words, err)
	}
	tests, err := d.tests()
	if err != nil {
		return exitUsage, err
	}
	if code, words, err := d.work(tests); code != 0 || err != nil {
		return d.refuse(code, words, err)
	}
	return d.answer(tests)
}

// choose reads which GPUs are to be tested, and whether they can be.
func (d *diagnosis) choose() (code int, words string, err error) {
	gpus, err := present(d.node)
	if err != nil {
		return exitUsage, "", err
	}
	var all []int
	for _, g := range gpus {
		all = append(all, g.Index)
	}
	if d.gpus = all; d.options.entities != "" {
		d.gpus = nil
		for id := range strings.SplitSeq(d.options.entities, ",") {
			i, err := strconv.Atoi(id)
			if err != nil || !slices.Contains(all, i) {
				return exitLost, d.unable(-18, "GPU is lost"), nil
			}
			d.gpus = append(d.gpus, i)
		}
	}
	mig, err := d.node.FirstMIG()
	if mig >= 0 {
		return exitFailed, fmt.Sprintf("GPU %d's MIG configuration is incompatible with the diagnostic because it prevents access to the entire GPU.", mig), err
	}
	return 0, "", err
}

// tests are those of the level whose plugins are there. That of software is built
// in.
func (d *diagnosis) tests() (names []string, err error) {
	missing, err := d.node.Diag().Value("missing")
	for _, l := range levels {
		if l.level <= d.options.level && !slices.Contains(strings.Split(missing, ","), l.name) && d.has(l.name) {
			names = append(names, l.name)
		}
	}
	return names, err
}

// has tells whether the version has a test.
func (d *diagnosis) has(test string) bool {
	return !d.old() || test != "nvbandwidth" && test != "nccl_tests"
}

// version is DCGM's.
func (d *diagnosis) version() string {
	v, err := d.node.Diag().Value("version")
	if v == "" || err != nil {
		return "4.6.0"
	}
	return v
}

func (d *diagnosis) old() bool { return strings.HasPrefix(d.version(), "3.") }

// work lets the tests take their time, and ends early on a signal or when the
// engine is told to stop.
func (d *diagnosis) work(tests []string) (code int, words string, err error) {
	seconds, err := d.number("seconds")
	if err != nil {
		return exitUsage, "", err
	}
	hang, err := d.node.Diag().Value("hang")
	if err != nil {
		return exitUsage, "", err
	}
	took := time.Duration(seconds * float64(time.Second) * float64(len(tests)*d.options.iterations))
	hangs := slices.Contains(tests, hang)
	if hangs {
		took = node.Forever
	}
	signals := d.signals()
	if d.embedded {
		child, err := d.startWorker()
		if err != nil {
			return exitUsage, "", err
		}
		defer func() { _, _ = child.Kill(), child.Release() }()
	} else {
		begun, err := d.node.Diag().Begin(took)
		if err != nil || !begun {
			return exitInUse, d.unable(-34, "The requested operation could not be completed because the affected resource is in use"), err
		}
		defer func() { _ = d.node.Diag().Stop() }() // a node that is gone needs none
	}
	select {
	case <-signals: // one that comes before the diagnosis has begun is lost
	default:
	}
	return d.wait(took, signals)
}

// wait looks for an end ten times a second, as dcgmi does.
func (d *diagnosis) wait(took time.Duration, signals <-chan os.Signal) (code int, words string, err error) {
	over := make(<-chan time.Time)
	if took >= 0 {
		over = time.After(took)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return 0, "", nil
		case <-signals:
			stopping, err := d.number("stopping")
			time.Sleep(time.Duration(stopping * float64(time.Second)))
			return exitKilled, d.unable(-53, "The NVVS process was killed"), err
		case <-tick.C:
			running, err := d.node.Diag().Running()
			if !d.embedded && (err != nil || !running && took != 0) {
				return exitStopped, d.unable(-66, "The DCGM Diagnostic was stopped"), err
			}
		}
	}
}

// signals are those on which dcgmi stops the diagnosis, unless it is deaf.
func (d *diagnosis) signals() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	stops := []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}
	if deaf, err := d.node.Diag().Value("deaf"); err == nil && deaf == "on" {
		signal.Ignore(stops...)
		return c
	}
	signal.Notify(c, stops...)
	return c
}

func (d *diagnosis) number(key string) (float64, error) {
	value, err := d.node.Diag().Value(key)
	if err != nil || value == "" {
		return 0, err
	}
	return strconv.ParseFloat(value, 64)
}

func (d *diagnosis) unable(number int, words string) string {
	return fmt.Sprintf("Error: Unable to complete diagnostic for entities %s. Return: (%d) : %s\n", d.options.entities, number, words)
}

// refuse answers that nothing was run.
func (d *diagnosis) refuse(code int, words string, err error) (int, error) {
	if err != nil {
		return exitUsage, err
	}
	key := "DCGM Diagnostic"
	if d.old() {
		key = "DCGM GPU Diagnostic"
	}
	return d.print(code, map[string]any{key: map[string]any{"runtime_error": words, "version": d.version()}})
}

// print writes the answer, or as much of it as the node allows.
func (d *diagnosis) print(code int, answer any) (int, error) {
	text, err := json.MarshalIndent(answer, "", "\t")
	if err != nil {
		return exitUsage, err
	}
	before, err := d.node.Diag().Value("text")
	if err != nil {
		return exitUsage, err
	}
	if before != "" {
		before += "\n"
	}
	whole := d.said + before + string(text) + "\n"
	cut, err := d.number("cut")
	if err != nil {
		return exitUsage, err
	}
	if cut > 0 {
		whole = whole[:min(len(whole), int(cut))]
	}
	if status, err := d.number("exit"); err != nil || status != 0 {
		code = int(status)
	}
	_, err = io.WriteString(d.out, whole)
	return code, err
}
