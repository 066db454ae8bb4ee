package fault

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// cast is a replica of a scenario: what it says, until it says something else.
type cast struct {
	replica serving.Replica
	answer  serving.Answer
	alive   *bool
	started time.Time
	engines map[string]*role
}

// role is one engine's part. What it counts rises by its step at every look.
type role struct {
	serving.Reading
	steps map[string]float64
}

// replica reads "NAME MODEL GPU[,GPU…] [ENGINE…]": a GPU is its number among gpus, or
// a UUID. It says nothing yet.
func (s *stage) replica(n int, text string) {
	f := strings.Fields(text)
	if len(f) < 3 {
		s.t.Fatalf("line %d: not NAME MODEL GPUS: %q", n, text)
	}
	yes := true
	c := &cast{replica: serving.Replica{Name: f[0], UID: "uid-" + f[0], Life: "1", GPUs: uuids(f[2])}, alive: &yes, engines: map[string]*role{}}
	for _, name := range append(f[3:], "")[:max(1, len(f)-3)] {
		c.engines[name] = &role{Reading: serving.Reading{Engine: name, Model: f[1]}, steps: map[string]float64{}}
	}
	s.replicas[f[0]] = c
}

func uuids(text string) (found []string) {
	for _, g := range strings.Split(text, ",") {
		if _, err := strconv.Atoi(g); err == nil {
			g = "GPU-" + g
		}
		found = append(found, g)
	}
	return found
}

// job reads "NAME GPU[,GPU…]".
func (s *stage) job(text string) {
	name, gpus, _ := strings.Cut(text, " ")
	s.jobs = append(s.jobs, serving.Job{Name: name, UID: "uid-" + name, GPUs: uuids(gpus)})
}

// served reads what replicas begin to say, "NAME=[ENGINE/]SAYS[,…]…", and gives what
// all of them say.
func (s *stage) served(n int, text string) Served {
	for _, f := range strings.Fields(text) {
		name, says, _ := strings.Cut(f, "=")
		for _, what := range strings.Split(says, ",") {
			if what == "gone" {
				delete(s.replicas, name)
				s.jobs = slices.DeleteFunc(s.jobs, func(j serving.Job) bool { return j.Name == name })
			} else if c := s.replicas[name]; c == nil || !c.say(s.start, what) {
				s.t.Fatalf("line %d: not what replica %q says: %q", n, name, what)
			}
		}
	}
	served := Served{Jobs: s.jobs}
	for _, name := range slices.Sorted(maps.Keys(s.replicas)) {
		served.Scrapes = append(served.Scrapes, s.replicas[name].scrape(s.now))
	}
	return served
}

// say changes what a replica says: running, waiting, progress, finished and tokens
// with a number, or with "-" for unknown, or for the last three with "+" and by how
// much they rise at every look, of which whole numbers are told; paused, awake; lag with a time; answers, silent,
// refused, unreached, failed; alive, dead, nobody-knows; life:LIFE and started:SECONDS.
func (c *cast) say(start time.Time, what string) bool {
	engine, word, one := strings.Cut(what, "/")
	if !one {
		engine, word = "", what
	}
	word, value, _ := strings.Cut(word, ":")
	yes, no := true, false
	switch word {
	case "answers", "silent", "refused", "failed", "unreached":
		c.answer = map[string]serving.Answer{"answers": serving.Answered, "silent": serving.Silent, "refused": serving.Refused, "failed": serving.Failed, "unreached": serving.Unreached}[word]
	case "alive":
		c.alive = &yes
	case "dead":
		c.alive = &no
	case "nobody-knows":
		c.alive = nil
	case "life":
		c.replica.Life = value
	case "role":
		c.replica.Role = value
	case "started":
		d, err := time.ParseDuration(value)
		c.started = start.Add(d)
		return err == nil
	default:
		found := false
		for name, r := range c.engines {
			found = (!one || name == engine) && r.say(word, value) || found
		}
		return found
	}
	return true
}

func (r *role) say(word, value string) bool {
	yes, no := true, false
	switch word {
	case "paused":
		r.Paused = &yes
		return true
	case "awake":
		r.Paused = &no
		return true
	case "lag":
		d, err := time.ParseDuration(value)
		r.Lag = d
		return err == nil
	}
	at := r.counter(word)
	if at == nil {
		return false
	}
	if value == "-" {
		*at = nil
		return true
	}
	v, err := strconv.ParseFloat(strings.TrimPrefix(value, "+"), 64)
	if strings.HasPrefix(value, "+") {
		r.steps[word] = v
		v = 0
		if *at != nil {
			v = **at
		}
	}
	*at = &v
	return err == nil
}

func (r *role) counter(word string) **float64 {
	switch word {
	case "running":
		return &r.Running
	case "waiting":
		return &r.Waiting
	case "deferred":
		return &r.Deferred
	case "progress":
		return &r.Progress
	case "finished":
		return &r.Finished
	case "tokens":
		return &r.Tokens
	}
	return nil
}

// scrape is one look at the replica; one that is silent takes the whole deadline.
func (c *cast) scrape(now time.Time) serving.Scrape {
	sc := serving.Scrape{Replica: c.replica, Endpoint: "http://" + c.replica.Name + "/metrics", At: now, Took: 20 * time.Millisecond,
		Answer: c.answer, Alive: c.alive, Started: c.started, Dialect: "vllm"}
	if c.answer == serving.Silent {
		sc.At, sc.Took = now.Add(-5*time.Second), 5*time.Second
	}
	for _, name := range slices.Sorted(maps.Keys(c.engines)) {
		r := c.engines[name]
		for word, step := range r.steps {
			if at := r.counter(word); *at != nil {
				v := **at + step
				*at = &v
			}
		}
		if c.answer == serving.Answered {
			said := r.Reading
			for _, at := range []**float64{&said.Progress, &said.Finished, &said.Tokens} {
				if *at != nil {
					whole := math.Floor(**at)
					*at = &whole
				}
			}
			sc.Engines = append(sc.Engines, said)
		}
	}
	return sc
}

// serves reads "N EVERY [NAME=SAYS…] [| ADDRESS=STATE…]": N looks at the replicas,
// each with a poll of the GPUs.
func (s *stage) serves(n int, text string) {
	f := append(strings.Fields(text), "", "")
	times, _ := strconv.Atoi(f[0])
	every, err := time.ParseDuration(f[1])
	if err != nil {
		s.t.Fatalf("line %d: %v", n, err)
	}
	says, states, _ := strings.Cut(strings.Join(f[2:], " "), "|")
	for range times {
		s.step(Observation{Fact: s.inventory(n, states)})
		s.step(Observation{Fact: s.served(n, says)})
		s.now = s.now.Add(every)
		says = ""
	}
}

// does are what a GPU may do, as its poll shows it: percentages of time busy, of SM,
// tensor and DRAM activity, and watts of 700. A negative one is unknown.
var does = map[string][5]float64{
	"working":  {98, 70, 30, 45, 460},
	"prefill":  {100, 95, 80, 20, 650},
	"idle":     {0, 0, 0, 0, 118},
	"wedged":   {100, 18, 0, 0, 152},
	"ghost":    {100, 0, 0, 0, 120},
	"slowly":   {4, 2, 0.5, 1, 140},
	"locked":   {100, 0, 0, 0, 480}, // somebody else holds the profiler
	"ampere":   {100, -1, -1, -1, 150},
	"quietly":  {0, -1, -1, -1, 120}, // before Hopper
	"mig":      {-1, -1, -1, -1, 130},
	"spinning": {-1, 100, 0, 0, 130},
}

// setActivity puts a GPU to work, or not; instance:UUID gives it a MIG instance of which
// nothing is known, instance:UUID:WORK one that tells what it does.
func setActivity(g *GPUState, now time.Time, what string) bool {
	if instance, ok := strings.CutPrefix(what, "instance:"); ok {
		uuid, work, tells := strings.Cut(instance, ":")
		if !tells {
			work = "mig"
		}
		a, known := shows(now, work)
		g.Instances = append(g.Instances, InstanceState{UUID: uuid, Activity: serving.Activity{At: now, SM: a.SM, Tensor: a.Tensor, DRAM: a.DRAM}})
		return known
	}
	a, known := shows(now, what)
	if known {
		g.Activity = a
	}
	return known
}

func shows(now time.Time, what string) (serving.Activity, bool) {
	d, known := does[what]
	told := func(v float64) *float64 {
		if v < 0 {
			return nil
		}
		return &v
	}
	return serving.Activity{At: now, Busy: told(d[0]), SM: told(d[1]), Tensor: told(d[2]), DRAM: told(d[3]), Watts: told(d[4]), Limit: told(700)}, known
}

// score prints every replica's score with its parts.
func (s *stage) score() {
	for _, sc := range s.judge.Scores(s.now, nil) {
		fmt.Fprintf(&s.out, "+%-8v score of %s, %v:", s.now.Sub(s.start), sc.Replica.Name, sc.State)
		for _, part := range slices.Sorted(maps.Keys(sc.Parts)) {
			fmt.Fprintf(&s.out, " %s %.2f", part, sc.Parts[part])
		}
		s.out.WriteString("\n")
	}
}
