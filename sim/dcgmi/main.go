// Command dcgmi stands for DCGM's dcgmi on a simulated node: "diag" and
// "discovery -l", as far as a program needs them that runs diagnostics. It answers
// what the node's dcgmi.conf says (sim/node/diag.go), in the JSON of DCGM 3 or 4,
// takes the time, hangs, and stops on a signal as the real one does: by stopping
// the engine's diagnosis.
//
// The node is the folder in GPUHEALTHD_SIM.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// Exit statuses: 256 less than the number of the dcgmReturn_t behind them.
const (
	exitFailed   = 226
	exitIsolate  = 205
	exitKilled   = 203
	exitNoTest   = 198
	exitStopped  = 190
	exitInUse    = 222
	exitLost     = 238
	exitNoEngine = 235
	exitUsage    = 254
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == worker {
		time.Sleep(time.Hour) // the tests at work, until they are killed
		return
	}
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	os.Exit(code)
}

// options are the arguments that matter here.
type options struct {
	level      int
	json       bool
	list       bool
	entities   string
	host       string
	iterations int
}

func run(args []string, out io.Writer) (code int, err error) {
	n, err := node.Open(os.Getenv("GPUHEALTHD_SIM"))
	if err != nil {
		return exitUsage, err
	}
	if len(args) == 0 {
		return exitUsage, errors.New("a subsystem is missing")
	}
	o, err := parse(args[0], args[1:])
	if err != nil {
		return exitUsage, err
	}
	switch {
	case args[0] == "diag" && o.json && o.level >= 1 && o.level <= 4:
		d := diagnosis{node: n, options: o, out: out}
		return d.run()
	case args[0] == "discovery" && o.list:
		return discover(n, o, out)
	}
	return exitUsage, fmt.Errorf("%s: not simulated", strings.Join(args, " "))
}

func parse(subsystem string, args []string) (o options, err error) {
	flags := flag.NewFlagSet(subsystem, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.level, "r", 0, "")
	flags.BoolVar(&o.json, "j", false, "")
	flags.BoolVar(&o.list, "l", false, "")
	flags.StringVar(&o.entities, "i", "", "")
	flags.StringVar(&o.host, "host", "", "")
	flags.IntVar(&o.iterations, "iterations", 1, "")
	return o, flags.Parse(args)
}
