// Package remediate turns verdicts into what the node shall say and do.
//
// This package is the pure part: a state machine over incidents. Time and
// facts are arguments; there is no I/O and no goroutine. What it wants of the
// Node is a value (Desired), level-triggered: it can be applied any number of
// times. What must happen once is a Step, written to the store before it is
// taken and marked afterwards. The thin effects live below: store, kube,
// logact.
//
// In mode repair the plan also decides what the agent itself does to pods, GPUs
// and the host: one Deed at a time, on disk before it is begun. States has the
// state machine as data. A deed that is not Resumable is never begun twice; who
// holds a GPU is told by Occupied, and unknown is never free.
//
// A cordon is released only by its owner, in the same write that removes the
// ownership mark. An administrator's own cordon is never released, and an
// administrator's uncordon ends the claim for that incident.
package remediate
