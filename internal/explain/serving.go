package explain

import "github.com/gpuhealthd/gpuhealthd/fault"

// workload is what there is to say of a fault of work rather than of hardware: whom to
// suspect, what is done, how a person confirms it.
type workload struct {
	// blame is Meaning.AtFault; note says who else it may be.
	blame, note string
	why         []string
	confirm     []Check
	documents   []Document
}

var (
	dmonCheck = Check{"nvidia-smi dmon -s pu -c 5",
		"its GPUs: idle is sm 0; wedged is sm 100 with mem 0 and little power, as when a collective waits for ever"}
	stackCheck  = Check{"py-spy dump --native --pid PID", "where a Python process stands, twice: the same line in a collective, a lock or a queue is the hang; gdb -p PID for others"}
	statusCheck = Check{"gpuhealthd status", "state, score and its parts of every replica, who does not answer, and what is recorded of jobs"}

	smiDocument  = Document{"nvidia-smi", "https://docs.nvidia.com/deploy/nvidia-smi/index.html"}
	ncclDocument = Document{"NCCL: troubleshooting", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"}
	nixlDocument = Document{"NIXL, which moves KV caches between workers", "https://github.com/ai-dynamo/nixl/blob/main/docs/nixl.md"}
)

func metricsCheck(look string) Check {
	return Check{"curl -sm 5 http://ADDRESS:PORT/metrics | grep -E 'running|waiting|tokens'", look}
}

var workloads = map[fault.Class]workload{
	fault.StalledEngine: {blame: "application",
		note: "Most often the engine itself: a deadlock, a collective that one rank never entered, a process that was stopped. " +
			"A pause with requests open and idle GPUs, such as a compilation in the midst of serving, looks the same: raise serving.stall where there are any.",
		why: []string{
			"In mode repair with repair.restart.mode pods its pod leaves rotation, has serving.drainCeiling for requests that still get on, and is evicted: its owner makes another.",
			"Else the restart is requested, by an event, status and metrics; outside of Kubernetes it is always the site's.",
			"The node stays in service, and no hardware is touched. Without the GPUs' word, as with MIG before Hopper, it is recorded alone.",
			"A second stall on the same GPU within an hour is stalled-gpu.",
		},
		confirm:   []Check{metricsCheck("twice, 15 s apart: requests run or wait and no count of tokens moves; or no answer, which a frozen engine gives"), dmonCheck, stackCheck, statusCheck},
		documents: []Document{smiDocument, ncclDocument},
	},
	fault.StalledGPU: {blame: "gpu",
		note: "Another fault of the hardware is open on that GPU, or a replica stalled on it again within an hour of a restart. Two stalls can be the engine's too, " +
			"as with an image or a model that never gets on: then the diagnosis passes, and another engine serves well there.",
		why: []string{
			"The node is cordoned, the pods of this GPU are drained, and a diagnosis is asked for: in mode repair the agent does that itself, as far as repair.drain and repair.diag say; else it is requested.",
			"The pods of the node's other GPUs go on serving. Beside a hard fault of the GPU a stall is its symptom, and asks for nothing.",
			"The driver's recovery action (XID 154, or NVML's field) outranks this.",
		},
		confirm: []Check{{"gpuhealthd events show INCIDENT", "what speaks against the GPU beside the stall, and what the diagnosis says"}, dmonCheck,
			metricsCheck("of the engines on that GPU: requests run or wait and no count of tokens moves")},
		documents: []Document{smiDocument, debugDocument},
	},
	fault.WedgedJob: {blame: "application",
		note: "Two or more GPUs of one job, which has no serving engine, have computed nothing for five minutes. The cause is as likely on another node: " +
			"one rank that died, is slow or never entered the collective holds all others, and each node sees the same.",
		why: []string{
			"It is recorded: an event, status and gpuhealthd_serving_workload_fault. It is left to the job's owner, and the node stays in service.",
			"Outside of Kubernetes a job is named by Slurm, its systemd unit, its container, or the topmost process that was started for it.",
		},
		confirm: []Check{dmonCheck, stackCheck,
			{"scontrol listpids JOB; kubectl get pods -o wide", "where its other ranks are; the one that stands elsewhere than all others is the cause"}, lastXIDs},
		documents: []Document{ncclDocument, smiDocument},
	},
	fault.SlowReplica: {blame: "unknown",
		note: "Each request gets less than 30 % of the tokens a second that this replica usually gives, and than its peers on the node. It may be the engine, its load " +
			"(long contexts, preemption), the host's processors, or a GPU that is held down; faults of the GPU, such as thermal or power-brake, are told by themselves.",
		why: []string{"It is recorded: an event, status and gpuhealthd_serving_workload_fault. Nothing acts on it, and the replica goes on serving."},
		confirm: []Check{statusCheck, {"nvidia-smi -q -d PERFORMANCE,CLOCK", "what holds its GPUs' clocks down, if anything does"},
			metricsCheck("how many requests run and wait, and whether they are preempted"), {"top -H -p PID", "whether a thread of the engine is at 100 % of a core, or the host has none left"}},
		documents: []Document{smiDocument},
	},
	fault.StalePeer: {blame: "peer",
		note: "A prefill worker of its group ended, was started anew or is gone, on whatever node. This decode worker runs on with handles of that one's memory, " +
			"and may answer from it, fail or compute prompts again. Its own GPU and node are not to blame.",
		why: []string{
			"It is recorded, with what was lost: in the event, on Node and pod, and in the pod's annotation gpuhealthd.io/stale-peer.",
			"With serving.restartStalePeers its restart is asked for, and done in mode repair as that of a stalled engine, in turn with the others of its group.",
		},
		confirm: []Check{{`kubectl get pod NAME -o jsonpath='{.metadata.annotations.gpuhealthd\.io/stale-peer}'`, "which worker was lost, and when"},
			{"kubectl logs NAME --since 1h | grep -iE 'nixl|kv.?transfer|disconnect|timeout'", "whether its transfers fail since"}, statusCheck},
		documents: []Document{nixlDocument},
	},
}
