package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// The annotations on a group's Lease.
const (
	// GroupAnnotation names the group in words.
	GroupAnnotation = remediate.Prefix + "group"
	// ReleasedAnnotation counts the nodes that went back to service of late.
	ReleasedAnnotation = remediate.Prefix + "released"
	// ClearedAnnotation is a person's: outbreaks up to that time hold nothing.
	ClearedAnnotation = remediate.Prefix + "outbreaks-cleared"
)

// LeaseName gives the name of a group's Lease. What a label may say is not always a
// name.
func LeaseName(group string) string {
	sum := sha256.Sum256([]byte(group))
	return "gpuhealthd-" + hex.EncodeToString(sum[:8])
}

// lease is the mutex of a group, as far as this node has seen it.
type lease struct {
	client          *rest.RESTClient
	namespace, node string
	// time is how long the Lease of one that is not heard of is respected.
	time time.Duration
	// unmade: nobody had made it when it was looked for last.
	unmade bool
	// have is the Lease while this node has it, nil while it has not.
	have *coordinationv1.Lease
	// seen is the version of another's Lease, and since when it is the same.
	seen      string
	seenSince time.Time
}

// take takes the Lease, and names who has it instead.
func (l *lease) take(ctx context.Context, group string) (holder string, err error) {
	name := LeaseName(group)
	found, err := l.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return l.took(l.create(ctx, group, l.own))
	}
	if err != nil {
		return "", failed("get lease "+name, err)
	}
	if holder := l.holder(found); holder != "" {
		return holder, nil
	}
	l.own(found)
	if found.Annotations[GroupAnnotation] == "" {
		found.Annotations = with(found.Annotations, GroupAnnotation, group)
	}
	return l.took(l.update(ctx, found))
}

// note reads an annotation of a Lease; empty where there is none.
func (l *lease) note(ctx context.Context, name, key string) (string, error) {
	found, err := l.get(ctx, name)
	if l.unmade = apierrors.IsNotFound(err); l.unmade {
		return "", nil
	}
	if err != nil {
		return "", failed("get lease "+name, err)
	}
	return found.Annotations[key], nil
}

// exist makes the Lease where note found none, and leaves it to nobody.
func (l *lease) exist(ctx context.Context, group string) error {
	if !l.unmade {
		return nil
	}
	_, err := l.create(ctx, group, func(*coordinationv1.Lease) {})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return failed("create lease "+LeaseName(group), err)
	}
	l.unmade = false
	return nil
}

// holder names who else has the Lease, and is heard of.
func (l *lease) holder(found *coordinationv1.Lease) string {
	holder := value(found.Spec.HolderIdentity)
	if holder == "" || holder == l.node {
		return ""
	}
	if found.ResourceVersion != l.seen {
		l.seen, l.seenSince = found.ResourceVersion, time.Now()
	}
	if time.Since(l.seenSince) >= l.time {
		return ""
	}
	return holder
}

// own writes this node into a Lease.
func (l *lease) own(to *coordinationv1.Lease) {
	now, seconds := metav1.NowMicro(), int32(max(l.time, time.Second)/time.Second)
	to.Spec.HolderIdentity, to.Spec.LeaseDurationSeconds = &l.node, &seconds
	to.Spec.AcquireTime, to.Spec.RenewTime = &now, &now
}

// took settles whose the Lease is after a write to it: that somebody was faster is
// no error.
func (l *lease) took(written *coordinationv1.Lease, err error) (holder string, _ error) {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return "another", nil
	case err != nil:
		return "", failed("take the lease", err)
	}
	l.have = written
	return "", nil
}

// giveBack gives the Lease back. One that somebody else has taken meanwhile is not
// ours to give.
func (l *lease) giveBack(ctx context.Context) error {
	if l.have == nil {
		return nil
	}
	l.have.Spec.HolderIdentity = nil
	_, err := l.update(ctx, l.have)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = l.again(ctx)
	}
	if err != nil {
		return failed("give the lease back", err)
	}
	l.have = nil
	return nil
}

// again gives back a Lease that is another than was written: perhaps by a write of
// ours whose answer was lost, or by a person who changed an annotation.
func (l *lease) again(ctx context.Context) error {
	found, err := l.get(ctx, l.have.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || value(found.Spec.HolderIdentity) != l.node {
		return err
	}
	found.Spec.HolderIdentity = nil
	if count, counted := l.have.Annotations[ReleasedAnnotation]; counted {
		found.Annotations = with(found.Annotations, ReleasedAnnotation, count)
	}
	_, err = l.update(ctx, found)
	return err
}

// released reads how many nodes went back to service of late. What cannot be read
// counts as none: no guard keeps a node from that.
func (l *lease) released() (r guard.Released) {
	if json.Unmarshal([]byte(l.have.Annotations[ReleasedAnnotation]), &r) != nil {
		return guard.Released{}
	}
	return r
}

// release counts another one.
func (l *lease) release(r guard.Released) {
	text, err := json.Marshal(r)
	if err == nil { // a time and a number
		l.have.Annotations = with(l.have.Annotations, ReleasedAnnotation, string(text))
	}
}

func (l *lease) get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	found := &coordinationv1.Lease{}
	return found, l.client.Get().Namespace(l.namespace).Resource("leases").Name(name).Do(ctx).Into(found)
}

func (l *lease) create(ctx context.Context, group string, fill func(*coordinationv1.Lease)) (*coordinationv1.Lease, error) {
	made := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: LeaseName(group), Annotations: map[string]string{GroupAnnotation: group}}}
	fill(made)
	return made, l.client.Post().Namespace(l.namespace).Resource("leases").Param("fieldManager", apiserver.Manager).Body(made).Do(ctx).Into(made)
}

func (l *lease) update(ctx context.Context, to *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	next := &coordinationv1.Lease{}
	err := l.client.Put().Namespace(l.namespace).Resource("leases").Name(to.Name).Param("fieldManager", apiserver.Manager).Body(to).Do(ctx).Into(next)
	return next, err
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
