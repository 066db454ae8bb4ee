package topology

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// Dot writes the node as an undirected graph in Graphviz's language: a box for
// each GPU, an ellipse for each end, and an edge for each bundle of links. What
// is down is dashed and red.
func Dot(out io.Writer, n nvlink.Node) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph nvlink {\n  label=%q;\n  node [shape=box];\n", n.Topology().String())
	for i := range n.GPUs {
		fmt.Fprintf(&b, "  gpu%d [label=%q];\n", i, gpuTitle(n, i))
	}
	ends := map[string]int{}
	for i, end := range n.Ends() {
		ends[end.String()] = i
		fmt.Fprintf(&b, "  end%d [label=%q, shape=ellipse];\n", i, end.String())
	}
	for i, g := range n.GPUs {
		for _, w := range bundle(g.Links) {
			style := ""
			if !w.state.Up() {
				style = fmt.Sprintf(", style=dashed, color=red, xlabel=%q", w.state.String())
			}
			fmt.Fprintf(&b, "  gpu%d -- end%d [label=%q%s];\n", i, ends[w.to], nvlink.Numbers(w.links), style)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(out, b.String())
	return err
}
