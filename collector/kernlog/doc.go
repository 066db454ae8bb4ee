// Package kernlog hears the kernel log: every record once, in order, and a
// count of those that could not be had.
//
// A [Log] hears it from /dev/kmsg, from the systemd journal, or from both, and
// hands over one stream. A [Reader] is the first of these alone; the other is
// read in a child process, see package journal.
//
// A reader's source is /dev/kmsg, or a file of records in the same format that
// grows (the simulated node's log); which of the two is told by the file's type.
// One goroutine drains it into a bounded queue as fast as it fills, another hands
// the queue over in batches, so that a slow handler costs nothing until the
// queue is full. Then the reader stops reading, the kernel overwrites its own
// ring, and what was overwritten is counted like every other loss.
//
// # Order and place
//
// Order is (boot id, sequence), never a clock. A reader that starts with the
// [Position] it saved in the same boot goes on right behind it and delivers
// nothing twice; in a new boot, or without a position, it begins at the oldest
// record of this boot. A position that lies behind the end of the log does not
// belong to it and is ignored. A sequence number that was skipped on the way is
// a lost record and is told by the record behind the gap.
//
// # Two sources
//
// One record is one event. A record that comes from both is known by the
// kernel's clock, to the microsecond, and its text: the journal has the very
// numbers that /dev/kmsg gives, and no sequence. What the device lost is looked
// up in the journal and told with [Record.Late] set, under the number that it
// had; what neither has counts as lost, once that is known.
//
// The [Bookmark] of a batch holds the place in both, and the latest record that
// was handled: that a source is exchanged for the other, or that its place is
// gone, doubles nothing.
//
// # Trust
//
// User space can write to the kernel log, but never as facility 0. Other
// facilities are counted and not delivered, unless [Config.AcceptUserspace] is
// set. Records that have no kmsg head are counted and not delivered.
//
// # History
//
// Whoever acts on faults must not act on those of last week: [Record.Backlog]
// tells what was in the log before the reader came. See [ResumeGrace] for the
// one exception.
//
// # Deafness
//
// A reader that believes it hears is tested, at its start and every hour: what
// lies at the log's end must have been read. The test writes nothing.
//
// A reader never ends by itself. When the log cannot be opened or read, it
// tries again after 1 s, then at growing distance up to 30 s, and goes on
// behind the last record it had; [State] says meanwhile that it is deaf, since
// when and why.
package kernlog
