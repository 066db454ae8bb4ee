package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// BenchmarkStalePeers tells how long after the loss of a prefill worker its decode workers
// on two nodes are named, and until both were restarted, one at a time, by engines that
// load for 3 s; and what that is beside the sum of both restarts, each from the moment at
// which a pod is out of rotation until the one in its place is ready. The requests to the
// API server are those of both agents, from the loss until nothing is open.
func BenchmarkStalePeers(b *testing.B) {
	g := newEnsemble(b)
	g.flags = []string{"-load", "3s"}
	all := []*decoder{g.decode(true), g.decode(true)}
	var named, begun, took, single time.Duration
	requests, done := 0., 0.
	for b.Loop() {
		before := requestsOf(all)
		g.kill()
		named += g.named(all)
		first, out, back := g.replaces(all)
		begun, single = begun+out.Sub(g.lost), single+back.Sub(out)
		rest := []*decoder{all[0]}
		if all[0] == first {
			rest[0] = all[1]
		}
		_, out, back = g.replaces(rest)
		took, single = took+back.Sub(g.lost), single+back.Sub(out)
		rested(all)
		requests += requestsOf(all) - before
		done++
	}
	b.ReportMetric(named.Seconds()/done, "s-to-verdict")
	b.ReportMetric(begun.Seconds()/done, "s-to-first-restart")
	b.ReportMetric(took.Seconds()/done, "s-to-all")
	b.ReportMetric((took-begun).Seconds()/single.Seconds(), "x-of-the-restarts")
	b.ReportMetric(requests/done, "requests")
}

// BenchmarkStalePeerRecorded tells what the loss costs one agent that restarts nothing, in
// requests to the API server, until its worker was restarted by somebody else.
func BenchmarkStalePeerRecorded(b *testing.B) {
	g := newEnsemble(b)
	all := []*decoder{g.decode(false)}
	d := all[0]
	requests, done := 0., 0.
	for b.Loop() {
		before := requestsOf(all)
		g.kill()
		g.named(all)
		d.awaitLeft()
		d.awaitDegraded(true)
		d.engine.Restart()
		d.engine.AwaitUp()
		pod := d.pod()
		pod.Status.ContainerStatuses[0].RestartCount++
		g.status(pod)
		d.awaitDegraded(false)
		rested(all)
		requests += requestsOf(all) - before
		done++
	}
	b.ReportMetric(requests/done, "requests")
}

// named is how long after the loss the last agent has named its worker.
func (g *ensemble) named(all []*decoder) (last time.Duration) {
	g.t.Helper()
	for _, d := range all {
		daemontest.Await(g.t, d.name+" is named", func() bool {
			w := d.Status().Workers
			if len(w) != 1 || w[0].Stale == nil {
				return false
			}
			last = max(last, w[0].Stale.Since.Sub(g.lost))
			return true
		})
	}
	return last
}

// replaces is the owner of some workers: it makes another pod for the first that is gone.
// It gives when that was out of rotation, and when the other was ready.
func (g *ensemble) replaces(all []*decoder) (first *decoder, out, back time.Time) {
	g.t.Helper()
	for limit := time.Now().Add(2 * time.Minute); first == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			g.t.Fatal("nobody is restarted")
		}
		for _, d := range all {
			pod := d.pod()
			if out.IsZero() && (pod == nil || pod.Labels[inRotation] == "") {
				out = time.Now()
			}
			if pod == nil {
				first = d
			}
		}
	}
	first.serves(fmt.Sprintf("%s-%x", first.host.name, time.Now().UnixNano()))
	first.ready(true)
	return first, out, time.Now()
}

// requestsOf counts the requests of some agents.
func requestsOf(all []*decoder) (n float64) {
	for _, d := range all {
		n += d.Metric("api_request_seconds_count")
	}
	return n
}

// rested returns once nothing is open, all was told, and the present workers know their
// peers.
func rested(all []*decoder) {
	for _, d := range all {
		daemontest.Await(d.t, "nothing is open any more", func() bool {
			s := d.Status()
			return len(s.Incidents) == 0 && len(s.Workers) == 1 && s.Workers[0].Name == d.group.name+"/"+d.name && s.Workers[0].Stale == nil
		})
		d.awaitPeers(1)
		d.AwaitSettled()
	}
}
