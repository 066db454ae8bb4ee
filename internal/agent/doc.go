// Package agent is the daemon: it wires the sources to the judge, the judge to
// the plan, and the plan to an actuator.
//
// One goroutine, the core, owns judge and plan; sources and actuator speak to
// it over channels and never to each other. What the core decides is on disk
// before anything is done about it. Nothing a source or the API server does can
// stop the core from hearing the kernel log.
package agent
