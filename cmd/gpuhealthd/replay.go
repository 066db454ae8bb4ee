package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

func replayCommand() *cobra.Command {
	var format output
	var driver string
	cmd := &cobra.Command{
		Use:   "replay [FILE…]",
		Short: "Show what the daemon would have done about a saved kernel log",
		Long: `Feed saved kernel logs, or standard input, to the daemon's own parser, judge
and plan, and show what would be done. Nothing is changed. The format is told
line by line: dmesg, journalctl (text, JSON, export), /dev/kmsg, syslog; plain
or compressed. Exit 0 whatever is found, 2 for a log that cannot be read.`,
		Example: "  journalctl -k -o short-iso | gpuhealthd replay\n  gpuhealthd replay --json /var/log/kern.log.1.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			var out replay.Printer = replay.NewText(cmd.OutOrStdout(), replay.Style{Colour: isTerminal(cmd.OutOrStdout())})
			if format == outputJSON {
				out = replay.NewJSON(cmd.OutOrStdout())
			}
			sources, done, err := openLogs(cmd, args)
			defer done()
			if err != nil {
				return exitError{2, err}
			}
			if err := replay.New(out, driver).Run(sources, logfile.Options{}, progress(cmd.ErrOrStderr())); err != nil {
				return exitError{2, err}
			}
			return nil
		},
	}
	format.flags(cmd)
	cmd.Flags().StringVar(&driver, "driver", "", "version of the driver that wrote the log, such as 570.86.15")
	return cmd
}

func openLogs(cmd *cobra.Command, names []string) ([]replay.Source, func(), error) {
	if len(names) == 0 {
		return []replay.Source{{In: cmd.InOrStdin()}}, func() {}, nil
	}
	var sources []replay.Source
	var files []*os.File
	done := func() {
		for _, f := range files {
			f.Close()
		}
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, done, err
		}
		files = append(files, f)
		sources = append(sources, replay.Source{Name: name, In: f})
	}
	return sources, done, nil
}

// progress shows on a terminal how far a long log has been read.
func progress(w io.Writer) func(*logfile.Reader) {
	if !isTerminal(w) {
		return func(*logfile.Reader) {}
	}
	last, n := time.Now(), 0
	return func(r *logfile.Reader) {
		if n++; n%4096 != 0 || time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "\r%d MiB read, %d messages", r.Consumed()>>20, n)
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
