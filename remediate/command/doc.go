// Package command runs a site's own program for something that the agent wants
// done on the host.
//
// The program gets a process group of its own, and the group ends with it: what
// it leaves running there is killed, and at the end of the context all of it,
// SIGTERM first. Only what leaves the group by itself (setsid) or is stuck in
// the kernel outlives a run, and the latter is told as ErrStuck. A program goes on
// if the agent dies: nothing is cut off halfway through a reset.
//
// Nothing here retries. What a program prints is not trusted: of its output the
// end is kept, without control characters.
package command
