package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"
)

// The ways in which a store can refuse. Every error of this package that is
// one of them matches it by errors.Is.
var (
	ErrNewer    = errors.New("written by a newer version")
	ErrCorrupt  = errors.New("damaged")
	ErrLocked   = errors.New("in use by another process")
	ErrReadOnly = errors.New("not writable")
	ErrFull     = errors.New("no space left")
	ErrGone     = errors.New("moved away or removed")
	ErrNoFolder = errors.New("no folder")
)

// aside is the way out when the content cannot be used.
const aside = "move it aside and restart: gpuhealthd will start with empty memory"

// Error is what Open, Load and Save return: which store, what is wrong with
// it, and what can be done.
type Error struct {
	Op   string // open, load or save
	Path string
	// Kind is one of the Err values, or nil when none fits.
	Kind error
	// Err is the cause.
	Err error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s store %s: ", e.Op, e.Path)
	if e.Kind != nil && !strings.Contains(e.Err.Error(), e.Kind.Error()) {
		text += e.Kind.Error() + ": "
	}
	text += e.Err.Error()
	if remedy := remedy(e.Kind); remedy != "" {
		text += "; " + remedy
	}
	return text
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

func remedy(kind error) string {
	switch {
	case errors.Is(kind, ErrNewer):
		return "install that version again, or " + aside
	case errors.Is(kind, ErrCorrupt):
		return aside
	case errors.Is(kind, ErrLocked):
		return "stop the other gpuhealthd on this node, and restart this one"
	case errors.Is(kind, ErrReadOnly):
		return "make its folder and file writable and restart"
	case errors.Is(kind, ErrGone):
		return "restart: gpuhealthd goes on with what is at that path then"
	case errors.Is(kind, ErrFull):
		return "free space on its file system"
	case errors.Is(kind, ErrNoFolder):
		return "create the folder, or name another one in state.path"
	}
	return ""
}

// fail names the kind of err. An err that is classified already is left as
// it is.
func fail(op, path string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Op: op, Path: path, Kind: kindOf(err), Err: err}
}

func kindOf(err error) error {
	for _, kind := range []error{ErrNewer, ErrCorrupt, ErrLocked, ErrGone, ErrNoFolder} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, errPanicked), errors.Is(err, berrors.ErrInvalid),
		errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return ErrCorrupt
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return ErrReadOnly
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return ErrFull
	}
	return nil
}
