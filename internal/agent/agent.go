package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/collector/pci"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Actuator makes the Node say what the plan wants. Both methods may be called
// any number of times with the same argument.
type Actuator interface {
	Apply(ctx context.Context, want remediate.Desired) (remediate.Observed, error)
	Emit(ctx context.Context, e remediate.Event) error
}

// Watcher tells of changes that others make to the Node.
type Watcher interface {
	Watch(ctx context.Context, changed func())
}

// Driver asks the GPUs; nil where nobody does.
type Driver interface {
	Run(ctx context.Context, out func(nvml.Report)) error
	Poll()
	Restart()
}

// hearer hears the kernel log: a kernlog.Log.
type hearer interface {
	Run(ctx context.Context, handle func(kernlog.Batch) error) error
	Hearing() kernlog.Hearing
}

// Options are what an Agent is made of.
type Options struct {
	Log    *slog.Logger
	Policy remediate.Policy
	Judge  fault.Config
	Kernel kernlog.Config
	Driver Driver
	// Engine may be nil.
	Engine Engine
	// Bus lists the GPUs on the PCI bus; nil where nobody asks it.
	Bus      func() ([]pci.Device, error)
	Actuator Actuator
	// ActuatorName is what the configuration calls it.
	ActuatorName string
	// Watcher may be nil.
	Watcher Watcher
	// Replicas asks the serving engines; nil where nobody does.
	Replicas Replicas
	// Peers follows the groups of disaggregated serving, Marker says on pods what came
	// of them; nil where nobody does.
	Peers  Peers
	Marker Marker
	// Fleet asks for the latencies of all replicas of the fleet of the models that are
	// served here; nil where nobody is asked. An error says why some are not known.
	Fleet func(context.Context) (serving.Fleet, error)
	// Unfound gives the replicas that somebody has named and that are not found as it
	// was meant; nil where nobody looks.
	Unfound func() []Unfound
	// Rotation lets replicas have requests or not; nil where there are none.
	Rotation Rotation
	// Release takes back what Rotation of an agent before has done; nil where it goes on.
	Release func(context.Context) error
	// Canary asks replicas; nil where none does.
	Canary Canary
	// Neighbours hears the other nodes of the NVLink domain; nil where nobody can.
	Neighbours Domain
	// Workloads names what works on the node's GPUs; nil where nobody can tell.
	Workloads func(context.Context) ([]string, error)
	// Managed says whether a fabric manager runs on the node; nil where nobody can
	// tell.
	Managed func() (bool, error)
	// IMEX looks at IMEX; nil where nobody can. An error says why a part is unknown.
	IMEX func(context.Context) (fault.IMEX, error)
	// Doers do the plan's deeds; of a kind that is missing nobody here does any.
	Doers map[remediate.StepKind]Doer
	// Occupant tells who holds GPUs; nil where the plan never has to know.
	Occupant Occupant
	// Group is asked for leave; nil where there is none to ask.
	Group Group
	// Fencer fences devices by themselves; nil where nobody can. FenceDelay bounds the
	// random time after which it is first asked where no fence is wanted.
	Fencer     Fencer
	FenceDelay time.Duration
	// CapacityOff is why no guard looks at the load; empty where one does.
	CapacityOff string
	// Reset says how far a reset reaches.
	Reset ResetScope
	// StatePath is the store's file; empty is an agent without memory, which leaves
	// nothing behind.
	StatePath string
	// Grace is how long a driver that does not answer is no fault yet.
	Grace time.Duration
	// Metrics counts what happens.
	Metrics *Metrics
	// Missing gives the programs that are named and cannot be run; nil where nobody
	// looks.
	Missing func() []MissingProgram
	// Evidence keeps what incidents leave; nil keeps nothing.
	Evidence Archive
	// Version is the agent's, Name the Node's, Slots name the physical slots by what
	// sits in them: for evidence.
	Version, Name string
	Slots         map[xidparse.PCI]string
}

// Agent is the daemon.
type Agent struct {
	opts   Options
	log    *slog.Logger
	core   *core
	reader hearer
	apply  *applier
	tell   *teller
	do     *doer
	look   *looker
	listen *listener
	guard  *guardian
	mark   *marker
	rotate *rotator
	// work, imex and fleet are the looks at what works on the GPUs, at IMEX, and at the
	// fleet's latencies.
	work, imex, fleet *rounds
	fencer            *fencer
}

// New makes an agent and reads its memory. A memory that cannot be used is no
// error: the agent then detects and contains, holds what is destructive, and
// says so.
func New(opts Options) (*Agent, error) {
	boot, err := kernlog.BootID(opts.Kernel.BootIDPath)
	if err != nil {
		return nil, err
	}
	c := newCore(opts, boot)
	opts.Kernel.From = c.memory.mark
	reader, err := kernlog.New(opts.Kernel)
	if err != nil {
		return nil, fmt.Errorf("open the kernel log: %w", err)
	}
	a := &Agent{opts: opts, log: opts.Log, core: c, reader: reader}
	a.apply, a.tell = newApplier(opts, c), newTeller(opts, c)
	a.do, a.look = newDoer(opts, c), newLooker(opts, c)
	a.listen = newListener(opts, c)
	a.guard, a.fencer = newGuardian(opts, c), newFencer(opts, c)
	a.mark = newMarker(opts)
	a.rotate = newRotator(opts)
	a.work, a.imex = newRounds(c, workEvery, workLimit, a.works), newRounds(c, imexEvery, imexLimit, a.lends)
	a.fleet = newRounds(c, fleetEvery, fleetLimit, a.compares)
	c.hearing = a.hearing
	c.publish = func(w wishes) {
		a.apply.want(w.node)
		a.tell.have(w.events)
		a.look.want(w.watches, w.since)
		a.do.want(w.deed)
		a.listen.want(w.domain)
		a.guard.want(w.asks, w.leave, w.turn)
		a.mark.want(w.marks)
		a.work.want(w.racked && opts.Workloads != nil)
		a.imex.want(w.lends && opts.IMEX != nil)
		a.fencer.wants(w.fences, w.fencesKnown)
		a.fleet.want(w.serves && opts.Fleet != nil)
		a.rotate.want(w.stands, w.looks)
	}
	if opts.Driver != nil {
		c.poll, c.restart = opts.Driver.Poll, opts.Driver.Restart
	}
	return a, nil
}

// Run works until ctx is done. It returns an error only where the agent cannot
// go on.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		if err := a.reader.Run(ctx, a.hear(ctx)); err != nil && !errors.Is(err, context.Canceled) {
			failed = fmt.Errorf("kernel log: %w", err)
			cancel()
		}
	})
	if a.opts.Driver != nil {
		wg.Go(func() {
			if err := a.opts.Driver.Run(ctx, a.ask(ctx)); err != nil {
				a.log.Error("the NVML child is left behind", "error", err)
			}
		})
	}
	if a.opts.Engine != nil {
		wg.Go(func() {
			err := a.opts.Engine.Run(ctx, func(r dcgm.Report) { a.core.tell(ctx, consulted{r}) })
			if err != nil {
				a.log.Error("the DCGM child is left behind", "error", err)
			}
		})
	}
	if a.opts.Watcher != nil {
		wg.Go(func() { a.opts.Watcher.Watch(ctx, a.apply.poke) })
	}
	wg.Go(func() { a.follow(ctx) })
	before := a.core.judge.Groups()
	wg.Go(func() { a.followGroups(ctx, before) })
	wg.Go(func() { a.mark.run(ctx) })
	wg.Go(func() { a.apply.run(ctx) })
	wg.Go(func() { a.tell.run(ctx) })
	wg.Go(func() { a.do.run(ctx) })
	wg.Go(func() { a.look.run(ctx) })
	wg.Go(func() { a.listen.run(ctx) })
	wg.Go(func() { a.work.run(ctx) })
	wg.Go(func() { a.imex.run(ctx) })
	wg.Go(func() { a.fleet.run(ctx) })
	wg.Go(func() { a.rotate.run(ctx) })
	if a.opts.Release != nil {
		wg.Go(func() { a.release(ctx) })
	}
	if a.opts.Canary != nil {
		wg.Go(func() { a.askReplicas(ctx) })
	}
	if a.opts.Group != nil {
		wg.Go(func() { a.guard.run(ctx) })
	}
	if a.opts.Fencer != nil {
		wg.Go(func() { a.fencer.run(ctx) })
	}
	if w := a.core.witness; w != nil {
		wg.Go(func() { w.keep.run(ctx) })
	}
	a.core.run(ctx)
	wg.Wait()
	if w := a.core.witness; w != nil {
		w.keep.end()
	}
	return errors.Join(failed, a.core.memory.end())
}

func (a *Agent) hearing() kernlog.Hearing { return a.reader.Hearing() }

// GPUs are those that are known, the lost ones too, with what the last poll said of
// those that it named.
func (a *Agent) GPUs() []nvml.GPU {
	var all []nvml.GPU
	listed := a.core.listedGPUs.Load()
	for _, g := range a.core.shown.Load().GPUs {
		known := nvml.GPU{Index: -1, Identity: g.Identity}
		if listed != nil {
			for _, l := range *listed {
				if l.UUID == g.UUID {
					known = l
				}
			}
		}
		all = append(all, known)
	}
	return all
}

// Status is the agent's present state, for people and for readiness.
func (a *Agent) Status() Status { return a.core.status() }
