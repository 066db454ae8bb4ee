// Package kube makes the Node object say what the plan wants.
//
// It reads and watches one Node, its own, and writes only what differs: a JSON
// patch for labels, mark, cordon and taint, whose tests make it fail where
// somebody else was faster, and a strategic patch of our two conditions. At
// most two writes open an incident and none is made on a Node that says it all
// already. Other people's labels, taints, conditions and cordons are never
// touched; whose a cordon is, remediate.Claim decides.
//
// Nothing here retries for long: an error goes back to the caller, with its
// kind by Classify, and the caller applies the present wish again later.
package kube
