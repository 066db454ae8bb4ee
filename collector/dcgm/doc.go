// Package dcgm hears what NVIDIA's DCGM says, from a distance: its library runs
// in a child process (gpuhealthd probe dcgm, package probe), because no call of
// it takes a timeout, a stopped engine holds a call for minutes, and a function
// that is missing ends the process.
//
// DCGM is a second opinion. That it is not there is a state (KindAbsent), and
// that it is slow or stuck (KindHung) says nothing about the driver or a GPU: its
// calls are known to stall for 45 seconds beside a GPU that still serves.
//
// The child writes one Report a line on standard output and ends when its
// standard input does. What it says are levels: the incidents of a health check
// and the last XID of a GPU are said again at each check until the engine is
// restarted. The parent's side passes on what changed.
//
// GPUs are named by UUID. DCGM's own numbers are never a name: they repeat
// between kinds of entities, and the numbers in its texts are not to be trusted.
package dcgm
