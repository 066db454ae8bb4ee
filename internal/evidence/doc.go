// Package evidence keeps what incidents leave: of each one a bundle, a file of
// JSON lines in one folder beside the store. A person reads it with gpuhealthd
// events, and a vendor gets it as one archive.
//
// A line is one [Piece]: a kernel line, a sample of the GPUs, a verdict, the
// progress of the plan's steps, an event, the result of a diagnosis, the record
// for a replacement, or what the node was. Lines are only ever appended, so that
// a bundle whose writer died is whole up to the cut; [Read] gives what there is
// and says what is missing. No lock is needed to read one.
//
// The folder is bounded, by [Limits]: one bundle by [MaxBundle], all of them by
// count and sum. The oldest that have ended go first.
//
// Evidence is no memory: nothing is decided by it, and it is not synced to disk,
// which would hold up the store that is. Of a host that dies, the last half minute
// may be missing; the verdict and its first lines are in the store as well, and are
// written again when the agent is back.
package evidence
