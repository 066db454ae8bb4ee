// Package demo plays faults into a simulated node and shows what the real
// daemon makes of them, live.
//
// The node is a folder: a driver at the C boundary, and a kernel log of its own
// in the kmsg format. Nothing of this machine is touched, and nothing pretends
// to be a cluster: the daemon's log actuator says what it would do.
package demo
