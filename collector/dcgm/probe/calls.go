package probe

import (
	"errors"
	"sync"
	"time"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// call is one in progress; without a name there is none.
type call struct {
	name  string
	since time.Time
}

// calls tells one goroutine which call another one is in.
type calls struct {
	mu sync.Mutex
	in call
}

func (c *calls) set(in call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = in
}

func (c *calls) current() call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.in
}

// do makes one call, and names it in its failure.
func (c *calls) do(name string, f func() error) *dcgm.Error {
	c.set(call{name: name, since: time.Now()})
	err := f()
	c.set(call{})
	if err == nil {
		return nil
	}
	failed := &dcgm.Error{Op: name, Text: clean(err.Error())}
	if told := (*driver.Error)(nil); errors.As(err, &told) {
		failed.Code = int(told.Code)
	}
	return failed
}

// DCGM's return values that end a connection.
const (
	stTimeout    = -11
	stVersion    = -12
	stConnection = -21
)

// over says whether a failure is the end of the connection, and why.
func over(failed *dcgm.Error) (dcgm.Reason, bool) {
	reason, ok := map[int]dcgm.Reason{
		stTimeout:    dcgm.TimedOut,
		stVersion:    dcgm.WrongVersion,
		stConnection: dcgm.EngineLost,
	}[failed.Code]
	return reason, ok
}
