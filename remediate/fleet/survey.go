package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

const (
	// cluster is the group of a node that is in no other.
	cluster = "cluster"
	// sizeFor is how long a group's size is taken for known: who comes and goes in
	// that time moves a percentage little.
	sizeFor = 10 * time.Minute
	// page is how many Nodes are asked for at once.
	page = "500"
	// metadataOnly asks for the metadata of objects and no more.
	metadataOnly = "application/vnd.kubernetes.protobuf;as=%s;g=meta.k8s.io;v=v1"
)

// size is how many nodes of a group an agent speaks for.
type size struct {
	group string
	nodes int
	at    time.Time
}

// survey finds the facts that the asks are decided by.
func (f *Fleet) survey(ctx context.Context, asks []guard.Ask) (guard.Facts, error) {
	own, err := f.own(ctx)
	if err != nil {
		return guard.Facts{}, err
	}
	group := f.group(own)
	facts := guard.Facts{At: time.Now(), Group: group, Leave: leave(own), Rack: f.rackOf(own)}
	if facts.Nodes, err = f.nodes(ctx, group); err != nil {
		return facts, err
	}
	if facts.Cleared, err = f.cleared(ctx, group); err != nil {
		return facts, err
	}
	facts.Clear = fmt.Sprintf(`kubectl annotate lease -n %s %s --overwrite %s="$(date -u +%%FT%%TZ)"`, f.Namespace, LeaseName(group), ClearedAnnotation)
	facts.Load = f.loadOf(ctx, own)
	return facts, f.see(ctx, &facts, asks)
}

// see finds the nodes that the asks are decided by. With the Lease it is called again:
// whoever had it before may be out by now, of the nodes that carry the load as well.
func (f *Fleet) see(ctx context.Context, facts *guard.Facts, asks []guard.Ask) (err error) {
	if err := f.count(ctx, facts.Load); err != nil {
		return err
	}
	if facts.Peers, err = f.peers(ctx, facts.Group, asks); err != nil || !slices.ContainsFunc(asks, byClock) {
		return err
	}
	if facts.Busy, err = f.busy(ctx, facts.Group); err != nil || facts.Rack.Name == "" {
		return err
	}
	facts.Rack.Busy, err = f.busy(ctx, facts.Rack.Name)
	return err
}

// busy names the other nodes of a group, or a rack, that are diagnosed. Level 1 has
// no test that draws power.
func (f *Fleet) busy(ctx context.Context, group string) (names []string, err error) {
	found, err := f.list(ctx, within(group, remediate.LabelDiagnosing+" notin (1),"+remediate.LabelDiagnosing))
	for n := range found {
		if name := found[n].Name; name != f.Node {
			names = append(names, name)
		}
	}
	return names, err
}

// rackOf gives the node's rack. What the site says of it outranks the NVLink domain;
// a node of which it says nothing may stand anywhere.
func (f *Fleet) rackOf(own *metav1.PartialObjectMetadata) guard.Rack {
	key := cmp.Or(f.Rack, remediate.LabelDomain)
	switch value := own.Labels[key]; {
	case value != "":
		return guard.Rack{Name: key + "=" + value}
	case f.Rack != "":
		return guard.Rack{Unknown: "the Node has no label " + f.Rack + ", which would say whose power it shares"}
	}
	return guard.Rack{}
}

// peers finds the nodes that are out, or show what comes with the same rollout.
func (f *Fleet) peers(ctx context.Context, group string, asks []guard.Ask) (peers []guard.Peer, err error) {
	for _, selector := range selectors(asks) {
		found, err := f.list(ctx, within(group, selector))
		if err != nil {
			return nil, err
		}
		peers = f.merge(peers, found)
	}
	return peers, nil
}

// group names the node's group.
func (f *Fleet) group(own *metav1.PartialObjectMetadata) string {
	for _, key := range []string{remediate.LabelDomain, f.Label} {
		if value := own.Labels[key]; key != "" && value != "" {
			return key + "=" + value
		}
	}
	return cluster
}

// within is a label selector inside a group.
func within(group, selector string) string {
	if group == cluster {
		return selector
	}
	return group + "," + selector
}

// selectors give the nodes that the asks are decided by: those that are out, all of
// them or a device by leave, and those with a fault that comes with the same rollout.
func selectors(asks []guard.Ask) []string {
	all := []string{remediate.LabelState + " in (" + join(append(slices.Clone(outStates), remediate.Suspect)) + ")"}
	for _, a := range asks {
		if family := guard.Family(a.Class); family != nil {
			selector := remediate.LabelFault + " in (" + join(family) + ")"
			if !slices.Contains(all, selector) {
				all = append(all, selector)
			}
		}
	}
	return all
}

// outStates are those in which a node is out of service.
var outStates = []remediate.NodeState{remediate.Quarantined, remediate.Draining, remediate.Repairing, remediate.Probation, remediate.Failed}

func join[S ~string](words []S) string {
	all := make([]string, len(words))
	for n, w := range words {
		all[n] = string(w)
	}
	return strings.Join(all, ",")
}

// merge adds Nodes to the peers that are known, each once, and never our own.
func (f *Fleet) merge(peers []guard.Peer, found []metav1.PartialObjectMetadata) []guard.Peer {
	for n := range found {
		p := peer(&found[n])
		if p.Node != f.Node && !slices.ContainsFunc(peers, func(o guard.Peer) bool { return o.Node == p.Node }) {
			peers = append(peers, p)
		}
	}
	return peers
}

// peer reads a Node.
func peer(m *metav1.PartialObjectMetadata) guard.Peer {
	p := guard.Peer{Node: m.Name, Fault: fault.Class(m.Labels[remediate.LabelFault]), Leave: leave(m)}
	p.Out = p.Leave || slices.Contains(outStates, remediate.NodeState(m.Labels[remediate.LabelState]))
	p.Since, _ = time.Parse(time.RFC3339, m.Annotations[remediate.SinceAnnotation]) // zero: nobody knows
	return p
}

// leave says whether a Node's mark tells of the group's leave.
func leave(m *metav1.PartialObjectMetadata) bool {
	var note remediate.Note
	return json.Unmarshal([]byte(m.Annotations[remediate.NoteAnnotation]), &note) == nil && note.Leave
}

// nodes gives the size of the group.
func (f *Fleet) nodes(ctx context.Context, group string) (int, error) {
	if f.size.group == group && time.Since(f.size.at) < sizeFor {
		return f.size.nodes, nil
	}
	found, err := f.list(ctx, within(group, remediate.LabelState))
	if err != nil {
		return 0, err
	}
	f.size = size{group, len(found), time.Now()}
	return f.size.nodes, nil
}

// cleared gives the time until which a person has cleared the group's outbreaks. A
// Lease that nobody has made yet says nothing of it.
func (f *Fleet) cleared(ctx context.Context, group string) (time.Time, error) {
	text, err := f.lease.note(ctx, LeaseName(group), ClearedAnnotation)
	if err != nil || text == "" {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, failed("lease "+LeaseName(group)+", annotation "+ClearedAnnotation, err)
	}
	return at, nil
}
