package remediate

import "time"

// decide settles what is under way. It is called after every input, and does
// nothing where nothing has changed. The order is that of urgency: a reboot ends
// all other repairs, a reset is short, a drain may take its time.
func (p *Plan) decide(now time.Time) {
	p.adapt(now)
	p.observe(now)
	p.relent(now)
	p.retry(now)
	p.yield(now)
	p.askAnew(now)
	p.domain(now)
	defer p.noteHolds(now)
	defer p.fence(now)
	if !p.policy.Repairs() {
		p.stand(now)
		p.consider(now)
		p.diagnose(now)
		return
	}
	p.forget(now)
	p.expire(now)
	p.climb(now)
	p.share(now)
	p.claim(now)
	p.block(now)
	p.stuck(now)
	p.abandon(now)
	p.exchanged(now)
	p.consider(now)
	p.giveRoom(now)
	if p.state.Deed == nil && p.sources.Store == "" {
		p.reboot(now)
	}
	if p.state.Deed == nil && p.sources.Store == "" {
		p.reset(now)
	}
	p.drain(now)
	p.restart(now)
	p.credit(now)
	p.diagnose(now)
	p.rotate(now)
	for _, i := range p.state.Open {
		if !i.Adopted && (i.standing() || i.awaits()) {
			p.place(now, i)
			p.remind(now, i)
		}
	}
}

// adapt looks anew at what is open where the site has changed the mode.
func (p *Plan) adapt(now time.Time) {
	if p.state.Mode == p.policy.modes() {
		return
	}
	p.state.Mode = p.policy.modes()
	for _, i := range p.live() {
		if i.ForIdle {
			p.disclaim(now, i)
		}
		i.Settling = time.Time{}
		p.place(now, i)
		p.act(now, i)
	}
}

// stand ends what an agent in mode repair has left behind, in the other modes.
func (p *Plan) stand(now time.Time) {
	defer p.rotate(now)
	d := p.state.Deed
	if d == nil || d.Undoing {
		return
	}
	if d.Watched || p.asked(d.ID) {
		p.expire(now)
	} else {
		p.callOff(now, Withdrawn)
	}
	for _, i := range p.live() {
		i.Settling = time.Time{}
		p.place(now, i)
	}
	p.share(now)
}

// climb gives up the incidents that nothing has helped.
func (p *Plan) climb(now time.Time) {
	for _, i := range p.live() {
		if i.Replacement == nil && !p.inRepair(now, i) && p.rung(now, i) == StepReplace && p.admits(now, i) {
			p.fail(now, i)
			i.want(now, StepCordon, Pending)
		}
	}
}

// abandon calls off a request to others for a repair that nobody wants any more.
// What the agent does itself runs to its end.
func (p *Plan) abandon(now time.Time) {
	d := p.state.Deed
	if d == nil || d.Undoing || d.moves() || d.Kind == StepDiag || !d.Resumable {
		return
	}
	for _, i := range p.served(&d.Deed) {
		if i.standing() {
			return
		}
	}
	p.callOff(now, Withdrawn)
}

// giveRoom calls off a diagnosis or a restart that another repair would have to wait
// for.
func (p *Plan) giveRoom(now time.Time) {
	d := p.state.Deed
	if d == nil || d.Undoing || d.Watched || p.sources.Store != "" {
		return
	}
	next, _ := p.nextRestart(now)
	switch {
	case d.Kind == StepDiag && (next != nil || p.urgent(now)):
		p.stopDiag(now, "another repair comes first", false)
	case d.Kind == StepRestart && p.urgent(now):
		p.callOff(now, Planned)
	}
}
