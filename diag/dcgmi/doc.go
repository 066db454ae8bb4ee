// Package dcgmi runs "dcgmi diag", DCGM's own program, on some of a node's GPUs
// and gives what came of it. It is what touches the world of package diag.
//
// dcgmi runs in a process group of its own and asks the running host engine. It is
// given a deadline, and may be called off at any time: both end it with SIGTERM, on
// which dcgmi stops the engine's diagnosis (dcgmStopDiagnostic) before it exits.
// Only when it does not is the group killed; then, and only then, the engine may be
// left busy, and Outcome.Left says so. dcgmi gets SIGTERM too when the agent dies.
// No process of the group outlives Run, unless it is stuck in the kernel; beside
// such a one nothing is started.
//
// A busy engine is waited for, up to a limit; then the diagnosis was not run, which
// says nothing of the hardware. Nothing here looks whether a GPU is idle: who calls
// Run knows that, and calls it off, through the context, when work arrives.
package dcgmi
