// Package serving judges a replica of a serving engine by what the engine says of
// itself and by what its GPUs do.
//
// A replica that has requests open and computes nothing is stalled. One signal
// alone never says so: the engine's own count of requests, the progress of its
// tokens and the activity of its GPUs have to agree, and each of them counts only
// while it is fresh. What an engine does not tell is unknown, and unknown is
// neither zero nor healthy.
//
// There is no I/O here and no clock: what was read and the time are arguments.
package serving
