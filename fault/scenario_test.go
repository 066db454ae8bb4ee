package fault

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// TestScenarios plays testdata/*.txt and compares the verdicts with the .want
// file beside each. A line is a time since the start, a word and its text:
//
//	+25ms kernel NVRM: Xid …      a line heard live
//	+0s   backlog NVRM: Xid …     a line older than the agent
//	+0s   trace BUG: soft …       a line that is no event by itself, but may
//	                              complete one
//	+0s   late N NVRM: Xid …      a line that was lost, found again as record N
//	+0s   service UNIT TEXT       what a service says of itself, or systemd
//	                              (started, failed) of it
//	+0s   boot ID                 this boot's id
//	+0s   gpus ADDRESS…           the node's GPUs, for poll
//	+0s   bus ADDRESS=DRIVER[,dead]…   what the PCI bus lists, for poll
//	+0s   expect N                how many GPUs the node must have; comes first
//	+5s   poll [ADDRESS=STATE…]   lost, failed, recovery:N, … (see set)
//	+5s   polls N EVERY [ADDRESS=STATE…]   N polls alike; the address may be all,
//	                              and aside:CALL is a call beside the polls that
//	                              does not return, unnamed:STATE one more GPU, which
//	                              has not told who it is: lost, stuck or failed
//	+0s   nvlink GENERATION LINKS hgx|rack|none   what the GPUs' NVLinks are like
//	                              (see setLink for the states of a poll)
//	+5s   hung ADDRESS CALL       a call past its deadline
//	+5s   blind|mismatch TEXT     the driver cannot be asked
//	+5s   released ID             a person put the node back to service
//	+5s   reset ADDRESS…          somebody has reset the GPUs
//	+5s   diagnosed ADDRESS       the GPU has failed a diagnosis
//	+5s   replaced                other GPUs sit at the same addresses
//	+5s   renewed                 the child was started anew, for the polls to come
//	+0s   missing ADDRESS…        GPUs that an earlier life listed, for poll: not now
//	+24h  tick                    time passes
//	+0s   hears                   neighbours can be heard; comes first
//	+1s   heard [NODE[=SAYS[,SAYS…]]…]   all that the domain says: down:LINK,
//	                              all-down, root:GPU, echoes:N, training
//	+1s   says                    prints what the node tells the domain, and
//	                              whether it listens
//	+0s   manager yes|no          whether a fabric manager is among the processes
//	+0s   imex [runs|gone] [ready|waiting] [users:N] [dcgm]   a look at IMEX
//	+0s   replica NAME MODEL GPU[,GPU…] [ENGINE…]   a replica of a serving engine
//	+0s   job NAME GPU[,GPU…]     work that holds GPUs and has no engine
//	+5s   served [NAME=SAYS[,SAYS…]…]   one look at all replicas (see cast.say); gone is
//	                              one that is there no more
//	+5s   serves N EVERY [NAME=SAYS…] [| ADDRESS=STATE…]   N such looks, each with a
//	                              poll (see does for what GPUs do)
//	+5s   score                   prints the replicas' scores
//	+5s   groups [NAME ROLE:WORKER=LIFE[@GPU]…]   one look at disaggregated serving (see
//	                              stage.groups)
//	+5s   stale                   prints whom a loss there has left, and what it strands
//	+0s   restarts-stale [SETTLE LIMIT]   stale workers are restarted, once no rollout goes on;
//	                              comes first
//	+0s   restart                 the agent is restarted from its snapshot
func TestScenarios(t *testing.T) {
	golden.Each(t, "testdata/*.txt", play)
}

// stage plays one scenario.
type stage struct {
	t     *testing.T
	cfg   Config
	judge *Judge
	start time.Time
	now   time.Time
	seq   uint64
	stuck xidparse.Stuck
	gpus  []xidparse.PCI
	bus   []BusDevice
	// wired gives each GPU its healthy NVLinks, nil where polls do not tell.
	wired func(i int) *nvlink.Reading
	// renewed says that the child was started anew.
	renewed bool
	missing []Device
	// swapped counts how often all GPUs were exchanged for new ones.
	swapped int
	// replicas and jobs are for served.
	replicas map[string]*cast
	jobs     []serving.Job
	out      strings.Builder
}

var testConfig = Config{CleanPolls: 3, Fresh: 10 * time.Second}

func play(t *testing.T, in []byte) string {
	s := &stage{t: t, cfg: testConfig, judge: New(testConfig), start: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC),
		replicas: map[string]*cast{}}
	sc := bufio.NewScanner(bytes.NewReader(in))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at, rest, _ := strings.Cut(line, " ")
		d, err := time.ParseDuration(strings.TrimPrefix(at, "+"))
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		s.now = s.start.Add(d)
		word, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
		s.do(n, word, strings.TrimSpace(text))
	}
	return s.out.String()
}

func (s *stage) do(n int, word, text string) {
	switch word {
	case "boot":
		s.seq = 0
		s.step(Observation{Fact: Boot{ID: text}})
	case "kernel", "backlog":
		s.seq++
		ev, ok := xidparse.Parse(text)
		if !ok {
			s.t.Fatalf("line %d: not the driver's: %q", n, text)
		}
		s.step(Observation{Sequence: s.seq, Backlog: word == "backlog", Fact: Heard{Event: ev}})
	case "trace":
		s.seq++
		if ev, began, ok := s.stuck.Line(s.seq, []byte(text)); ok {
			s.step(Observation{Sequence: began, Fact: Heard{Event: ev}})
		}
	case "late":
		number, text, _ := strings.Cut(text, " ")
		seq, err := strconv.ParseUint(number, 10, 64)
		ev, ok := xidparse.Parse(text)
		if err != nil || !ok {
			s.t.Fatalf("line %d: not a number and the driver's line: %q", n, text)
		}
		s.step(Observation{Sequence: seq, Late: true, Fact: Heard{Event: ev}})
	case "service":
		s.step(Observation{Fact: Service{s.said(n, text)}})
	case "gpus":
		for _, a := range strings.Fields(text) {
			s.gpus = append(s.gpus, s.pci(n, a))
		}
	case "poll":
		s.step(Observation{Fact: s.inventory(n, text)})
	case "polls":
		f := append(strings.Fields(text), "", "")
		times, _ := strconv.Atoi(f[0])
		d, err := time.ParseDuration(f[1])
		if err != nil {
			s.t.Fatalf("line %d: %v", n, err)
		}
		for range times {
			s.step(Observation{Fact: s.inventory(n, strings.Join(f[2:], " "))})
			s.now = s.now.Add(d)
		}
	case "bus":
		s.bus = nil
		for _, f := range strings.Fields(text) {
			address, what, _ := strings.Cut(f, "=")
			driver, dead, _ := strings.Cut(what, ",")
			s.bus = append(s.bus, BusDevice{PCI: s.pci(n, address), Driver: driver, Dead: dead == "dead"})
		}
	case "expect":
		s.cfg.Expect, _ = strconv.Atoi(text)
		s.judge = New(s.cfg)
	case "hears":
		s.cfg.Correlate = DefaultCorrelate
		s.judge = New(s.cfg)
	case "heard":
		s.step(Observation{Fact: Neighbours{s.heard(n, text)}})
	case "says":
		fmt.Fprintf(&s.out, "+%-8v says %q, listens to %q\n", s.now.Sub(s.start), s.judge.Summary().Text(), s.judge.Listens())
	case "manager":
		s.step(Observation{Fact: Manager{Runs: text == "yes"}})
	case "imex":
		s.step(Observation{Fact: s.looked(n, text)})
	case "nvlink":
		s.wired = s.wiring(n, text)
	case "hung":
		address, call, _ := strings.Cut(text, " ")
		s.step(Observation{Fact: Hung{Device: Device{PCI: s.pci(n, address)}, Call: call, For: 10 * time.Second}})
	case "blind", "mismatch":
		s.step(Observation{Fact: Blind{Why: text, Mismatch: word == "mismatch"}})
	case "released":
		s.step(Observation{Fact: Released{ID: text}})
	case "reset":
		var r Repaired
		for _, a := range strings.Fields(text) {
			r.GPUs = append(r.GPUs, Device{PCI: s.pci(n, a)})
		}
		s.step(Observation{Fact: r})
	case "renewed":
		s.renewed = true
	case "missing":
		s.missing = nil
		for i, a := range strings.Fields(text) {
			s.missing = append(s.missing, Device{PCI: s.pci(n, a), UUID: fmt.Sprintf("GPU-missing-%d", i)})
		}
	case "diagnosed":
		s.step(Observation{Fact: Diagnosed{GPU: Device{PCI: s.pci(n, text)}}})
	case "replaced":
		s.swapped++
	case "replica":
		s.replica(n, text)
	case "job":
		s.job(text)
	case "served":
		s.step(Observation{Fact: s.served(n, text)})
	case "serves":
		s.serves(n, text)
	case "score":
		s.score()
	case "groups":
		s.step(Observation{Fact: s.groups(n, text)})
	case "stale":
		s.stale()
	case "restarts-stale":
		s.cfg.RestartStale = true
		s.cfg.Rollout = rollout(s.t, n, text)
		s.judge = New(s.cfg)
	case "tick":
		s.print(s.judge.Tick(s.now))
	case "restart":
		saved, err := s.judge.Snapshot()
		if err != nil {
			s.t.Fatal(err)
		}
		if s.judge, err = Restore(s.cfg, saved); err != nil {
			s.t.Fatal(err)
		}
	default:
		s.t.Fatalf("line %d: unknown word %q", n, word)
	}
}

func (s *stage) pci(n int, text string) xidparse.PCI {
	p, ok := xidparse.ParsePCI(text)
	if !ok {
		s.t.Fatalf("line %d: not an address: %q", n, text)
	}
	return p
}

// inventory is a poll: every GPU in order, but for those that text names, as
// ADDRESS=STATE[,STATE…].
func (s *stage) inventory(n int, text string) Inventory {
	inv := Inventory{Bus: s.bus, Renewed: s.renewed, Missing: s.missing}
	state := map[xidparse.PCI]string{}
	for _, f := range strings.Fields(text) {
		address, what, _ := strings.Cut(f, "=")
		if call, aside := strings.CutPrefix(f, "aside:"); aside {
			inv.Stuck = &Hung{Call: call, For: 10 * time.Second}
		} else if how, unnamed := strings.CutPrefix(f, "unnamed:"); unnamed {
			inv.Unnamed = append(inv.Unnamed, Unnamed{Why: "index 2 " + how, Lost: how == "lost", Stuck: how == "stuck"})
		} else if address == "all" {
			for _, p := range s.gpus {
				state[p] = what
			}
		} else {
			state[s.pci(n, address)] = what
		}
	}
	for i, p := range s.gpus {
		g := healthyGPU(p, i+10*s.swapped)
		if s.wired != nil {
			g.NVLink = s.wired(i)
		}
		gone := false
		for _, what := range strings.Split(state[p], ",") {
			if what == "gone" {
				gone = true
			} else if !set(&g, what) && !setActivity(&g, s.now, what) {
				s.t.Fatalf("line %d: unknown state %q", n, what)
			}
		}
		if !gone {
			inv.GPUs = append(inv.GPUs, g)
		}
	}
	return inv
}

func healthyGPU(p xidparse.PCI, i int) GPUState {
	none, no, zero, busy, banks := 0, false, uint64(0), true, 0
	cool, slowdown, shutdown, margin := 40, 87, 92, 47
	return GPUState{Device: Device{PCI: p, UUID: fmt.Sprintf("GPU-%d", i)}, Recovery: &none,
		Memory:  ecc.Reading{Corrected: &zero, Uncorrected: &zero, Threshold: &no, Pending: &no, Failed: &no, LowBanks: &banks, Busy: &busy},
		Answers: map[string]bool{"remap": true, "temp": true, "power": true},
		Heat:    Heat{GPU: &cool, Slowdown: &slowdown, Shutdown: &shutdown, Margin: &margin},
		Width:   16, MaxWidth: 16, Generation: 5, MaxGeneration: 5, Replays: &zero}
}

// set puts a GPU into a state; false where there is no such state.
func set(g *GPUState, what string) bool {
	word, text, _ := strings.Cut(what, ":")
	number, _ := strconv.Atoi(text)
	count, yes := uint64(number), true
	switch word {
	case "unknown":
		g.Answers[text] = false
	case "no-answer":
		delete(g.Answers, text)
	case "retired":
		g.Memory.Failed, g.Memory.Retired = nil, &ecc.Retired{DoubleBit: &number}
	case "temp":
		g.Heat.GPU = &number
	case "margin":
		g.Heat = Heat{Margin: &number}
	case "no-temp":
		g.Heat.GPU = nil
	case "replays":
		g.Replays = &count
	case "", "ok":
	case "lost":
		g.Lost = true
	case "failed":
		g.Failed = "unknown error"
	case "stuck":
		g.Failed, g.Stuck = "a call does not return", true
	case "recovery":
		g.Recovery = &number
	case "pending":
		g.Memory.Pending = &yes
	case "remap-failed":
		g.Memory.Failed = &yes
	case "corrected":
		g.Memory.Corrected = &count
	case "uncorrected":
		g.Memory.Uncorrected = &count
	case "sram":
		g.Memory.Threshold = &yes
	case "low-banks":
		g.Memory.LowBanks = &number
	case "ecc-error":
		g.Memory.Corrected, g.Memory.Uncorrected, g.Memory.Error = nil, nil, true
	case "hot":
		g.Slowed.Thermal = true
	case "braked":
		g.Slowed.PowerBrake = true
	case "width":
		g.Width = number
	default:
		return g.NVLink != nil && setLink(g.NVLink, word, text) || word == "jobs" && setJobs(g, number)
	}
	return true
}

func (s *stage) step(o Observation) { s.print(s.judge.Step(s.now, o)) }

func (s *stage) print(vs []Verdict) {
	for _, v := range vs {
		fmt.Fprintf(&s.out, "+%-8v %s %s: %s, radius %s", s.now.Sub(s.start), v.ID, v.Class, v.Action, v.Radius)
		if len(v.GPUs) > 0 {
			fmt.Fprintf(&s.out, ", on %v", v.GPUs)
		}
		if len(v.Affected) > 1 {
			fmt.Fprintf(&s.out, ", %d GPUs inside", len(v.Affected))
		}
		if v.Hard {
			s.out.WriteString(", hard")
		}
		if v.Drain != DrainNever {
			fmt.Fprintf(&s.out, ", drain %s", v.Drain)
		}
		if v.Diag > 0 {
			fmt.Fprintf(&s.out, ", diag %d", v.Diag)
		}
		if v.Later != None {
			fmt.Fprintf(&s.out, ", later %s", v.Later)
		}
		for _, w := range v.Workloads {
			fmt.Fprintf(&s.out, ", of %s", w.Name)
		}
		if v.Anew {
			s.out.WriteString(", anew")
		}
		if v.Root != "" {
			fmt.Fprintf(&s.out, ", root %s", v.Root)
		}
		fmt.Fprintf(&s.out, "\n          %s\n", v.Reason)
	}
}

// said reads "UNIT started", "UNIT failed", or a unit's line.
func (s *stage) said(n int, text string) services.Event {
	unit, text, _ := strings.Cut(text, " ")
	unit += ".service"
	switch text {
	case "started":
		return services.Event{Unit: unit, Kind: services.KindStarted, Text: text}
	case "failed":
		return services.Event{Unit: unit, Kind: services.KindFailed, Text: unit + ": Failed with result 'exit-code'."}
	}
	e, ok := services.Line(unit, text)
	if !ok {
		s.t.Fatalf("line %d: nothing that a service says: %q", n, text)
	}
	return e
}
