package repair

import (
	"context"
	"path/filepath"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/command"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
	"github.com/gpuhealthd/gpuhealthd/remediate/operands"
	"github.com/gpuhealthd/gpuhealthd/remediate/request"
)

// simple is a deed that leaves nothing to be put back.
type simple func(context.Context, remediate.Deed) remediate.Outcome

// Do does it.
func (f simple) Do(ctx context.Context, d remediate.Deed, _ remediate.Owe) remediate.Outcome {
	return f(ctx, d)
}

// Undo has nothing to do.
func (simple) Undo(context.Context, remediate.Deed) error { return nil }

// program has a site's own program do it.
func program(argv []string) agent.Doer {
	return simple(func(ctx context.Context, d remediate.Deed) remediate.Outcome { return command.Do(ctx, argv, d) })
}

// doers gives who does what; what is off is missing.
func (p *parts) doers() (map[remediate.StepKind]agent.Doer, error) {
	all := map[remediate.StepKind]agent.Doer{}
	for kind, make := range map[remediate.StepKind]func() (agent.Doer, error){
		remediate.StepDrain: p.drain, remediate.StepRestart: p.restart, remediate.StepReset: p.reset, remediate.StepReboot: p.reboot, remediate.StepDiag: p.diag,
	} {
		doer, err := make()
		if err != nil {
			return nil, err
		}
		if doer != nil {
			all[kind] = doer
		}
	}
	return all, nil
}

func (p *parts) drain() (agent.Doer, error) {
	switch p.Config.Drain.Mode {
	case remediate.MeansPods:
		if p.pods == nil {
			return nil, nil // without an API server there are no pods
		}
		return p.pods, nil
	case remediate.MeansSlurm:
		return simple(p.Slurm.Drain), nil
	case remediate.MeansCommand:
		return program(p.Config.Drain.Command), nil
	}
	return nil, nil
}

// restart is there in every mode of restarts: who is out of rotation is brought back by
// it.
func (p *parts) restart() (agent.Doer, error) {
	if p.pods == nil {
		return nil, nil
	}
	return p.pods, nil
}

func (p *parts) reset() (agent.Doer, error) {
	if p.Config.Reset.Mode != remediate.MeansCommand {
		return p.request(p.Config.Reset.Mode, p.Config.Reset.Resource)
	}
	r := &host.Reset{Config: p.host(), Children: children(p.Children), Holders: p.processes}
	if p.API == nil || !p.Config.Reset.PauseOperands {
		return r, nil
	}
	paused, err := operands.New(operands.Config{Node: p.Node, Labels: operands.Labels(), Wait: operandsWait}, p.client)
	r.Operands = paused
	return r, err
}

func (p *parts) reboot() (agent.Doer, error) {
	switch p.Config.Reboot.Mode {
	case remediate.MeansCommand:
		return &host.Reboot{Config: p.host()}, nil
	case remediate.MeansSlurm:
		return simple(p.rebootBySlurm), nil
	}
	return p.request(p.Config.Reboot.Mode, p.Config.Reboot.Resource)
}

// rebootBySlurm is a reboot by another command.
func (p *parts) rebootBySlurm(ctx context.Context, d remediate.Deed) remediate.Outcome {
	r := host.Reboot{Config: host.Config{Reboot: p.Slurm.Reboot(d)}}
	return r.Do(ctx, d, nil)
}

// request asks somebody else by way of the API.
func (p *parts) request(mode remediate.Means, path string) (agent.Doer, error) {
	if p.client == nil {
		return nil, nil // there is nobody to ask
	}
	var r *request.Request
	switch mode {
	case remediate.MeansAnnotation:
		r = request.Annotation(p.Node, p.client)
	case remediate.MeansResource:
		file, err := request.Load(path)
		if err != nil {
			return nil, err
		}
		custom, err := apiserver.NewCustom(p.API, p.Observe)
		if err != nil {
			return nil, err
		}
		r = request.Resource(p.Node, file, p.client, custom)
	default:
		return nil, nil
	}
	r.Children = children(p.Children)
	return r, nil
}

// host says how the host's programs are run.
func (p *parts) host() host.Config {
	c := host.Default()
	c.Devices = filepath.Join(p.Config.Dev, "nvidia")
	c.Prefix, c.SMI, c.Reboot = p.Config.Host, p.Config.Reset.Program, p.Config.Reboot.Command
	return c
}
