package remediate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// By says who asks for a diagnosis.
type By string

// Who may ask.
const (
	ByHand       By = "hand"
	ByAnnotation By = "annotation"
	BySchedule   By = "schedule"
)

// Asking is a diagnosis that somebody asks for, for no incident. It takes no node
// out of service, and stops for work as any other.
type Asking struct {
	ID string `json:"id"`
	By By     `json:"by"`
	// Level is 1, 2 or 3.
	Level int            `json:"level"`
	GPUs  []fault.Device `json:"gpus"`
	At    time.Time      `json:"at"`
	// Until is when it has to have begun: its GPUs are waited for so long.
	Until time.Time `json:"until"`
	// Deed is the diagnosis that serves it, once that has begun.
	Deed string `json:"deed,omitempty"`
	// NotRun are GPUs that were asked for as well and were not free by then, each with
	// why.
	NotRun []Checked `json:"notRun,omitempty"`
}

// Answer is what came of one.
type Answer struct {
	Asking
	Ended time.Time `json:"ended"`
	// Check is the worst that was found.
	Check Check `json:"check"`
	// Text says why it is not pass.
	Text    string    `json:"text,omitempty"`
	Checked []Checked `json:"checked,omitempty"`
}

// RequestError says what is wrong with a request, whenever it is made.
type RequestError string

func (e RequestError) Error() string { return string(e) }

// wrong is such an error.
func wrong(format string, args ...any) error { return RequestError(fmt.Sprintf(format, args...)) }

// checkLevel refuses a level that is none.
func checkLevel(level int) error {
	if level < 1 || level > 3 {
		return wrong("level %d is not 1, 2 or 3", level)
	}
	return nil
}

// Diagnose asks for a diagnosis of some GPUs, by UUID, or of all. The error says
// why there will be none.
func (p *Plan) Diagnose(now time.Time, by By, level int, uuids []string) (id string, err error) {
	ds, err := p.named(uuids)
	switch wrong := checkLevel(level); {
	case p.policy.Diag.Mode != MeansCommand:
		err = errors.New("this agent runs no diagnosis: repair.diag.mode is off")
	case wrong != nil:
		err = wrong
	case p.sources.Store != "":
		err = errors.New(p.sources.Store)
	case p.state.Asking != nil:
		err = fmt.Errorf("another diagnosis is asked for already: %s", p.state.Asking.ID)
	}
	if err != nil {
		return "", err
	}
	p.wish(now, by, level, ds)
	id = p.state.Asking.ID
	p.decide(now)
	return id, nil
}

// wish puts down what is asked for.
func (p *Plan) wish(now time.Time, by By, level int, ds []fault.Device) {
	p.state.Serial++
	p.state.Asking = &Asking{ID: fmt.Sprintf("%s-%d", by, p.state.Serial), By: by, Level: level, GPUs: ds, At: now,
		Until: now.Add(max(p.policy.Unreachable, stale))}
}

// named finds GPUs by UUID; none gives all.
func (p *Plan) named(uuids []string) ([]fault.Device, error) {
	if len(p.sources.GPUs) == 0 {
		return nil, errors.New("no GPU has answered")
	}
	if len(uuids) == 0 {
		return union(p.sources.GPUs), nil
	}
	var ds []fault.Device
	for _, uuid := range uuids {
		n := slices.IndexFunc(p.sources.GPUs, func(g fault.Device) bool { return strings.EqualFold(g.UUID, uuid) })
		if n < 0 || uuid == "" {
			return nil, wrong("no GPU that answers has the UUID %q", uuid)
		}
		ds = append(ds, p.sources.GPUs[n])
	}
	return union(ds), nil
}

// Asking gives what is asked for at present, nil for nothing, and Answer what came
// of the last.
func (p *Plan) Asking() *Asking {
	if p.state.Asking == nil {
		return nil
	}
	a := *p.state.Asking
	return &a
}

// Answer gives what came of the last diagnosis that was asked for, nil for none.
func (p *Plan) Answer() *Answer { return p.state.Answer }

// annotated takes in the annotation that asks for a diagnosis. What was taken is
// not taken again before it is gone.
func (p *Plan) annotated(now time.Time, text string) {
	if text == p.state.Taken || text != "" && (p.sources.Store != "" || !p.sources.Polled) {
		return
	}
	if p.state.Taken = text; text == "" {
		return
	}
	if err := p.heed(now, text); err != nil {
		p.each(now, Event{Type: "Warning", Reason: "DiagRefused", Message: fmt.Sprintf("no diagnosis by %s=%.40q: %v", AskAnnotation, text, err)})
	}
}

// AskNoMore is the annotation's value that takes back what is asked for.
const AskNoMore = "cancel"

// heed does what the annotation asks for.
func (p *Plan) heed(now time.Time, text string) error {
	if text == AskNoMore {
		_, err := p.Cancel(now)
		return err
	}
	level, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("it is neither a level, 1, 2 or 3, nor %s", AskNoMore)
	}
	_, err = p.Diagnose(now, ByAnnotation, level, nil)
	return err
}

// asked says whether a deed serves what somebody asks for.
func (p *Plan) asked(deed string) bool { return p.state.Asking != nil && p.state.Asking.Deed == deed }

// unask takes back that a deed serves what somebody asks for.
func (p *Plan) unask(deed string) {
	if p.asked(deed) {
		p.state.Asking.Deed = ""
	}
}

// askedToo adds what somebody asks for to the diagnosis that is due, once its GPUs
// are known to be free.
func (p *Plan) askedToo(now time.Time, d *Deed) {
	if a := p.state.Asking; a != nil && a.Deed == "" && p.freeToDiagnose(now, a.GPUs, a.At) {
		d.GPUs, d.Level = union(d.GPUs, a.GPUs), max(d.Level, a.Level)
	}
}

// diagWatches gives the GPUs of which it has to be known who holds them, for a
// diagnosis, and since when.
func (p *Plan) diagWatches(now time.Time) (gpus []fault.Device, since time.Time) {
	gpus = []fault.Device{}
	for _, i := range p.state.Open {
		if p.wantsDiag(now, i) > 0 {
			gpus, since = union(gpus, p.diagScope(i)), later(since, later(i.Due, i.Seen))
		}
	}
	if d := p.state.Deed; d != nil && d.Kind == StepDiag {
		gpus = union(gpus, d.GPUs)
	}
	if a := p.state.Asking; a != nil {
		gpus, since = union(gpus, a.GPUs), later(since, a.At)
	}
	if p.due(now) {
		gpus = union(gpus, p.sources.GPUs)
	}
	return gpus, since
}
