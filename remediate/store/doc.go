// Package store keeps on disk what the daemon must remember over its own
// death: how far the kernel log was read, the judge's episodes, the plan's
// steps, the inventory, and the events not yet told.
//
// A snapshot is saved in one transaction: after a crash the file holds the
// last snapshot that Save returned nil for, or one saved later, and never a
// mixture. Values are opaque to this package; each carries a checksum, since
// bbolt checks only its own root.
//
// A file that cannot be trusted is never recreated, cut or repaired. Open
// reads every page before bbolt maps it, so that a damaged file is an error
// and not a crash. Errors match one of the Err values by errors.Is, and say
// the path and what a person can do.
package store
