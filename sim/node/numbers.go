package node

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The words that a value can be in the place of a number.
const (
	Unsupported = "unsupported" // the GPU does not have it
	Unknown     = "unknown"     // the driver fails to tell it: "Unknown Error"
	Blank       = "blank"       // the driver tells nonsense
)

// notNumbers are the keys of "[gpu *]" that stand for no number.
var notNumbers = []string{"state", "after-reboot", "mig", "mig.layout", "mig.idle", "remap", resetKey,
	"nvlink.switches", "fabric.cluster", "platform.chassis"}

// Values lists the names of what Set can set, in the order of the control file.
func (n *Node) Values() ([]string, error) {
	c, err := n.read()
	if err != nil {
		return nil, err
	}
	return c.values(), nil
}

func (c conf) values() []string {
	return slices.DeleteFunc(c.keys(everyGPU), func(key string) bool { return slices.Contains(notNumbers, key) })
}

// Set lets the driver tell a GPU's value: a number in NVML's units, Unsupported,
// Unknown or Blank.
func (n *Node) Set(gpu, value, to string) error {
	if _, err := strconv.ParseFloat(to, 64); err != nil && !slices.Contains([]string{Unsupported, Unknown, Blank}, to) {
		return fmt.Errorf("%s = %q: want a number, %s, %s or %s", value, to, Unsupported, Unknown, Blank)
	}
	return n.editValue(gpu, value, func(c *conf, i int) error {
		c.set(i, value, to)
		return nil
	})
}

// Rate lets a GPU's value grow from what it is now by so much a second; 0 stops
// it there.
func (n *Node) Rate(gpu, value string, perSecond float64) error {
	return n.editValue(gpu, value, func(c *conf, i int) error { return c.rate(i, value, perSecond) })
}

// Add raises a GPU's value by n. One that is not known begins at 0.
func (n *Node) Add(gpu, value string, by float64) error {
	return n.editValue(gpu, value, func(c *conf, i int) error { c.add(i, value, by); return nil })
}

// Fail lets the driver answer "Unknown Error" for each of a GPU's values whose
// name is, or begins with, prefix: "ecc" is all of error correction.
func (n *Node) Fail(gpu, prefix string) error {
	return n.change(func(c *conf) error {
		g, err := c.resolve(gpu)
		if err != nil {
			return err
		}
		found := false
		for _, name := range c.values() {
			if name == prefix || strings.HasPrefix(name, prefix+".") {
				c.set(g.Index, name, Unknown)
				found = true
			}
		}
		if !found {
			return fmt.Errorf("value %q: none is called so or begins so", prefix)
		}
		return nil
	})
}

func (n *Node) editValue(gpu, value string, do func(c *conf, i int) error) error {
	var refused error
	err := n.edit(gpu, func(c *conf, i int) {
		if !slices.Contains(c.values(), value) {
			refused = fmt.Errorf("value %q: not one of those in [gpu *] of %s", value, controlFile)
			return
		}
		refused = do(c, i)
	})
	return errors.Join(refused, err)
}

// number is a value as the control file has it: base at a time, and so much more
// each second since.
type number struct {
	base, rate, since float64
}

// parseNumber reads one; a word is none and begins at 0.
func parseNumber(text string) number {
	var v number
	if _, err := fmt.Sscanf(text, "%g %g/s @%g", &v.base, &v.rate, &v.since); err != nil {
		v.rate = 0
	}
	return v
}

func (v number) at(now float64) float64 {
	if v.rate == 0 {
		return v.base
	}
	return v.base + v.rate*(now-v.since)
}

func (v number) String() string {
	base := strconv.FormatFloat(v.base, 'f', -1, 64)
	if v.rate == 0 {
		return base
	}
	return fmt.Sprintf("%s %+g/s @%.3f", base, v.rate, v.since)
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (c *conf) add(i int, key string, by float64) {
	v := parseNumber(c.get(i, key))
	v.base += by
	c.set(i, key, v.String())
}

func (c *conf) rate(i int, key string, perSecond float64) error {
	text := c.get(i, key)
	if slices.Contains([]string{Unsupported, Unknown, Blank}, text) {
		return fmt.Errorf("%s is %s: set it to a number first", key, text)
	}
	now := seconds(time.Now())
	v := number{base: parseNumber(text).at(now), rate: perSecond, since: now}
	c.set(i, key, v.String())
	return nil
}
