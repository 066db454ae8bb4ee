package dcgm

// Entity is what DCGM says something about. Its name is (group, id): NVSwitch 3
// is not GPU 3. Neither names anything beyond the engine's life.
type Entity struct {
	// Group is gpu, switch, gpu-instance, compute-instance, link, cpu, cpu-core,
	// connectx or vgpu; "node" where the matter is of no entity; else DCGM's
	// number of the group.
	Group string `json:"group"`
	ID    uint   `json:"id"`
	// UUID is that of the GPU, or of the GPU that a link belongs to; empty for
	// all others, and where DCGM never told it.
	UUID string `json:"uuid,omitempty"`
}

// Result is DCGM's judgement.
type Result string

// The results. Unknown is what a check of no GPU at all is worth.
const (
	Pass    Result = "pass"
	Warn    Result = "warn"
	Fail    Result = "fail"
	Unknown Result = "unknown"
)

// Health is one health check: a level, not an event.
type Health struct {
	Overall Result `json:"overall"`
	// First check of this connection: what it finds may be older than the agent.
	First bool `json:"first,omitempty"`
	// Incidents are failures first. More counts those that were left out.
	Incidents []Incident `json:"incidents"`
	More      int        `json:"more,omitempty"`
}

// Incident is one thing that a health check found.
type Incident struct {
	Entity
	// System is pcie, nvlink, pmu, mcu, memory, sm, inforom, thermal, power,
	// driver, switch-nonfatal, switch-fatal, connectx or imex; "any" for what
	// belongs to none (XIDs), else DCGM's number in hex.
	System string `json:"system"`
	// Code is DCGM's DCGM_FR_ number, such as 120 for fallen off the bus.
	Code int `json:"code"`
	// Result is Warn or Fail.
	Result Result `json:"result"`
	// Severity is what DCGM advises for this code: none, monitor, isolate,
	// triage, config, reset or unknown.
	Severity string `json:"severity"`
	// Sticky: an XID made it, and it stays until the engine is restarted. Its
	// presence says nothing about now.
	Sticky bool `json:"sticky,omitempty"`
	// Text is DCGM's, for people: a number of a GPU in it may be garbage.
	Text string `json:"text"`
}
