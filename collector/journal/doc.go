// Package journal hears the systemd journal from a distance: libsystemd runs in
// a child process (gpuhealthd probe journal, package probe), because a journal
// file that is cut short while it is mapped ends whoever reads it by SIGBUS.
//
// The two speak JSON lines. The parent writes a [Request], one to follow and
// then any number to fill; the child writes [Report] lines until its standard
// input ends. This package holds both and the parent's side, and needs no cgo.
//
// The child delivers each entry of this boot once, in the journal's order, and
// finds its way by cursor: through rotation, vacuum and its own death. Where the
// cursor is gone it begins at the start of the boot and leaves out the kernel's
// records that were handled; what vacuum took in between counts as missed.
package journal
