package serving

// Job is work that holds GPUs of this node and has no engine: a pod, or a tree of
// processes.
type Job struct {
	// Name is namespace/name of the pod.
	Name string `json:"name"`
	// UID is the pod's; empty outside of pods.
	UID string `json:"uid,omitempty"`
	// GPUs are UUIDs, sorted: those of whole GPUs, and of MIG instances.
	GPUs []string `json:"gpus"`
}
