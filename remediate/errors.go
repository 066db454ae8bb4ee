package remediate

import "errors"

// ErrForbidden is what an actuator's error matches when the API server says
// that the agent has no right to do what the plan wants. It does not pass by
// itself: somebody has to be told.
var ErrForbidden = errors.New("forbidden")
