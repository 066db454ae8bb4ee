package remediate

import "slices"

// The annotations by which autoscalers are told to let a Node be. A cordoned node
// looks empty to them, and what is removed takes its evidence with it and comes
// back to the pool as sick as it was.
const (
	// KeepClusterAutoscaler is Cluster Autoscaler's: the node is not scaled down.
	KeepClusterAutoscaler = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// KeepKarpenter is Karpenter's: the node is not disrupted of its own accord.
	KeepKarpenter = "karpenter.sh/do-not-disrupt"
	// KeepValue is what both take for yes.
	KeepValue = "true"
)

// KeepAnnotations are the autoscalers' annotations, sorted.
func KeepAnnotations() []string { return []string{KeepClusterAutoscaler, KeepKarpenter} }

// keep settles the autoscalers' annotations: ours are the ones that we have set,
// and the mark names them. One that stood there before, or that somebody has
// changed since, is an administrator's, and stays; one of ours that an
// administrator took away is not set again while the mark stands.
func keep(hold bool, have Observed) (kept map[string]string, ours []string) {
	if have.Note != nil {
		ours = have.Note.Kept
	}
	for key, value := range have.Kept {
		if hold || value != KeepValue || !slices.Contains(ours, key) {
			kept = with(kept, key, value)
		}
	}
	if !hold {
		return kept, nil
	}
	ours = slices.Clone(ours)
	for _, key := range KeepAnnotations() {
		if _, there := have.Kept[key]; !there && !slices.Contains(ours, key) {
			kept, ours = with(kept, key, KeepValue), append(ours, key)
		}
	}
	return kept, ours
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
