package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

func replayCommand() *cobra.Command {
	var format output
	var opts replay.Options
	var topology string
	cmd := &cobra.Command{
		Use:   "replay [FILE…]",
		Short: "Show what the daemon would have done about a saved kernel log",
		Long: `Feed saved kernel logs, or standard input, to the daemon's own parser, judge
and plan, and show what would be done. Nothing is changed. The format is told
line by line: dmesg, journalctl (text, JSON, export), /dev/kmsg, syslog; plain
or compressed with gzip or zstd. Exit 0 whatever is found, 2 for a log that
cannot be read to its end or whose form is not read, or a flag that is wrong.`,
		Example: "  journalctl -k -o short-iso | gpuhealthd replay\n  gpuhealthd replay --json /var/log/kern.log.1.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			var out replay.Printer = replay.NewText(cmd.OutOrStdout(), styleFor(cmd.OutOrStdout()))
			if format == outputJSON {
				out = replay.NewJSON(cmd.OutOrStdout())
			}
			if topology != "" {
				t, err := replay.LoadTopology(topology)
				if err != nil {
					return exitError{2, err}
				}
				opts.Topology = &t
			}
			return replayFiles(cmd, args, out, opts)
		},
	}
	format.flags(cmd)
	cmd.Flags().Var((*driverVersion)(&opts.Driver), "driver", "version of the driver that wrote the log, such as 570.86.15")
	cmd.Flags().StringVar(&topology, "topology", "", "the node's: "+strings.Join(nvlink.TopologyNames(), ", ")+", or a YAML file")
	cmd.Flags().BoolVar(&opts.Read.Kata, "kata", false, "also believe the consoles of Kata guests that their shim has logged")
	return cmd
}

// replayFiles replays the named logs, or standard input.
func replayFiles(cmd *cobra.Command, names []string, out replay.Printer, opts replay.Options) error {
	sources, size, done, err := openLogs(cmd, names)
	defer done()
	if err != nil {
		return exitError{2, err}
	}
	opts.Read.Zstd = openZstd
	bar := newProgress(cmd.ErrOrStderr(), size)
	opts.Progress = bar.show
	err = replay.New(out, opts).Run(sources)
	bar.clear()
	if errors.Is(err, replay.ErrUnreadable) {
		return exitError{2, err}
	}
	return err
}

// openZstd opens a stream with the memory that zstd's own command allows one.
func openZstd(in io.Reader) (io.Reader, error) {
	const window = 128 << 20
	return zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
}

// openLogs opens the named logs, or standard input, and says how many bytes
// they have; 0 where that is not known. done closes them.
func openLogs(cmd *cobra.Command, names []string) (sources []replay.Source, size int64, done func(), err error) {
	if len(names) == 0 {
		return []replay.Source{{In: cmd.InOrStdin()}}, 0, func() {}, nil
	}
	var files []*os.File
	done = func() {
		for _, f := range files {
			f.Close()
		}
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, 0, done, err
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		files = append(files, f)
		sources = append(sources, replay.Source{Name: name, In: f})
	}
	return sources, size, done, nil
}
