// Package nvlink reads what the driver says about NVLink: the registers of
// XID 74 (NVLink 2 to 4) and the decode of XID 144 to 150 (NVLink 5); and which
// GPUs have to be reset together.
//
// It holds what a poll says of links and fabric (Reading), how long links may
// take to train (Settling), how a link fares over days (Trend), what is wired to
// what (Node, Topology), and how far a failure reaches (Failure.Judge).
//
// It is pure: numbers in, a result with its reason out. What a table does not
// name is unknown, never healthy; the caller then follows the severity word
// and the recovery action.
package nvlink
