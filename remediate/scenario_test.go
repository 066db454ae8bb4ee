package remediate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// TestScenarios plays testdata/*.txt against a model of the Node object. A
// line is a time since the start, a word and its text:
//
//	+0s polled ADDRESS…                the driver has answered for these GPUs
//	+1s verdict ID CLASS ACTION ADDRESS [hard] [diag=N] [drain=WHEN] [later=ACTION] [radius=RADIUS] [root=ID] [elsewhere] [closed] [anew] [app] [pods=NAME@UID,…]
//	+1s domain NAME TRAY…              the NVLink domain, and who says there that its links are not in order
//	+1s together ADDRESS…              GPUs that can only be reset as one
//	+1s blind WHY                      the driver cannot be asked any more
//	+1s unproved [REPLICA]             a replica has not proved that it serves; or all have
//	+1s store [WHY]                    the store breaks, or is mended
//	+2s admin cordon|uncordon|recreate|strip   somebody changes the Node
//	+9s tick                           time passes
//	+9s restart                        the agent is restarted from its snapshot
//	+9s then MODE                      the same, in another mode
//	+9s forget                         the agent is restarted without one
//	+9s offline|online                 the API server goes away, comes back
//
// An address may have a UUID: 0000:3b:00@GPU-1. Mode repair has words of its own:
// see scenario_repair_test.go; and so have the guards and fences: scenario_guard_test.go
// and scenario_fence_test.go.
//
// After the lines of one moment the plan is written down, unless the store is
// broken, and the Node is brought to what is desired, as the agent does.
func TestScenarios(t *testing.T) {
	golden.Each(t, "testdata/*.txt", play)
}

// model is a Node object and the writes that reached it.
type model struct {
	Observed
	desired Desired
	writes  int
	offline bool
}

// apply does what the real actuator does: one write, or none.
func (m *model) apply(want Desired) Observed {
	if m.offline {
		return m.Observed
	}
	if want.Look {
		return m.Observed
	}
	next := Settle(want, m.Observed)
	a, _ := json.Marshal([]any{m.Observed, m.desired})
	b, _ := json.Marshal([]any{next, want})
	if !bytes.Equal(a, b) {
		m.writes++
	}
	m.Observed, m.desired = next, want
	return m.Observed
}

type stage struct {
	t      *testing.T
	plan   *Plan
	policy Policy
	node   model
	start  time.Time
	now    time.Time
	said   string
	// repair is what was last printed of mode repair.
	repair []string
	// answered is the answer that was last printed.
	answered string
	// guards is what was last printed of the guards, fenced of the fences.
	guards []string
	fenced string
	out    strings.Builder
}

func play(t *testing.T, in []byte) string {
	s := &stage{t: t, policy: Policy{Mode: Contain, Probation: 10 * time.Minute, Replicas: 5 * time.Minute},
		start: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC),
		node:  model{Observed: Observed{Exists: true, UID: "uid-1"}}}
	s.plan = NewPlan(s.policy)
	sc := bufio.NewScanner(bytes.NewReader(in))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		d, err := time.ParseDuration(strings.TrimPrefix(f[0], "+"))
		if err != nil || len(f) < 2 {
			t.Fatalf("line %d: %q: %v", n, line, err)
		}
		if at := s.start.Add(d); at != s.now {
			s.sync()
			s.now = at
		}
		s.do(n, f[1], f[2:])
	}
	s.sync()
	return s.out.String()
}

func (s *stage) do(n int, word string, args []string) {
	switch word {
	case "mode":
		s.mode(n, args)
	case "polled":
		s.plan.Sources(s.now, Sources{Polled: true, GPUs: s.gpus(args)})
	case "domain":
		src := s.plan.sources
		src.Domain, src.Trays = args[0], args[1:]
		s.plan.Sources(s.now, src)
	case "together":
		src := s.plan.sources
		src.Together = [][]fault.Device{s.gpus(args)}
		s.plan.Sources(s.now, src)
	case "blind":
		src := s.plan.sources
		src.Blind = strings.Join(args, " ")
		s.plan.Sources(s.now, src)
	case "unproved":
		src := s.plan.sources
		src.Unproved = args
		s.plan.Sources(s.now, src)
	case "store":
		src := s.plan.sources
		src.Store = strings.Join(args, " ")
		s.plan.Sources(s.now, src)
	case "verdict":
		s.plan.Verdict(s.now, s.verdict(n, args))
	case "admin":
		s.admin(args[0])
	case "tick":
		s.plan.Tick(s.now)
	case "offline", "online":
		s.node.offline = word == "offline"
	case "forget":
		sources := s.plan.sources
		s.plan = NewPlan(s.policy)
		s.plan.Sources(s.now, sources)
	case "restart", "then":
		if word == "then" {
			s.policy.Mode = Mode(args[0])
		}
		data, err := s.plan.Snapshot()
		if err != nil {
			s.t.Fatal(err)
		}
		sources := s.plan.sources
		if s.plan, err = RestorePlan(s.policy, data, s.plan.Outbox()); err != nil {
			s.t.Fatal(err)
		}
		s.plan.Sources(s.now, sources)
	default:
		if !s.doGuards(word, args) && !s.doFences(word, args) {
			s.doRepair(n, word, args)
		}
	}
}

func (s *stage) admin(what string) {
	switch what {
	case "cordon":
		s.node.Unschedulable = true
	case "uncordon":
		s.node.Unschedulable = false
	case "strip":
		s.node.Unschedulable, s.node.Tainted, s.node.Note = false, false, nil
	case "recreate":
		s.node.Observed = Observed{Exists: true, UID: s.node.UID + "'"}
		s.node.desired = Desired{}
	}
	if !s.node.offline {
		s.plan.Node(s.now, s.node.Observed)
	}
}

func (s *stage) verdict(n int, args []string) fault.Verdict {
	v := fault.Verdict{ID: args[0], Class: fault.Class(args[1]), Hardware: true, Opened: s.now, Reason: "as judged"}
	if err := v.Action.UnmarshalText([]byte(args[2])); err != nil {
		s.t.Fatalf("line %d: %v", n, err)
	}
	for _, address := range strings.Split(args[3], ",") {
		v.GPUs = append(v.GPUs, device(s.t, address))
	}
	v.Affected = v.GPUs
	v.Radius, v.Diag, v.Drain = fault.GPU, 2, fault.DrainNow
	if v.Action < fault.Diag {
		v.Diag, v.Drain = 0, fault.DrainNever
	}
	for _, a := range args[4:] {
		key, value, _ := strings.Cut(a, "=")
		var err error
		switch key {
		case "hard":
			v.Hard = true
		case "closed":
			v.Closed = true
		case "anew":
			v.Anew = true
		case "app":
			v.Hardware, v.Radius = false, fault.Process
		case "pods":
			v.Workloads = pods(value)
		case "root":
			v.Root = value
		case "elsewhere":
			v.Elsewhere = true
		case "radius":
			err = v.Radius.UnmarshalText([]byte(value))
		case "drain":
			err = v.Drain.UnmarshalText([]byte(value))
		case "later":
			err = v.Later.UnmarshalText([]byte(value))
		case "diag":
			_, err = fmt.Sscan(value, &v.Diag)
		default:
			err = fmt.Errorf("unknown word %q", a)
		}
		if err != nil {
			s.t.Fatalf("line %d: %v", n, err)
		}
	}
	return v
}

// pods reads NAME@UID,… ; one without a UID is no pod.
func pods(text string) (ws []fault.Workload) {
	for _, w := range strings.Split(text, ",") {
		name, uid, _ := strings.Cut(w, "@")
		ws = append(ws, fault.Workload{Name: name, UID: uid})
	}
	return ws
}

func (s *stage) gpus(args []string) []fault.Device {
	var ds []fault.Device
	for _, a := range args {
		ds = append(ds, device(s.t, a))
	}
	return ds
}

func device(t *testing.T, text string) fault.Device {
	address, uuid, _ := strings.Cut(text, "@")
	pci, ok := xidparse.ParsePCI(address)
	if !ok {
		t.Fatalf("not an address: %q", text)
	}
	return fault.Device{PCI: pci, UUID: uuid}
}

// sync brings the Node to what is desired, tells the plan, and prints what
// has changed.
func (s *stage) sync() {
	if s.plan.sources.Store == "" {
		s.plan.Written()
	}
	if s.now.IsZero() || !s.plan.Ready() {
		return
	}
	s.plan.Node(s.now, s.node.apply(s.plan.Desired()))
	s.plan.Node(s.now, s.node.apply(s.plan.Desired()))
	for _, e := range s.plan.Outbox() {
		fmt.Fprintf(&s.out, "+%-7v event %s %s: %s\n", s.now.Sub(s.start), e.Type, e.Reason, e.Message)
		s.plan.Told(e.Key)
	}
	d := s.node.desired
	line := fmt.Sprintf("node  state=%s fault=%s radius=%s", d.State, d.Fault, d.Radius)
	if d.GPUsHealthy != nil {
		line += fmt.Sprintf(" gpus=%d", *d.GPUsHealthy)
	}
	line += fmt.Sprintf(" cordon=%v taint=%v GPUHealthy=%s/%s NVLinkHealthy=%s/%s", s.node.Unschedulable, s.node.Tainted,
		d.GPU.Status, d.GPU.Reason, d.NVLink.Status, d.NVLink.Reason)
	if d.Diag != "" {
		line += fmt.Sprintf(" diag=%s@%s", d.Diag, d.DiagAt)
	}
	if s.node.Diagnosing != "" {
		line += " diagnosing=" + s.node.Diagnosing
	}
	if n := s.node.Note; n != nil {
		line += fmt.Sprintf(" mark=%s/%s/%s", n.ID, n.Step, n.Owner)
		if n.Fence != "" {
			line += "/" + n.Fence
		}
	}
	for _, i := range s.plan.Incidents() {
		for _, step := range i.Steps {
			switch {
			case step.Status == Held:
				line += fmt.Sprintf(" held=%s/%s", i.Verdict.ID, step.Kind)
			case step.Status == Covered:
				line += fmt.Sprintf(" covered=%s/%s", i.Verdict.ID, step.Kind)
			}
		}
	}
	if line += fmt.Sprintf(" (write %d)", s.node.writes); line != s.said {
		fmt.Fprintf(&s.out, "+%-7v %s\n", s.now.Sub(s.start), line)
	}
	s.said = line
	s.tellAnswer()
	s.tellRepair()
	s.tellGuards()
	s.tellFences()
}
