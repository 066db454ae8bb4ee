package repair

import (
	"context"
	"errors"
)

// Child is one of our own processes that may have a GPU open.
type Child interface {
	// Quiet ends it and keeps it from starting until Resume.
	Quiet(ctx context.Context) error
	Resume()
}

// children are all of them.
type children []Child

// Quiet ends all; who does not end keeps no other from it.
func (cs children) Quiet(ctx context.Context) error {
	var failed []error
	for _, c := range cs {
		failed = append(failed, c.Quiet(ctx))
	}
	return errors.Join(failed...)
}

// Resume lets all start again.
func (cs children) Resume() {
	for _, c := range cs {
		c.Resume()
	}
}
