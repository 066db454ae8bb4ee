package probe

import (
	"context"
	"fmt"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// facts hold as long as the library is open.
type facts struct {
	driver, nvml string
	count        int
	has          symbols
}

// symbols are the functions that not every driver's library has.
type symbols struct {
	mig, fields, remap bool
}

// open loads and initialises the library, and lists the GPUs. It returns with
// no error and nothing open when ctx is done while a call still hangs.
func (p *probe) open(ctx context.Context) error {
	var t track
	var failed *nvml.Error
	done, err := p.await(ctx, &t, func() { p.facts, failed = openLibrary(p.lib, &t) })
	if err != nil || !done {
		return err
	}
	if failed != nil {
		if err := nvml.FailedReport(*failed).Write(p.out); err != nil {
			return err
		}
		return fmt.Errorf("probe nvml: %w", failed)
	}
	p.answers = make(chan nvml.GPU, p.facts.count)
	for i := range p.facts.count {
		p.gpus = append(p.gpus, &gpu{last: nvml.GPU{Index: i}})
	}
	return nil
}

// openLibrary makes the calls that belong to no GPU. The driver counts its GPUs
// when the library is initialised: to count again is to begin again. Versions
// that are not told stay unknown.
func openLibrary(lib driver.Interface, t *track) (f facts, failed *nvml.Error) {
	do := func(name string, call func() driver.Return) *nvml.Error {
		t.enter(name)
		ret := call()
		t.leave()
		if ret == driver.SUCCESS {
			return nil
		}
		return &nvml.Error{Op: name, Code: int(ret), Text: ret.Error()}
	}
	version := func() (ret driver.Return) { f.nvml, ret = lib.SystemGetNVMLVersion(); return ret }
	if failed := do("nvmlInit", lib.Init); failed != nil {
		// Which library is in the wrong is worth knowing. It can tell that even
		// uninitialised, if there is one.
		if failed.Code == int(driver.ERROR_LIB_RM_VERSION_MISMATCH) && do("nvmlSystemGetNVMLVersion", version) == nil {
			failed.Text += ", library " + f.nvml
		}
		return f, failed
	}
	_ = do("nvmlSystemGetNVMLVersion", version) // a version that is not told is empty
	_ = do("nvmlSystemGetDriverVersion", func() (ret driver.Return) { f.driver, ret = lib.SystemGetDriverVersion(); return ret })
	failed = do("nvmlDeviceGetCount", func() (ret driver.Return) { f.count, ret = lib.DeviceGetCount(); return ret })
	has := func(name string) bool { return lib.Extensions().LookupSymbol(name) == nil }
	f.has = symbols{
		mig:    has("nvmlDeviceGetMigMode"),
		fields: has("nvmlDeviceGetFieldValues"),
		remap:  has("nvmlDeviceGetRemappedRows"),
	}
	return f, failed
}

// close shuts the library down, unless a GPU's call still hangs: then the end of
// the process has to do.
func (p *probe) close() error {
	for _, g := range p.gpus {
		if g.busy {
			return nil
		}
	}
	var t track
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.Deadline)
	defer cancel()
	_, err := p.await(ctx, &t, func() {
		t.enter("nvmlShutdown")
		_ = p.lib.Shutdown() // the process ends next, whatever it says
		t.leave()
	})
	return err
}

// await runs f, which keeps t, and reports the call that it hangs in past the
// deadline, again each period. Done is false if ctx ended first and f goes on.
func (p *probe) await(ctx context.Context, t *track, f func()) (done bool, err error) {
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
			if c := t.current(); c.age(now) >= p.cfg.Deadline {
				if err := p.hung(c, nil, now); err != nil {
					return false, err
				}
			}
			timer.Reset(p.cfg.Period)
		}
	}
}
