package operands

import (
	"slices"
	"strings"
)

// paused is before the value that a label had: paused-by-gpuhealthd.true.
const paused = "paused-by-gpuhealthd."

// runs is the value by which the operator runs a service.
const runs = "true"

// pause gives the value of a service of ours to stop; false: it does not run, or
// somebody has stopped it already.
func (o *Operands) pause(key, value string) (string, bool) {
	return paused + value, value == runs && slices.Contains(o.config.Labels, key)
}

// restore gives the value from before pause; false: we have not paused it. It asks
// for no configuration: that may be another by now.
func restore(_, value string) (string, bool) { return strings.CutPrefix(value, paused) }

// labelPath is a label's place in a JSON patch.
func labelPath(key string) string {
	return "/metadata/labels/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
