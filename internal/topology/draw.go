package topology

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// wires are how a link is drawn in each state.
var wires = map[nvlink.State]string{nvlink.Active: "=====", nvlink.Sleep: "-zzz-", nvlink.Inactive: "--x--",
	nvlink.Disabled: "--x--", nvlink.StateUnknown: "--?--"}

// Draw draws the node: each GPU with its links, those together that lead to the
// same place in the same state.
func Draw(out io.Writer, n nvlink.Node) error {
	var b strings.Builder
	fmt.Fprintln(&b, n.Topology())
	if p := place(n); p != "" {
		fmt.Fprintln(&b, p)
	}
	for i, g := range n.GPUs {
		fmt.Fprintf(&b, "\nGPU %s\n", gpuTitle(n, i))
		bundles := bundle(g.Links)
		for k, w := range bundles {
			branch := "|"
			if k == len(bundles)-1 {
				branch = "`"
			}
			state := ""
			if !w.state.Up() || w.state == nvlink.Sleep {
				state = "  " + w.state.String()
			}
			fmt.Fprintf(&b, "  %s-- %-12s %s %s%s\n", branch, nvlink.Numbers(w.links), wires[w.state], w.to, state)
		}
		if g.Fabric != nil {
			fmt.Fprintf(&b, "  fabric %s\n", fabric(g))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// gpuTitle names a GPU and says how many of its links are up. A model's GPU has
// no address but its number.
func gpuTitle(n nvlink.Node, i int) string {
	g := n.GPUs[i]
	name := strings.TrimSpace(g.Address.String() + "  " + g.UUID)
	if n.Model != "" {
		name = strconv.Itoa(i)
	}
	if len(g.Links) == 0 {
		return name + "  no NVLink"
	}
	up := 0
	for _, w := range g.Links {
		if w.State.Up() {
			up++
		}
	}
	return fmt.Sprintf("%s  %d of %d links up", name, up, len(g.Links))
}

// place says where in its rack the node is; empty where no GPU tells.
func place(n nvlink.Node) string {
	for _, g := range n.GPUs {
		if p := g.Platform; p.Racked() {
			return fmt.Sprintf("chassis %s, slot %d, tray %d", p.Chassis, p.Slot, p.Tray)
		}
	}
	return ""
}

func fabric(g nvlink.NodeGPU) string {
	text := g.Fabric.State.String()
	if d := g.Fabric.Domain(); d != "" {
		text += ", domain " + d
	}
	if standing, why := g.Fabric.Standing(g.Platform.Racked()); standing > nvlink.StandingAbsent && standing != nvlink.StandingPending {
		text += ", " + strings.TrimPrefix(why, "fabric: ")
	}
	return text
}

// bundled are links that lead to the same place in the same state.
type bundled struct {
	links []int
	to    string
	state nvlink.State
}

// bundle keeps the order of the first link of each.
func bundle(links []nvlink.Wire) (list []bundled) {
	at := map[string]int{}
	for _, w := range links {
		key := w.To.String() + "/" + w.State.String()
		i, known := at[key]
		if !known {
			i = len(list)
			at[key] = i
			list = append(list, bundled{to: w.To.String(), state: w.State})
		}
		list[i].links = append(list[i].links, w.Link)
	}
	return list
}
