package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Filter says which checks count: those that Only names, or all where it names
// none, but those that Skip names. What cannot be seen counts unless it is skipped:
// without its sources no check could fail.
type Filter struct{ Only, Skip Patterns }

// Patterns are names of checks; * and ? stand for what they do in a shell.
type Patterns []string

// Names lists the checks that there are.
func Names() []string {
	all := []string{Driver, KernelLog}
	for _, class := range fault.Classes() {
		all = append(all, string(class))
	}
	return all
}

// Set implements the flag's value: names with commas between them, added to those
// before. Each must fit a check that there is: one that is misspelt would leave
// nothing that could fail.
func (p *Patterns) Set(text string) error {
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("%q is no pattern: %w", name, err)
		}
		if one := (Patterns{name}); !slices.ContainsFunc(Names(), one.match) {
			return fmt.Errorf("%q is no check: there are driver, kernel-log and the classes of fault, such as xid-79", name)
		}
		*p = append(*p, name)
	}
	return nil
}

// String implements the flag's value.
func (p *Patterns) String() string { return strings.Join(*p, ",") }

// Type implements the flag's value.
func (p *Patterns) Type() string { return "checks" }

func (p Patterns) match(name string) bool {
	return slices.ContainsFunc(p, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

func (f Filter) keep(all []Finding) []Finding {
	kept := []Finding{}
	for _, one := range all {
		source := one.Check == Driver || one.Check == KernelLog
		if (len(f.Only) == 0 || source || f.Only.match(one.Check)) && !f.Skip.match(one.Check) {
			kept = append(kept, one)
		}
	}
	return kept
}
