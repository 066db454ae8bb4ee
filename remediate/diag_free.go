package remediate

import (
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Diagnoses says whether the holder is a diagnosis of DCGM's, whoever has begun it:
// another is not begun beside it, be it a service or not. One's own is seen as well,
// and is no reason to stop it.
func (h Holder) Diagnoses() bool { return h.Process == "nvvs" || h.Process == "dcgmi" }

// freeToDiagnose is free where no diagnosis of anybody's runs on the GPUs either.
func (p *Plan) freeToDiagnose(now time.Time, ds []fault.Device, since time.Time) bool {
	return p.free(now, ds, since) && len(p.diagnosers(ds)) == 0
}

// diagnosers gives the diagnoses that hold any of the GPUs and are no work.
func (p *Plan) diagnosers(ds []fault.Device) (hs []Holder) {
	if p.occupied == nil {
		return nil
	}
	for _, h := range p.occupied.Holders {
		on := func(d fault.Device) bool { return h.GPU == "" || p.uuid(d) == h.GPU }
		if h.Service && h.Diagnoses() && slices.ContainsFunc(ds, on) {
			hs = append(hs, h)
		}
	}
	return hs
}

// whoHolds says which of the GPUs are held, and by whom, or that nobody can tell.
func (p *Plan) whoHolds(ds []fault.Device) string {
	var all []string
	for len(ds) > 0 && p.occupied != nil && p.occupied.Unknown == "" {
		who := p.heldAs(ds[0])
		n := 1
		for n < len(ds) && p.heldAs(ds[n]) == who {
			n++
		}
		if who != "" {
			all = append(all, devices(ds[:n])+" "+who)
		}
		ds = ds[n:]
	}
	if len(all) == 0 {
		return p.heldBy(nil)
	}
	return strings.Join(all, "; ")
}

// heldAs says who holds one GPU, empty for nobody.
func (p *Plan) heldAs(d fault.Device) string {
	if hs := p.holders([]fault.Device{d}); len(hs) > 0 {
		return "held by " + names(hs)
	}
	if hs := p.diagnosers([]fault.Device{d}); len(hs) > 0 {
		return "in use by a diagnosis of DCGM's, " + names(hs)
	}
	return ""
}
