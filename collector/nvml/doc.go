// Package nvml hears what NVIDIA's management library says, from a distance: the
// library runs in a child process (gpuhealthd probe nvml, package probe), because
// a call can hang in the kernel for ever, a missing symbol ends the process, and
// a process that has the library open blocks the very reset it asked for.
//
// The two speak JSON lines. The child writes one Report a line, a hello first; the
// parent writes a word a line: "poll" for a full poll at once. It closes the child's
// standard input to end it, at the end or for as long as a reset needs the GPUs for
// itself (Quiet). This package holds the Report and the parent's side and needs no
// cgo.
//
// What the child cannot say itself, the parent says in the same vocabulary: that
// the child does not answer, that it died, that it could not be started. There is
// never a second child beside one that is stuck, and none that may be inside a
// driver call is killed: killing clients of a hung driver has frozen GPUs.
package nvml
