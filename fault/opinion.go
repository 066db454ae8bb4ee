package fault

import "time"

// Opinion is what a second witness holds of one GPU: a level, and by itself
// nothing to act on. With the driver's or the kernel's word it is evidence.
type Opinion struct {
	// Witness is its name, such as DCGM.
	Witness string
	Device  Device
	Class   Class
	Text    string
	// Holds is false once the witness does not hold it any more.
	Holds bool
}

func (Opinion) isFact() {}

// opinion takes in what a witness holds, or holds no more.
func (j *Judge) opinion(now time.Time, o Opinion) {
	k := key{pci: o.Device.PCI, class: o.Class}
	if !o.Holds {
		if e := j.open[k]; e != nil {
			e.Witness = ""
			if !e.Confirmed {
				e.Cured, e.Clean = now, j.cfg.CleanPolls
			}
		}
		return
	}
	e := j.episode(now, o.Device.PCI, o.Class, Observation{})
	fresh := e.Count == 0
	if fresh {
		e.add(now, o.Witness+": "+o.Text)
	}
	e.Witness = o.Witness
	e.Confirmed = e.Confirmed || j.confirms(e)
	j.reroot(now, e, fresh)
}
