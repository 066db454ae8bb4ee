package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// output is how a command prints; the zero value is text.
type output string

const (
	outputText output = "text"
	outputJSON output = "json"
)

// flags gives a command both spellings, "-o json" and "--json".
func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().VarP(o, "output", "o", `"text" or "json"`)
	complete(cmd, "output", func() []string { return []string{string(outputText), string(outputJSON)} })
	cmd.Flags().BoolFunc("json", "the same as -o json", func(string) error { return o.Set(string(outputJSON)) })
}

// String implements the flag's value.
func (o *output) String() string {
	if *o == "" {
		return string(outputText)
	}
	return string(*o)
}

// Set implements the flag's value.
func (o *output) Set(s string) error {
	switch v := output(s); v {
	case outputText, outputJSON:
		*o = v
		return nil
	}
	return fmt.Errorf("%q is not text or json", s)
}

// Type implements the flag's value.
func (o *output) Type() string { return "format" }
