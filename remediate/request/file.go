package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// Keep says which finished resources are left for people to look at. One that is
// not finished is always deleted: nobody may begin it later.
type Keep string

// The values of keep.
const (
	KeepNone   Keep = "none"
	KeepFailed Keep = "failed"
	KeepAll    Keep = "all"
)

// File is how a deed is asked for by a custom resource: a YAML file that a site
// writes, such as those in deploy/examples.
type File struct {
	// Path is where it was read.
	Path string `yaml:"-"`
	// Template is the resource's manifest as a text/template over Data.
	Template string `yaml:"template"`
	// Success and Failure say how the resource tells its end; Failure may be left
	// out.
	Success Sign `yaml:"success"`
	Failure Sign `yaml:"failure"`
	// Message is the JSONPath of a text for people; it may be left out.
	Message Path `yaml:"message"`
	// Keep is none by default.
	Keep Keep `yaml:"keep"`

	template *template.Template
}

// Load reads a file and refuses what it does not understand, with the file, the
// field and what is wrong with it.
func Load(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(path, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parse(path string, text []byte) (*File, error) {
	f := &File{Path: path, Keep: KeepNone}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	return f, f.check()
}

func (f *File) check() error {
	switch f.Keep {
	case KeepNone, KeepFailed, KeepAll:
	default:
		return fmt.Errorf("keep: %q is not none, failed or all", f.Keep)
	}
	if f.Success.none() {
		return errors.New("success: missing: nothing would say that it is done")
	}
	if err := f.Success.check(); err != nil {
		return fmt.Errorf("success: %w", err)
	}
	if err := f.Failure.check(); err != nil {
		return fmt.Errorf("failure: %w", err)
	}
	if err := f.Message.check(); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	return f.prepare()
}
