package dcgmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/diag"
)

// Task is what is to be diagnosed.
type Task struct {
	// Level is 1 to 4.
	Level int
	// GPUs are UUIDs. DCGM wants them all of one kind.
	GPUs []string
}

// Progress is how far a diagnosis is. dcgmi tells nothing before its end, so there
// is no test to name.
type Progress struct {
	// Waiting is what is waited for; empty while the diagnosis itself runs.
	Waiting string `json:"waiting,omitempty"`
	// Elapsed is since the waiting, or the diagnosis, began; AtMost its limit.
	Elapsed time.Duration `json:"elapsed"`
	AtMost  time.Duration `json:"atMost"`
	// Expected is how long the diagnosis itself takes at most, as seen elsewhere.
	Expected time.Duration `json:"expected"`
}

// Runner runs one diagnosis at a time.
type Runner struct {
	cfg Config
	// one is held by the call of Run that is under way.
	one sync.Mutex
	// stuck is a process that nothing ended.
	stuck *process
}

// New gives a runner. Nothing is run yet.
func New(cfg Config) *Runner { return &Runner{cfg: cfg} }

// Run diagnoses, and tells of its progress, never twice at once. It ends early when
// ctx does, and what ctx's cause says is then the reason. A finding is given for
// every GPU of the task whatever happens. A second Run beside one that is under way
// runs nothing.
func (r *Runner) Run(ctx context.Context, task Task, told func(Progress)) diag.Outcome {
	o := diag.Outcome{Level: task.Level, Began: time.Now()}
	for _, uuid := range task.GPUs {
		o.GPUs = append(o.GPUs, diag.GPU{ID: -1, UUID: uuid})
	}
	if !r.one.TryLock() {
		return notRun(o, "a diagnosis is running already")
	}
	defer r.one.Unlock()
	if r.stuck != nil && r.stuck.running() {
		o.Left = stuckText(r.stuck)
		return notRun(o, o.Left)
	}
	r.stuck = nil
	told(Progress{Waiting: "the DCGM engine to list its GPUs", AtMost: discoveryTime, Expected: diag.Expected(o.Level)})
	ids, err := r.discover(ctx)
	if r.stuck != nil {
		o.Left = stuckText(r.stuck)
	}
	switch {
	case ctx.Err() != nil:
		return stop(o, diag.Stop{Why: why(ctx)})
	case notInstalled(err):
		o.Unavailable = err.Error()
		return notRun(o, o.Unavailable)
	case err != nil:
		return notRun(o, err.Error())
	}
	known := number(o.GPUs, ids)
	if len(known) == 0 {
		return notRun(o, "the engine knows none of these GPUs")
	}
	r.patiently(ctx, &o, known, told)
	o.Findings = diag.Judge(o.Report, o.Level, o.GPUs)
	return o
}

// notInstalled tells whether an error is that there is no dcgmi to run.
func notInstalled(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// number gives the GPUs the engine's numbers, and those that it has as a list.
func number(gpus []diag.GPU, ids map[string]int) (known []string) {
	for i, g := range gpus {
		if id, ok := ids[g.UUID]; ok {
			gpus[i].ID = id
			known = append(known, strconv.Itoa(id))
		}
	}
	return known
}

// patiently diagnoses, again and again while the engine is busy with another's.
func (r *Runner) patiently(ctx context.Context, o *diag.Outcome, ids []string, told func(Progress)) {
	first := time.Now()
	for {
		r.once(ctx, o, ids, told)
		if !o.Report.Busy() || ctx.Err() != nil {
			return
		}
		left := r.cfg.Patience - time.Since(first)
		if left <= 0 {
			o.Report.Runtime = fmt.Sprintf("waited for %s: %s", time.Since(first).Round(time.Second), cmp.Or(o.Report.Runtime, o.Report.Said, "in use"))
			return
		}
		told(Progress{Waiting: "the DCGM engine, which is in use", Elapsed: time.Since(first), AtMost: r.cfg.Patience, Expected: diag.Expected(o.Level)})
		select {
		case <-time.After(min(r.cfg.Retry, left)):
		case <-ctx.Done():
			o.Report.Stopped = diag.Stop{Why: why(ctx)}
			return
		}
	}
}

// errLate is the cause where the deadline ended a diagnosis.
var errLate = errors.New("past its deadline")

// once is one call of dcgmi diag.
func (r *Runner) once(ctx context.Context, o *diag.Outcome, ids []string, told func(Progress)) {
	atMost := r.cfg.deadline(o.Level)
	ctx, cancel := context.WithTimeoutCause(ctx, atMost, errLate)
	defer cancel()
	o.Began = time.Now()
	quiet := r.tell(o.Level, o.Began, told)
	p, ended, err := r.call(ctx, "diag", "-r", strconv.Itoa(o.Level), "-j", "-i", strings.Join(ids, ","))
	quiet()
	o.Took = time.Since(o.Began)
	if err != nil {
		o.Report = diag.Report{Runtime: err.Error()}
		return
	}
	o.Left = left(p, ended)
	if err := p.flood(); err != nil {
		o.Report = diag.Report{Runtime: err.Error()}
		return
	}
	o.Report = diag.Report{Exit: -1}
	if !ended.stuck {
		o.Report = diag.Read(p.out.kept, p.exit())
	}
	if ctx.Err() == nil || len(o.Report.Runs) > 0 {
		return
	}
	o.Report.Stopped = diag.Stop{Why: why(ctx)}
	if errors.Is(context.Cause(ctx), errLate) {
		o.Report.Stopped = diag.Stop{Why: fmt.Sprintf("it did not end within %s", atMost), Late: true}
	}
}

// call runs dcgmi to its end.
func (r *Runner) call(ctx context.Context, args ...string) (p *process, ended end, err error) {
	p, err = start(r.cfg.argv(args...), r.cfg.Env)
	if err != nil {
		return nil, end{}, err
	}
	ended = p.wait(ctx, r.cfg.Grace)
	if ended.stuck {
		r.stuck = p
	}
	return p, ended, nil
}

// tell tells of the progress until it is told to be quiet.
func (r *Runner) tell(level int, began time.Time, told func(Progress)) (quiet func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(r.cfg.Every)
		defer ticker.Stop()
		for {
			told(Progress{Elapsed: time.Since(began), AtMost: r.cfg.deadline(level), Expected: diag.Expected(level)})
			select {
			case <-ticker.C:
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// left says what may still be going on.
func left(p *process, ended end) string {
	switch {
	case ended.stuck:
		return stuckText(p)
	case ended.killed:
		return "dcgmi had to be killed: the DCGM engine may be busy with the diagnosis still"
	}
	return ""
}

func stuckText(p *process) string {
	return fmt.Sprintf("dcgmi, process %d, is stuck in the kernel: not even SIGKILL ends it", p.cmd.Process.Pid)
}

func why(ctx context.Context) string { return context.Cause(ctx).Error() }

// notRun ends an outcome before dcgmi diag was run.
func notRun(o diag.Outcome, why string) diag.Outcome {
	o.Report = diag.Report{Runtime: why}
	o.Findings = diag.Judge(o.Report, o.Level, o.GPUs)
	return o
}

// stop is the same, called off.
func stop(o diag.Outcome, s diag.Stop) diag.Outcome {
	o.Report = diag.Report{Stopped: s}
	o.Findings = diag.Judge(o.Report, o.Level, o.GPUs)
	return o
}
