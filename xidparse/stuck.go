package xidparse

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// Stuck finds, in the lines of one kernel log, its reports of a processor or a
// task that is stuck inside the driver: a soft lockup or a hung task whose
// stack trace names one of NVIDIA's modules. Parse cannot: neither line alone
// says so. It holds one open report, and its zero value none.
type Stuck struct {
	head Event
	at   uint64
	// left is how many more lines may belong to the report; 0 is none open.
	left int
}

// traceLines is above the registers and frames of any trace.
const traceLines = 128

// traceEnds are what ends a trace, or begins one of something else.
var traceEnds = []string{"</TASK>", "---[ end trace", "------------[ cut here", "Sending NMI", "rcu: "}

// frame is a line of a stack trace, or the line of the register that points into
// the code, inside one of NVIDIA's modules. The whole line is wanted: a user may
// call a process as he likes. Frames behind a question mark are what an earlier
// call has left on the stack.
var frame = regexp.MustCompile(`^ *(?:RIP: [0-9a-f]{4}:|pc : |lr : )?` +
	`([A-Za-z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+ \[nvidia(?:_[a-z0-9_]+)?)(?: [0-9a-f]+)?\](?: \([A-Z]+\))?$`)

// Line takes a message of the kernel and its place in the log. It is true for
// the line that completes a report: began is then the place of its first. The
// event names no GPU, since no trace does.
func (s *Stuck) Line(at uint64, text []byte) (ev Event, began uint64, ok bool) {
	if s.left == 0 && (len(text) == 0 || !opens(text[0])) {
		return Event{}, 0, false
	}
	return s.read(at, text)
}

// opens says whether a report may begin so: it is asked of every line.
func opens(c byte) bool { return c == 'I' || c == 'w' || c == 'N' || c == 'B' }

func (s *Stuck) read(at uint64, text []byte) (ev Event, began uint64, ok bool) {
	if head, ok := stuckHead(text); ok {
		s.head, s.at, s.left = head, at, traceLines
		return Event{}, 0, false
	}
	if s.left == 0 {
		return Event{}, 0, false
	}
	s.left--
	for _, end := range traceEnds {
		if bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte(end)) {
			s.left = 0
		}
	}
	found := frame.FindSubmatch(text)
	if found == nil {
		return Event{}, 0, false
	}
	s.left = 0
	s.head.Message += ", in " + string(found[1]) + "]"
	return s.head, s.at, true
}

// stuckHead reads the first line of a report, whoever is stuck in what.
func stuckHead(text []byte) (Event, bool) {
	if rest, ok := bytes.CutPrefix(text, []byte("INFO: task ")); ok {
		return hungTask(string(rest))
	}
	text = bytes.TrimPrefix(bytes.TrimPrefix(text, []byte("NMI ")), []byte("watchdog: "))
	if rest, ok := bytes.CutPrefix(text, []byte("BUG: ")); ok && bytes.HasPrefix(rest, []byte("soft lockup - CPU#")) {
		return softLockup(string(rest))
	}
	return Event{}, false
}

// softLockup reads "soft lockup - CPU#3 stuck for 22s! [nvidia-smi:4711]".
func softLockup(s string) (Event, bool) {
	message, who, ok := strings.Cut(s, "! [")
	if !ok || !strings.Contains(message, " stuck for ") || !strings.HasSuffix(who, "]") {
		return Event{}, false
	}
	return stuckEvent(message, strings.TrimSuffix(who, "]"))
}

// hungTask reads "nvidia-smi:4711 blocked for more than 120 seconds." A name may
// hold anything but what stands behind it.
func hungTask(s string) (Event, bool) {
	i := strings.LastIndex(s, " blocked ")
	if i < 0 || !strings.Contains(s[i:], " for more than ") || !strings.HasSuffix(s, " seconds.") {
		return Event{}, false
	}
	return stuckEvent("task"+strings.TrimSuffix(s[i:], "."), s[:i])
}

// stuckEvent takes who is stuck as "name:pid".
func stuckEvent(message, who string) (Event, bool) {
	colon := strings.LastIndexByte(who, ':')
	if colon < 0 {
		return Event{}, false
	}
	pid, err := strconv.Atoi(who[colon+1:])
	if err != nil || pid < 0 {
		return Event{}, false
	}
	e := unnumbered(KindDriverStuck, message)
	e.PID, e.Process = pid, who[:colon]
	return e, true
}
