// Package topology shows a node's NVLinks to people and to their tools: as a
// drawing in plain ASCII, and as a graph for Graphviz. It only draws; what is
// wired to what comes from package nvlink.
package topology
