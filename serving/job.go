package serving

// Job is a pod that was given GPUs and serves nothing that can be asked.
type Job struct {
	// Name is namespace/name of the pod.
	Name string `json:"name"`
	UID  string `json:"uid"`
	// GPUs are UUIDs, sorted: those of whole GPUs, and of MIG instances.
	GPUs []string `json:"gpus"`
}
