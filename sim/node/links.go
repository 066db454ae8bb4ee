package node

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// linkPrefix begins the values that every link has; one link's own begin with
// "link.N.".
const linkPrefix = "nvlink."

// SetLink lets the driver tell a value of one link; its name is that of all
// links without "nvlink.", as in Set.
func (n *Node) SetLink(gpu string, link int, value, to string) error {
	if _, err := strconv.ParseFloat(to, 64); err != nil && !slices.Contains([]string{Unsupported, Unknown, Blank}, to) {
		return fmt.Errorf("link %d: %s = %q: want a number, %s, %s or %s", link, value, to, Unsupported, Unknown, Blank)
	}
	return n.editLink(gpu, link, value, func(c *conf, i int) { c.set(i, linkKey(link, value), to) })
}

// LinkUp takes a link down, or brings it up.
func (n *Node) LinkUp(gpu string, link int, up bool) error {
	return n.SetLink(gpu, link, "state", map[bool]string{true: "1", false: "0"}[up])
}

// LinkRecoveries lets a link have been trained again so many times more; not ok
// are those after which it was declared down.
func (n *Node) LinkRecoveries(gpu string, link, times int, ok bool) error {
	which := map[bool]string{true: "recovered", false: "recovery-failed"}[ok]
	return n.editLink(gpu, link, which, func(c *conf, i int) {
		for _, value := range []string{"recoveries", which, "dl-recoveries"} {
			if old := c.linkValue(i, link, value); old != Unsupported {
				v := parseNumber(old)
				v.base += float64(times)
				c.set(i, linkKey(link, value), v.String())
			}
		}
	})
}

// LinkBER sets the effective bit error rate of a link, as NVML packs it.
func (n *Node) LinkBER(gpu string, link int, rate float64) error {
	if !(rate >= 0 && rate <= 1) {
		return fmt.Errorf("bit error rate %g: want 0 to 1", rate)
	}
	packed := 0
	if rate > 0 {
		exponent := math.Ceil(-math.Log10(rate))
		packed = int(math.Round(rate*math.Pow(10, exponent)))<<8 | int(exponent)
	}
	return n.SetLink(gpu, link, "ber", strconv.Itoa(packed))
}

// fabricStates are in the order of NVML_GPU_FABRIC_STATE_*.
var fabricStates = []string{"not-supported", "not-started", "in-progress", "completed"}

// Fabric sets how far a GPU has come with its registration at the fabric:
// not-supported, not-started, in-progress or completed, with NVML's status.
func (n *Node) Fabric(gpu, state string, status int) error {
	i := slices.Index(fabricStates, state)
	if i < 0 {
		return fmt.Errorf("fabric %q: want one of %q", state, fabricStates)
	}
	if err := n.Set(gpu, "fabric.state", strconv.Itoa(i)); err != nil {
		return err
	}
	return n.Set(gpu, "fabric.status", strconv.Itoa(status))
}

// FabricHealth sets a GPU's health mask and summary.
func (n *Node) FabricHealth(gpu string, mask uint32, summary int) error {
	if err := n.Set(gpu, "fabric.mask", strconv.FormatUint(uint64(mask), 10)); err != nil {
		return err
	}
	return n.Set(gpu, "fabric.summary", strconv.Itoa(summary))
}

// editLink changes one link of a GPU that has it.
func (n *Node) editLink(gpu string, link int, value string, do func(c *conf, i int)) error {
	var refused error
	err := n.edit(gpu, func(c *conf, i int) {
		count, err := strconv.Atoi(c.get(i, linkPrefix+"count"))
		switch {
		case err != nil || link < 0 || link >= count:
			refused = fmt.Errorf("link %d: the GPU has %d", link, count)
		case !slices.Contains(c.values(), linkPrefix+value):
			refused = fmt.Errorf("link value %q: none is called %s%s in [gpu *] of %s", value, linkPrefix, value, controlFile)
		default:
			do(c, i)
		}
	})
	if refused != nil {
		return refused
	}
	return err
}

// linkValue gives a value of one link.
func (c conf) linkValue(gpu, link int, value string) string {
	if own := c.get(gpu, linkKey(link, value)); own != "" {
		return own
	}
	return c.get(gpu, linkPrefix+value)
}

func linkKey(link int, value string) string { return fmt.Sprintf("link.%d.%s", link, value) }

// isLinkCounter says whether a key is of what a link counts, which a reset ends.
func isLinkCounter(key string) bool {
	return strings.HasPrefix(key, "link.") && !strings.HasSuffix(key, ".state")
}
