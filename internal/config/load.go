package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

// Load reads a file over the defaults.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse reads YAML over the defaults. name is the file's, for errors.
func Parse(name string, data []byte) (Config, error) {
	c := Default()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, located(name, data, err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("%s: a second YAML document, where one is all that is read", name)
	}
	if err := c.check(); err != nil {
		return Config{}, located(name, data, err)
	}
	return c, nil
}

// fieldError is a value out of range, by the path of its field.
type fieldError struct{ field, why string }

func (e fieldError) Error() string { return e.field + ": " + e.why }

func (c *Config) check() error {
	for _, f := range []struct {
		field string
		bad   bool
		why   string
	}{
		{"mode", !c.Mode.Valid(), fmt.Sprintf("%q is not observe or contain", c.Mode)},
		{"kernelLog.source", !c.KernelLog.Source.Valid(), fmt.Sprintf("%q is not auto, kmsg, journal or both", c.KernelLog.Source)},
		{"kernelLog.journalPaths", (c.KernelLog.Source == kernlog.FromJournal || c.KernelLog.Source == kernlog.Both) && len(c.KernelLog.JournalPaths) == 0,
			fmt.Sprintf("none, and the source is %s", c.KernelLog.Source)},
		{"kernelLog.journalPaths", slices.ContainsFunc(c.KernelLog.JournalPaths, relative), fmt.Sprintf("%q are not all absolute paths", c.KernelLog.JournalPaths)},
		{"kernelLog.path", !filepath.IsAbs(c.KernelLog.Path), fmt.Sprintf("%q is not an absolute path", c.KernelLog.Path)},
		{"kernelLog.bootIDPath", !filepath.IsAbs(c.KernelLog.BootIDPath), fmt.Sprintf("%q is not an absolute path", c.KernelLog.BootIDPath)},
		{"nvml.period", time.Duration(c.NVML.Period) < time.Second, fmt.Sprintf("%s is less than 1s", time.Duration(c.NVML.Period))},
		{"nvml.slowPeriod", c.NVML.SlowPeriod < c.NVML.Period, fmt.Sprintf("%s is less than nvml.period", time.Duration(c.NVML.SlowPeriod))},
		{"nvml.expect", c.NVML.Expect < 0, fmt.Sprintf("%d is negative", c.NVML.Expect)},
		{"nvml.busPath", c.NVML.BusPath != "" && !filepath.IsAbs(c.NVML.BusPath), fmt.Sprintf("%q is not an absolute path", c.NVML.BusPath)},
		{"nvml.deadline", time.Duration(c.NVML.Deadline) < 100*time.Millisecond, fmt.Sprintf("%s is less than 100ms", time.Duration(c.NVML.Deadline))},
		{"contain.cleanPolls", c.Contain.CleanPolls < 1, fmt.Sprintf("%d is less than 1", c.Contain.CleanPolls)},
		{"state.path", !filepath.IsAbs(c.State.Path), fmt.Sprintf("%q is not an absolute path", c.State.Path)},
		{"http.listen", !listenable(c.HTTP.Listen), fmt.Sprintf("%q is not host:port", c.HTTP.Listen)},
	} {
		if f.bad {
			return fieldError{f.field, f.why}
		}
	}
	return nil
}

func relative(path string) bool { return !filepath.IsAbs(path) }

func listenable(address string) bool {
	if address == "" {
		return true
	}
	_, _, err := net.SplitHostPort(address)
	return err == nil
}
