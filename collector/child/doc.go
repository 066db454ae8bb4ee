// Package child starts a child process that speaks in lines, and hears it.
//
// What may crash, hang or leave something open is done in a child of the daemon:
// the driver's library, the journal's. The child writes one report a line on its
// standard output, and ends when its standard input does. Every way that it can
// end is told as a [Died]; a line that is no report is told as well and costs
// nothing but itself.
//
// How a child is ended, and when another is started, is its user's to decide:
// some must never be killed. [Keep] is the pause between two.
package child
