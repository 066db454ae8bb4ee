// Package check says in one word how a node's GPUs are: for a scheduler's prolog,
// its health check, and for monitoring plugins.
//
// [Judge] makes that of an agent's status and does nothing else. The status is the
// running daemon's, or comes from [Once]: an agent of the moment, which reads the
// kernel log of this boot, asks the driver once, and does nothing about what it
// finds. What could not be seen is unknown, and never healthy.
package check
