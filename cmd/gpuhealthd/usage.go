package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// usageError gives an error in the command line the exit status 2.
func usageError(_ *cobra.Command, err error) error { return exitError{2, err} }

// question takes the arguments of explain: one word or one quoted line, or
// "xid N" and "sxid N" in two.
func question(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exitError{2, errors.New("nothing was asked: give a number, a class of fault, or a quoted line of a kernel log")}
	case len(args) == 1 || len(args) == 2 && (strings.EqualFold(args[0], "xid") || strings.EqualFold(args[0], "sxid")):
		return nil
	}
	return exitError{2, fmt.Errorf("%d arguments are more than one question: put a line of a kernel log in quotes", len(args))}
}

// driverVersion is a flag's value such as 570.86.15, or empty.
type driverVersion string

var versionPattern = regexp.MustCompile(`^[0-9]{2,4}(\.[0-9]+)*$`)

func (d *driverVersion) String() string { return string(*d) }
func (*driverVersion) Type() string     { return "version" }

// Set implements pflag.Value.
func (d *driverVersion) Set(text string) error {
	if text != "" && !versionPattern.MatchString(text) {
		return fmt.Errorf("%q is no version of the NVIDIA driver, such as 570.86.15", text)
	}
	*d = driverVersion(text)
	return nil
}
