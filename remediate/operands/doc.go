// Package operands pauses the services that NVIDIA's GPU operator runs on our Node,
// so that they let go of its GPUs, and lets them run again.
//
// The operator switches each of them by a Node label, nvidia.com/gpu.deploy.NAME.
// One that is "true" is given a value of ours that has the old one in it, so the way
// back needs no memory: an agent that comes back, or another one, finds on the Node
// what it has to restore. A label that is not there, that is "false", or that
// somebody else has paused, is left alone.
package operands
