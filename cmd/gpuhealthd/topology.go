package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/topology"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

func topologyCommand() *cobra.Command {
	var daemon besideDaemon
	var model string
	format := drawing("text")
	cmd := &cobra.Command{
		Use: "topology", Short: "Draw who is wired to whom by NVLink", Args: cobra.NoArgs,
		Long: `Draw the node's NVLinks as its GPUs report them to the running daemon, or
those of a named machine without any daemon. ===== is a link that is up, --x--
one that is down. Which link of a rack leads to which switch is known only
where the site has said so, in nvml.linkSwitches.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, err := nodeOf(cmd, daemon, model)
			if err != nil {
				return err
			}
			return format.print(cmd.OutOrStdout(), node)
		},
	}
	daemon.flags(cmd)
	cmd.Flags().StringVar(&model, "model", "", "draw this machine instead: "+strings.Join(nvlink.TopologyNames(), ", "))
	cmd.Flags().VarP(&format, "output", "o", `"text", "json" or "dot"`)
	complete(cmd, "output", func() []string { return []string{"text", "json", "dot"} })
	complete(cmd, "model", nvlink.TopologyNames)
	cmd.Flags().BoolFunc("json", "the same as -o json", func(string) error { return format.Set("json") })
	return cmd
}

// nodeOf gives the model, or asks the daemon.
func nodeOf(cmd *cobra.Command, daemon besideDaemon, model string) (n nvlink.Node, err error) {
	if model != "" {
		n, err = nvlink.Model(model)
		if err != nil {
			return n, exitError{2, err}
		}
		return n, nil
	}
	url, err := daemon.address(cmd)
	if err != nil {
		return n, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
	defer cancel()
	url += "/api/v1/topology"
	body, err := fetch(ctx, url)
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(body, &n); err != nil || n.GPUs == nil {
		return n, fmt.Errorf("%s does not answer as a gpuhealthd", url)
	}
	if len(n.GPUs) == 0 {
		return n, fmt.Errorf("%s: no GPU has told of its NVLinks yet", url)
	}
	return n, nil
}

// drawing is how the topology is printed.
type drawing string

var drawings = map[drawing]func(io.Writer, nvlink.Node) error{"text": topology.Draw, "dot": topology.Dot, "json": topologyJSON}

func (d drawing) print(out io.Writer, n nvlink.Node) error { return drawings[d](out, n) }

func topologyJSON(out io.Writer, n nvlink.Node) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(n)
}

// String implements the flag's value.
func (d *drawing) String() string { return string(*d) }

// Set implements the flag's value.
func (d *drawing) Set(s string) error {
	if drawings[drawing(s)] == nil {
		return fmt.Errorf("%q is not text, json or dot", s)
	}
	*d = drawing(s)
	return nil
}

// Type implements the flag's value.
func (d *drawing) Type() string { return "format" }
