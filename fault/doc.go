// Package fault decides what is broken and how far the damage reaches.
//
// It owns the vocabulary (Device, Observation, Verdict, Radius, Action) and the
// judge, a pure state machine: Step takes one Observation, Tick takes the time,
// verdicts come out. There is no I/O here, no clock and no goroutine, and
// nothing that knows Kubernetes.
//
// A fault is an episode, keyed by device and class, not a line: 800,000 lines
// are one episode with a count. Its state is bounded by devices times classes.
// Symptoms point to their root and never act by themselves.
package fault
