package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exitStatus is that of every command that says no other.
const exitStatus = "Exit 0 for what is done, 2 for a wrong command line or an input that cannot be\nread, 1 for any other error."

// files are those of an installation, for the manual.
var files = [...][2]string{
	{hostFile, "the configuration, with every key explained"},
	{"/var/lib/gpuhealthd/state.db", "what the daemon remembers"},
	{"/var/lib/gpuhealthd/evidence", "what incidents have left"},
	{"/usr/share/gpuhealthd", "drop-ins of the unit, scripts for Slurm and NHC"},
	{"/usr/share/doc/gpuhealthd", "the documentation"},
}

// page is a command's manual page, in the language of troff.
func page(cmd *cobra.Command, date string) string {
	description, exit := described(cmd)
	var p strings.Builder
	fmt.Fprintf(&p, ".TH %s 8 %s \"gpuhealthd %s\" \"System administration\"\n", strings.ToUpper(troff(pageName(cmd))), date, version)
	fmt.Fprintf(&p, ".SH NAME\n%s \\- %s\n", troff(pageName(cmd)), troff(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	fmt.Fprintf(&p, ".SH SYNOPSIS\n.B %s\n", troff(cmd.UseLine()))
	fmt.Fprintf(&p, ".SH DESCRIPTION\n%s", paragraphs(description))
	var also []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, pageName(sub))
		}
	}
	if cmd.HasParent() {
		also = append(also, pageName(cmd.Parent()))
	}
	if usages := cmd.LocalFlags().FlagUsagesWrapped(76); usages != "" {
		fmt.Fprintf(&p, ".SH OPTIONS\n.nf\n%s\n.fi\n", troff(strings.TrimRight(usages, "\n")))
	}
	fmt.Fprintf(&p, ".SH EXIT STATUS\n%s.SH FILES\n", paragraphs(exit))
	for _, f := range files {
		fmt.Fprintf(&p, ".TP\n.I %s\n%s\n", troff(f[0]), troff(f[1]))
	}
	p.WriteString(".SH SEE ALSO\n")
	for n, name := range also {
		end := ","
		if n == len(also)-1 {
			end = ""
		}
		fmt.Fprintf(&p, ".BR %s (8)%s\n", troff(name), end)
	}
	return p.String()
}

// described parts what a command says of itself from the paragraph on its exit status.
func described(cmd *cobra.Command) (description, exit string) {
	exit = exitStatus
	var rest []string
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for _, paragraph := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(paragraph, "Exit ") {
			exit = paragraph
			continue
		}
		rest = append(rest, paragraph)
	}
	return strings.Join(rest, "\n\n"), exit
}

func paragraphs(text string) string {
	return strings.ReplaceAll(troff(text), "\n\n", "\n.PP\n") + "\n"
}

// troff keeps a text from being taken for commands of troff.
func troff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
