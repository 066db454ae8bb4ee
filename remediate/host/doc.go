// Package host does on the host itself what a repair needs: it resets GPUs with
// nvidia-smi, and reboots.
//
// A reset goes through these steps, each with an end in time: our own children let
// go of the GPUs, and it is proven that nothing in our process tree has one open;
// the operator's services on the node are paused; persistence mode is turned off
// where it is on; who then still holds one of the GPUs is named, and nothing is
// reset; else they are. Whatever comes of it, what was changed is put back. That
// each such thing is owed is on disk before it is changed: an agent that comes back
// puts it back by Undo, which may be called any number of times.
//
// Nothing is tried twice, and a reset that was cut off is not begun again: whether
// it has worked, the driver says.
package host
