package remediate

import "errors"

// ErrForbidden is what an actuator's error matches when the API server says
// that the agent has no right to do what the plan wants. It does not pass by
// itself: somebody has to be told.
var ErrForbidden = errors.New("forbidden")

// ErrLater is what an actuator's error matches while what the plan wants has to wait for
// something that goes its ordinary way, such as a reboot. Nothing is wrong.
var ErrLater = errors.New("not yet")
