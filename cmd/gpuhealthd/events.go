package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

func eventsCommand() *cobra.Command {
	var from eventsFrom
	var out output
	cmd := &cobra.Command{
		Use: "events", Short: "List the incidents of this node, and show the evidence they left",
		Long: `events lists the incidents of this node, open and past, the newest first. Each
leaves a bundle of evidence: the kernel log around it, samples of its GPUs from
before and after, every verdict, the steps and what the node was.

The daemon is asked; where none answers, the bundles are read from their folder,
which needs no daemon. An incident may be named by the beginning of its id.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return from.ask(cmd, func(ctx context.Context, s eventSource) error {
				list, err := s.list(ctx)
				if err != nil {
					return err
				}
				if out == outputJSON {
					return printJSON(cmd.OutOrStdout(), list)
				}
				return printEvents(cmd.OutOrStdout(), list, time.Now(), styleFor(cmd.OutOrStdout()))
			})
		},
	}
	from.flags(cmd)
	out.flags(cmd)
	cmd.AddCommand(eventsShowCommand(), eventsExportCommand())
	return cmd
}

func eventsShowCommand() *cobra.Command {
	var from eventsFrom
	var out output
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show one incident: kernel log, verdicts, steps, and what its GPUs said before and after", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return from.ask(cmd, func(ctx context.Context, s eventSource) error {
				b, _, err := bundleOf(ctx, s, args[0])
				if err != nil {
					return err
				}
				if out == outputJSON {
					return printJSON(cmd.OutOrStdout(), b)
				}
				return printBundle(cmd.OutOrStdout(), b, styleFor(cmd.OutOrStdout()))
			})
		},
	}
	from.flags(cmd)
	out.flags(cmd)
	return cmd
}

func eventsExportCommand() *cobra.Command {
	var from eventsFrom
	var file string
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write one incident's evidence into one file for a vendor's ticket",
		Long: `export writes a .tar.gz with the incident's evidence: a report to read, the bundle
as it was collected, the kernel log around the incident, the record of the part to
replace, and a README that says what is what.

Kernel lines of any program near the incident are in it, which may name processes,
interfaces and devices. GPUs are named by serial number, UUID and PCI address, the
node by its name and boot id. There is no credential in it, no environment, and
nothing of a program's memory.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return from.ask(cmd, func(ctx context.Context, s eventSource) error {
				b, raw, err := bundleOf(ctx, s, args[0])
				if err != nil {
					return err
				}
				return export(cmd, file, b, raw)
			})
		},
	}
	from.flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", `file to write, "-" for standard output (default gpuhealthd-ID.tar.gz)`)
	return cmd
}

func export(cmd *cobra.Command, file string, b evidence.Bundle, raw []byte) error {
	var report bytes.Buffer
	if err := printBundle(&report, b, replay.Style{}); err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := evidence.Export(&archive, raw, b, report.String()); err != nil {
		return err
	}
	if file == "-" {
		_, err := archive.WriteTo(cmd.OutOrStdout())
		return err
	}
	if file == "" {
		file = "gpuhealthd-" + plain(b.ID) + ".tar.gz"
	}
	if err := os.WriteFile(file, archive.Bytes(), 0o600); err != nil {
		return fmt.Errorf("export incident %s: %w", b.ID, err)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "Incident %s is in %s, %d bytes. It names GPUs, the node and programs; see its README.txt.\n",
		replay.Printable(b.ID), file, archive.Len())
	return err
}

// plain makes an id the part of a file's name.
func plain(id string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", r) {
			return r
		}
		return '_'
	}, id)
}

func printJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// bundleOf finds an incident by its id, or by a beginning that only one has, and
// reads its bundle.
func bundleOf(ctx context.Context, s eventSource, name string) (b evidence.Bundle, raw []byte, err error) {
	list, err := s.list(ctx)
	if err != nil {
		return b, nil, err
	}
	found, err := pick(list, name)
	if err != nil {
		return b, nil, exitError{2, err}
	}
	if found.Bytes == 0 {
		return b, nil, exitError{2, fmt.Errorf("incident %s (%s) has no bundle: none was kept, or it had to make room", found.ID, found.Fault)}
	}
	if raw, err = s.raw(ctx, found.ID); err != nil {
		return b, nil, err
	}
	if b, err = evidence.Read(found.ID, bytes.NewReader(raw)); err != nil {
		return b, nil, exitError{2, err}
	}
	return b, raw, nil
}

// named is how many incidents an error names.
const named = 10

func pick(list []evidence.Summary, name string) (evidence.Summary, error) {
	var found []evidence.Summary
	for _, s := range list {
		if s.ID == name {
			return s, nil
		}
		if strings.HasPrefix(s.ID, name) {
			found = append(found, s)
		}
	}
	switch {
	case len(list) == 0:
		return evidence.Summary{}, errors.New("there are no incidents on this node")
	case len(found) == 0:
		return evidence.Summary{}, fmt.Errorf("no incident %q; there are %s", name, names(list))
	case len(found) > 1:
		return evidence.Summary{}, fmt.Errorf("%q may be any of %s", name, names(found))
	}
	return found[0], nil
}

func names(list []evidence.Summary) string {
	var ids []string
	for _, s := range list[:min(len(list), named)] {
		ids = append(ids, replay.Printable(s.ID))
	}
	if more := len(list) - named; more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ids, ", ")
}
