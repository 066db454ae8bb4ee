package probe

import (
	"context"
	"fmt"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// session is what holds as long as the library is open.
type session struct {
	library
	driver, nvml string
	count        int
}

// open loads and initialises the library, and lists the GPUs. It returns with
// no error and nothing open when ctx is done while a call still hangs.
func (p *probe) open(ctx context.Context) error {
	var t track
	var failed *nvml.Error
	done, err := p.await(ctx, func() { p.session, failed = openLibrary(p.lib, &t) }, func(now time.Time) error {
		if c := t.current(); c.age(now) >= p.cfg.Deadline {
			return nvml.HungReport(*c.hung(now)).Write(p.out)
		}
		return nil
	})
	if err != nil || !done {
		return err
	}
	if failed != nil {
		if err := nvml.FailedReport(*failed).Write(p.out); err != nil {
			return err
		}
		return fmt.Errorf("probe nvml: %w", failed)
	}
	if err := p.session.hello().Write(p.out); err != nil {
		return err
	}
	p.answers = make(chan nvml.GPU, p.session.count)
	p.gpus = nil
	for i := range p.session.count {
		p.gpus = append(p.gpus, newGPU(i))
	}
	p.events = listen(p.session.library, p.session.count, p.cfg.Period)
	return nil
}

// hello says what it is that was opened.
func (s session) hello() nvml.Report {
	return nvml.HelloReport(nvml.Hello{Driver: s.driver, NVML: s.nvml, Lacks: s.has.lacking()})
}

// openLibrary makes the calls that belong to no GPU. The driver counts its GPUs
// when the library is initialised: to count again is to begin again. Versions
// that are not told stay unknown.
func openLibrary(lib driver.Interface, t *track) (s session, failed *nvml.Error) {
	s.calls, s.fields = newCosts(), newCosts()
	do := func(name string, call func() driver.Return) *nvml.Error {
		t.enter(newCall(name))
		began := time.Now()
		ret := call()
		s.calls.add(name, time.Since(began))
		t.leave()
		if ret == driver.SUCCESS {
			return nil
		}
		return &nvml.Error{Op: name, Code: int(ret), Text: ret.Error()}
	}
	version := func() (ret driver.Return) { s.nvml, ret = lib.SystemGetNVMLVersion(); return ret }
	if failed := do("nvmlInit", lib.Init); failed != nil {
		// Which library is in the wrong is worth knowing. It can tell that even
		// uninitialised, if there is one.
		if failed.Code == int(driver.ERROR_LIB_RM_VERSION_MISMATCH) && do("nvmlSystemGetNVMLVersion", version) == nil {
			failed.Text += ", library " + s.nvml
		}
		return s, failed
	}
	_ = do("nvmlSystemGetNVMLVersion", version) // a version that is not told is empty
	_ = do("nvmlSystemGetDriverVersion", func() (ret driver.Return) { s.driver, ret = lib.SystemGetDriverVersion(); return ret })
	failed = do("nvmlDeviceGetCount", func() (ret driver.Return) { s.count, ret = lib.DeviceGetCount(); return ret })
	s.Interface, s.has = lib, newSymbols(lib)
	return s, failed
}

// await runs f and, while it goes on, late after the deadline and again each
// period. Done is false if ctx ended first and f goes on.
func (p *probe) await(ctx context.Context, f func(), late func(now time.Time) error) (done bool, err error) {
	finished := make(chan struct{})
	go func() { f(); close(finished) }()
	timer := time.NewTimer(p.cfg.Deadline)
	defer timer.Stop()
	for {
		select {
		case <-finished:
			return true, nil
		case <-ctx.Done():
			return false, nil
		case now := <-timer.C:
			if err := late(now); err != nil {
				return false, err
			}
			timer.Reset(p.cfg.Period)
		}
	}
}
