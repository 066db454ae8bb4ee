package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

// maxSize is the most bytes that a file may have; the longest useful one has a
// few thousand.
const maxSize = 1 << 20

// minEvidence is the least that bundles of evidence may take: less would hold
// nothing of an incident.
const minEvidence = 64 << 10

// Load reads a file over the defaults.
func Load(path string) (Config, error) {
	data, err := read(path)
	switch {
	case errors.Is(err, errTooLarge):
		return Config{}, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, data)
}

var errTooLarge = errors.New("larger than 1 MiB: not a configuration")

// read gives what is in a file, unless that is too much.
func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSize {
		return nil, errTooLarge
	}
	return data, nil
}

// Parse reads YAML over the defaults. name is the file's, for errors.
func Parse(name string, data []byte) (Config, error) {
	c := Default()
	document, err := decode(data)
	if err != nil {
		return Config{}, located(name, err)
	}
	if len(document.Content) > 0 {
		if err := fill(document.Content[0], reflect.ValueOf(&c).Elem(), ""); err != nil {
			return Config{}, located(name, err)
		}
	}
	if err := c.check(); err != nil {
		var bad fieldError
		if errors.As(err, &bad) {
			bad.line = lineOfField(&document, bad.field)
			err = bad
		}
		return Config{}, located(name, err)
	}
	return c, nil
}

// decode reads the one document that there may be; an empty file has none.
func decode(data []byte) (document yaml.Node, err error) {
	if !utf8.Valid(data) {
		return document, errNotText
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return document, err
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
		return document, nil
	case err != nil:
		return document, err
	}
	return document, fieldError{"", more.Line, "a second YAML document, where one is all that is read"}
}

// finding is a field, whether it is wrong, and why.
type finding struct {
	field string
	bad   bool
	why   string
}

// oneOf is the finding of a field that has to be one of some words.
func oneOf[T ~string](field string, v T, words ...T) finding {
	var list strings.Builder
	for i, word := range words {
		switch i {
		case 0:
		case len(words) - 1:
			list.WriteString(" or ")
		default:
			list.WriteString(", ")
		}
		list.WriteString(string(word))
	}
	return finding{field, !slices.Contains(words, v), fmt.Sprintf("%q is not %s", string(v), list.String())}
}

func (c *Config) check() error {
	for _, f := range slices.Concat([]finding{
		oneOf("actuator", c.Actuator, ActuatorKubernetes, ActuatorSlurm, ActuatorExec, ActuatorLog),
		oneOf("contain.fence", c.Contain.Fence, FenceAuto, FenceNode),
		oneOf("contain.rackSwitch", c.Contain.RackSwitch, RackHold, RackCordon),
		{"mode", !c.Mode.Valid(), fmt.Sprintf("%q is not observe, contain or repair", c.Mode)},
		{"kernelLog.source", !c.KernelLog.Source.Valid(), fmt.Sprintf("%q is not auto, kmsg, journal or both", c.KernelLog.Source)},
		{"kernelLog.journalPaths", (c.KernelLog.Source == kernlog.FromJournal || c.KernelLog.Source == kernlog.Both) && len(c.KernelLog.JournalPaths) == 0,
			fmt.Sprintf("none, and the source is %s", c.KernelLog.Source)},
		{"kernelLog.journalPaths", slices.ContainsFunc(c.KernelLog.JournalPaths, relative), fmt.Sprintf("%q are not all absolute paths", c.KernelLog.JournalPaths)},
		{"kernelLog.path", !filepath.IsAbs(c.KernelLog.Path), fmt.Sprintf("%q is not an absolute path", c.KernelLog.Path)},
		{"kernelLog.bootIDPath", !filepath.IsAbs(c.KernelLog.BootIDPath), fmt.Sprintf("%q is not an absolute path", c.KernelLog.BootIDPath)},
		{"nvml.period", time.Duration(c.NVML.Period) < time.Second, fmt.Sprintf("%s is less than 1s", time.Duration(c.NVML.Period))},
		{"nvml.slowPeriod", c.NVML.SlowPeriod < c.NVML.Period, fmt.Sprintf("%s is less than nvml.period", time.Duration(c.NVML.SlowPeriod))},
		{"nvml.slowdown", c.NVML.Slowdown <= 0, fmt.Sprintf("%s is not above zero", time.Duration(c.NVML.Slowdown))},
		{"nvml.expect", c.NVML.Expect < 0, fmt.Sprintf("%d is negative", c.NVML.Expect)},
		{"nvml.busPath", c.NVML.BusPath != "" && !filepath.IsAbs(c.NVML.BusPath), fmt.Sprintf("%q is not an absolute path", c.NVML.BusPath)},
		{"nvml.libraryPaths", slices.ContainsFunc(c.NVML.LibraryPaths, relative), fmt.Sprintf("%q are not all absolute paths", c.NVML.LibraryPaths)},
		{"nvml.deadline", time.Duration(c.NVML.Deadline) < 100*time.Millisecond, fmt.Sprintf("%s is less than 100ms", time.Duration(c.NVML.Deadline))},
		{"dcgm.period", time.Duration(c.DCGM.Period) < time.Second, fmt.Sprintf("%s is less than 1s", time.Duration(c.DCGM.Period))},
		{"dcgm.deadline", time.Duration(c.DCGM.Deadline) < 100*time.Millisecond, fmt.Sprintf("%s is less than 100ms", time.Duration(c.DCGM.Deadline))},
		{"dcgm.address", c.DCGM.Enabled && !c.DCGM.Embedded && c.DCGM.Address == "", "empty, and no engine is embedded"},
		{"contain.cleanPolls", c.Contain.CleanPolls < 1, fmt.Sprintf("%d is less than 1", c.Contain.CleanPolls)},
		{"state.path", !filepath.IsAbs(c.State.Path), fmt.Sprintf("%q is not an absolute path", c.State.Path)},
		{"evidence.keep", c.Evidence.Keep < 0, fmt.Sprintf("%d is negative", c.Evidence.Keep)},
		{"evidence.maxBytes", c.Evidence.MaxBytes < minEvidence, fmt.Sprintf("%d is less than %d", c.Evidence.MaxBytes, minEvidence)},
		{"http.listen", !listenable(c.HTTP.Listen), fmt.Sprintf("%q is not host:port with a port from 0 to 65535", c.HTTP.Listen)},
		{"node", c.Node != "" && !nodeName(c.Node), fmt.Sprintf("%q is not a Node's name: lower case letters, digits, '-' and '.', at most 253", c.Node)},
	}, c.Repair.check(c), c.Slurm.check(), c.Exec.check(c), c.Serving.check(), c.checkTurns(), c.Guards.check(), c.IMEX.check(), c.NVML.LinkTrend.check(), c.checkModes()) {
		if f.bad {
			return fieldError{field: f.field, why: f.why}
		}
	}
	if err := readable(c.HTTP.WebConfig); err != nil {
		return fieldError{field: "http.webConfig", why: err.Error()}
	}
	return c.Serving.checkKinds()
}

func relative(path string) bool { return !filepath.IsAbs(path) }

func listenable(address string) bool {
	if address == "" {
		return true
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// subdomain is a DNS subdomain of RFC 1123, which a Node's name is.
var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// labelKey is the key of a label, with or without its prefix.
var labelKey = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

func nodeName(name string) bool { return len(name) <= 253 && subdomain.MatchString(name) }

// readable refuses a file that is named and cannot be read.
func readable(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}
