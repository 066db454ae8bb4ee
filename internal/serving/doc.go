// Package serving finds out who serves on which GPU of the node, and has the engines
// asked: it puts together pods, the kubelet's grants, the site's own list, and
// collector/serving.
//
// A pod that was given GPUs and has an endpoint is a replica; one that has none, or
// at whose endpoint no engine is found, is a job. A pod without GPUs is neither,
// whatever it answers: a router speaks for engines elsewhere. Where there are no pods,
// processes that hold GPUs beside the engines of the site's list are jobs, put together
// as Slurm, systemd or their ancestors do.
//
// It also knows where a canary asks each replica, how each comes to its trial by what
// its pod says, and has the pods say how they stand.
//
// Pods are followed by one watch, of this node alone. The kubelet is asked when they
// change, and then at most every few seconds.
package serving
