package deploy

import "strings"

// nodeAttempts are writes to a Node that are not an agent's; subresource is empty or
// status.
var nodeAttempts = []struct{ name, node, patch, subresource string }{
	{"cordon another Node", other, `{"spec":{"unschedulable":true}}`, ""},
	{"label another Node", other, `{"metadata":{"labels":{"gpuhealthd.io/state":"failed"}}}`, ""},
	{"a condition of another Node", other, `{"status":{"conditions":[{"type":"GPUHealthy","status":"False"}]}}`, "status"},
	{"taint another Node", other, `{"spec":{"taints":[{"key":"gpuhealthd.io/quarantine","value":"xid-79","effect":"NoSchedule"}]}}`, ""},
	{"a label of its own making", own, `{"metadata":{"labels":{"pool":"gold"}}}`, ""},
	{"a label that looks like ours", own, `{"metadata":{"labels":{"gpuhealthd.io.example.com/state":"x"}}}`, ""},
	{"a label of the kubelet", own, `{"metadata":{"labels":{"kubernetes.io/os":"plan9"}}}`, ""},
	{"no label of the kubelet", own, `{"metadata":{"labels":{"kubernetes.io/os":null}}}`, ""},
	{"a label by way of the status", own, `{"metadata":{"labels":{"pool":"gold"}}}`, "status"},
	{"start an operand that is off", own, `{"metadata":{"labels":{"nvidia.com/gpu.deploy.mig-manager":"true"}}}`, ""},
	{"stop an operand for good", own, `{"metadata":{"labels":{"nvidia.com/gpu.deploy.dcgm":"false"}}}`, ""},
	{"no label of an operand", own, `{"metadata":{"labels":{"nvidia.com/gpu.deploy.dcgm":null}}}`, ""},
	{"an operand that is not there", own, `{"metadata":{"labels":{"nvidia.com/gpu.deploy.driver":"paused-by-gpuhealthd.true"}}}`, ""},
	{"an annotation of the controllers", own, `{"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"300"}}}`, ""},
	{"a keep that is no keep", own, `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"false"}}}`, ""},
	{"a finalizer", own, `{"metadata":{"finalizers":["example.com/stay"]}}`, ""},
	{"no finalizer", own, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/keep"]}}`, ""},
	{"a finalizer by way of the status", own, `{"metadata":{"finalizers":["example.com/stay"]}}`, "status"},
	{"an owner", own, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}]}}`, ""},
	{"take somebody's taint", own, `{"spec":{"taints":null}}`, ""},
	{"put ours in the place of all", own, `{"spec":{"taints":[{"key":"gpuhealthd.io/quarantine","value":"xid-79","effect":"NoSchedule"}]}}`, ""},
	{"a taint that evicts", own, `{"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"},{"key":"gpuhealthd.io/quarantine","value":"xid-79","effect":"NoExecute"}]}}`, ""},
	{"the node's pod addresses", own, `{"spec":{"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24"]}}`, ""},
	{"the node's machine", own, `{"spec":{"providerID":"example://1"}}`, ""},
	{"the kubelet's condition", own, `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "status"},
	{"another's condition", own, `{"status":{"conditions":[{"type":"KernelDeadlock","status":"True"}]}}`, "status"},
	{"no condition of the kubelet", own, `{"status":{"conditions":[{"type":"Ready","$patch":"delete"}]}}`, "status"},
	{"more processors", own, `{"status":{"capacity":{"cpu":"64"}}}`, "status"},
	{"more to allocate", own, `{"status":{"allocatable":{"nvidia.com/gpu":"8"}}}`, "status"},
	{"another address", own, `{"status":{"addresses":[{"type":"InternalIP","address":"10.9.9.9"}]}}`, "status"},
	{"another kubelet port", own, `{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":1}}}}`, "status"},
	{"images", own, `{"status":{"images":[{"names":["example.com/evil:1"],"sizeBytes":1}]}}`, "status"},
}

// podAttempts are writes to a pod that are not an agent's.
var podAttempts = []struct{ name, pod, patch string }{
	{"another node's pod out of rotation", other, `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":null}}}`},
	{"another image", own, `{"spec":{"containers":[{"name":"c","image":"example.com/evil:1"}]}}`},
	{"a deadline", own, `{"spec":{"activeDeadlineSeconds":1}}`},
	{"another label", own, `{"metadata":{"labels":{"app":"other"}}}`},
	{"a new label", own, `{"metadata":{"labels":{"gpuhealthd.io/x":"y"}}}`},
	{"a state that is none", own, `{"metadata":{"labels":{"gpuhealthd.io/serving":"gold"}}}`},
	{"a state of another's pod", other, `{"metadata":{"labels":{"gpuhealthd.io/serving":"draining"}}}`},
	{"a word about another's pod", other, `{"metadata":{"annotations":{"gpuhealthd.io/serving":"{}"}}}`},
	{"a book in the annotation", own, `{"metadata":{"annotations":{"gpuhealthd.io/serving":"` + strings.Repeat("x", 1025) + `"}}}`},
	{"another value of the label", own, `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":"no"}}}`},
	{"another's pod into rotation", other, `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":"yes"},"annotations":{"gpuhealthd.io/out-of-rotation":"yes"}}}`},
	{"a note of what the label was not", own, `{"metadata":{"annotations":{"gpuhealthd.io/out-of-rotation":"no"}}}`},
	{"the label for a note of another", own, `{"metadata":{"labels":{"gpuhealthd.io/in-rotation":"no"},"annotations":{"gpuhealthd.io/out-of-rotation":"yes"}}}`},
	{"an annotation", own, `{"metadata":{"annotations":{"gpuhealthd.io/x":"y"}}}`},
	{"a peer that left another node's pod", other, leftBy},
	{"a peer with a long story", own, strings.ReplaceAll(leftBy, "ns/", strings.Repeat("x", 400))},
	{"a finalizer", own, `{"metadata":{"finalizers":["example.com/stay"]}}`},
	{"an owner", own, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"own","uid":"1"}]}}`},
}

// podStatusAttempts are writes to a pod's status that are not an agent's.
var podStatusAttempts = []struct{ name, pod, patch string }{
	{"close another node's gate", other, shut},
	{"another's condition", own, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`},
	{"a new condition", own, `{"status":{"conditions":[{"type":"example.com/x","status":"True"}]}}`},
	{"no condition of the kubelet", own, `{"status":{"conditions":[{"type":"Ready","$patch":"delete"}]}}`},
	{"the phase", own, `{"status":{"phase":"Failed"}}`},
	{"another address", own, `{"status":{"podIP":"10.9.9.9","podIPs":[{"ip":"10.0.0.7","$patch":"delete"},{"ip":"10.9.9.9"}]}}`},
	{"a reason", own, `{"status":{"reason":"Evicted"}}`},
	{"a container's state", own, `{"status":{"containerStatuses":[{"name":"c","ready":true,"restartCount":0,"image":"","imageID":""}]}}`},
	{"a label by way of the status", own, `{"metadata":{"labels":{"app":"other"}}}`},
	{"an annotation by way of the status", own, `{"metadata":{"annotations":{"example.com/x":"y"}}}`},
}
