package remediate

import (
	"encoding/json"
	"time"
)

// Verification is a reset whose success is still being seen to. The plan only keeps
// it, so that an agent that comes back goes on with it; another boot ends it.
type Verification struct {
	Deed Deed `json:"deed"`
	// Before is what the driver said before the reset, in the words of whoever
	// compares.
	Before json.RawMessage `json:"before"`
	// Until is when what then speaks against the reset is told.
	Until time.Time `json:"until"`
}

// Verify keeps a verification in place of the one before; nil ends it.
func (p *Plan) Verify(v *Verification) { p.state.Verification = v }

// Verification is the one under way, nil for none. It must not be changed.
func (p *Plan) Verification() *Verification { return p.state.Verification }
