package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// diagFile says what the node's dcgmi answers to "dcgmi diag". Without it every
// test passes at once. The engine's part is here as well: whether it is busy.
//
//	version = 4.6.0            of 3.x the JSON is DCGM 3's
//	seconds = 0                how long a test takes
//	hang = TEST                the diagnosis hangs in that test
//	deaf = off | on            dcgmi takes no notice of signals
//	stopping = 0               seconds until a stop is done
//	missing = TEST,TEST        plugins that are not installed
//	text = TEXT                stands before the JSON
//	cut = BYTES                the answer ends there
//	exit = CODE                the exit status, whatever happened
//	running = UNTIL            busy, until a second of the Unix clock or forever
//	[gpu N]
//	result.TEST = STATUS CODE SEVERITY TEXT
const diagFile = "dcgmi.conf"

// forever is Forever in the file.
const forever = "forever"

// Diag is the diagnosis of the node's DCGM.
type Diag struct {
	node *Node
}

// Diag gives the node's diagnosis.
func (n *Node) Diag() Diag { return Diag{n} }

// Finding is what a test says of a GPU.
type Finding struct {
	// Status is DCGM's word: Pass, Fail, Warn, Skip.
	Status string
	// Code and Severity are DCGM's numbers, of an error if Text is not empty.
	Code, Severity int
	Text           string
}

// Set sets one of the node's keys; an empty value undoes that.
func (d Diag) Set(key, value string) error {
	known := []string{"version", "seconds", "hang", "deaf", "stopping", "missing", "text", "cut", "exit"}
	if !slices.Contains(known, key) {
		return fmt.Errorf("diag: %q: want one of %s", key, strings.Join(known, ", "))
	}
	return d.change(func(c *conf) { c.put(nodeSection, key, value) })
}

// Result lets a test end so on a GPU. No text is no error.
func (d Diag) Result(gpu, test string, f Finding) error {
	if !slices.Contains([]string{"Pass", "Fail", "Warn", "Skip"}, f.Status) {
		return fmt.Errorf("diag: status %q: want Pass, Fail, Warn or Skip", f.Status)
	}
	g, err := d.node.GPU(gpu)
	if err != nil {
		return err
	}
	return d.change(func(c *conf) {
		c.set(g.Index, "result."+test, fmt.Sprintf("%s %d %d %s", f.Status, f.Code, f.Severity, f.Text))
	})
}

// Begin makes the engine busy for so long, negative for ever; false if it is.
func (d Diag) Begin(took time.Duration) (begun bool, err error) {
	err = d.change(func(c *conf) {
		if begun = !c.running(); !begun {
			return
		}
		until := forever
		if took >= 0 {
			until = strconv.FormatInt(time.Now().Add(took).Unix()+1, 10)
		}
		c.set(nodeSection, "running", until)
	})
	return begun, err
}

// Stop is dcgmStopDiagnostic: the engine is free.
func (d Diag) Stop() error {
	return d.change(func(c *conf) { c.put(nodeSection, "running", "") })
}

// Running tells whether the engine is busy with a diagnosis.
func (d Diag) Running() (bool, error) {
	c, err := d.read()
	return c.running(), err
}

func (c conf) running() bool {
	until := c.get(nodeSection, "running")
	end, err := strconv.ParseInt(until, 10, 64)
	return until == forever || err == nil && time.Now().Unix() < end
}

// Value gives one of the node's keys; empty where it is not set.
func (d Diag) Value(key string) (string, error) {
	c, err := d.read()
	return c.get(nodeSection, key), err
}

// Finding gives how a test ends on a GPU.
func (d Diag) Finding(gpu int, test string) (Finding, error) {
	c, err := d.read()
	f := Finding{Status: "Pass"}
	fields := strings.SplitN(c.get(gpu, "result."+test), " ", 4)
	if err != nil || len(fields) < 3 {
		return f, err
	}
	f.Status = fields[0]
	if f.Code, err = strconv.Atoi(fields[1]); err != nil {
		return f, fmt.Errorf("diag: code of %s of GPU %d: %w", test, gpu, err)
	}
	if f.Severity, err = strconv.Atoi(fields[2]); err != nil {
		return f, fmt.Errorf("diag: severity of %s of GPU %d: %w", test, gpu, err)
	}
	if len(fields) == 4 {
		f.Text = fields[3]
	}
	return f, nil
}

// FirstMIG gives the first GPU that is in MIG mode, or -1.
func (n *Node) FirstMIG() (int, error) {
	c, err := n.read()
	if err != nil {
		return -1, err
	}
	for i := range c.count() {
		if c.get(i, "mig") == "on" {
			return i, nil
		}
	}
	return -1, nil
}

func (d Diag) change(do func(c *conf)) error {
	return d.node.locked(func() error {
		c, err := d.read()
		if err != nil {
			return err
		}
		do(&c)
		return d.node.replace(diagFile, c.bytes())
	})
}

// read gives the file, or one in which nothing is set.
func (d Diag) read() (conf, error) {
	text, err := os.ReadFile(d.node.path(diagFile))
	if errors.Is(err, fs.ErrNotExist) {
		var node conf
		if node, err = d.node.read(); err == nil {
			text = []byte(node.bare())
		}
	}
	if err != nil {
		return conf{}, fmt.Errorf("simulated diagnosis: %w", err)
	}
	return parseConf(text), nil
}
