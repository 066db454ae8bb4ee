package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// subject is what a question is about.
type subject struct {
	// class is empty for a line without an event, and for one that opens no
	// fault.
	class fault.Class
	// code is the XID, or the SXid where switched; 0 where there is none.
	code     int
	switched bool
	// whole says that a line was asked about. why tells why it holds no event;
	// event is what it holds otherwise.
	whole bool
	why   string
	event xidparse.Event
}

// recoveryCode is the XID with which the driver tells its recovery action. It
// opens no fault of its own number.
const recoveryCode = 154

// read understands a question.
func read(question string) (subject, error) {
	question = strings.TrimSpace(question)
	words := strings.Fields(strings.ToLower(question))
	switch {
	case len(words) == 0:
		return subject{}, fmt.Errorf("nothing was asked")
	case len(words) == 1:
		return readWord(words[0])
	case len(words) == 2 && (words[0] == "xid" || words[0] == "sxid"):
		return readWord(words[0] + "-" + words[1])
	}
	return readLine(question), nil
}

// readWord understands "79", "xid-79", "xid79", "sxid-20034" and a class. A bare
// number that is no XID but an SXid is taken for that.
func readWord(word string) (subject, error) {
	if code, ok := number(word, "sxid"); ok {
		return switchSubject(code), nil
	}
	if code, ok := number(word, "xid"); ok {
		return xidSubject(code), nil
	}
	if code, ok := number(word, ""); ok {
		if _, xid := xidparse.Lookup(code); !xid {
			if _, sxid := xidparse.LookupSXid(code); sxid {
				return switchSubject(code), nil
			}
		}
		return xidSubject(code), nil
	}
	if slices.ContainsFunc(fault.Rules(), func(r fault.Rule) bool { return string(r.Class) == word }) {
		return classSubject(fault.Class(word)), nil
	}
	return subject{}, fmt.Errorf("%q is not a number, not a class of fault (%s), and not a line of a kernel log", word, classNames())
}

// number reads the number behind a word and perhaps a dash.
func number(word, head string) (int, bool) {
	digits, ok := strings.CutPrefix(word, head)
	if !ok {
		return 0, false
	}
	if head != "" {
		digits = strings.TrimPrefix(digits, "-")
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), err == nil
}

func classNames() string {
	var names []string
	for _, r := range fault.Rules() {
		names = append(names, string(r.Class))
	}
	return strings.Join(names, ", ")
}

func xidSubject(code int) subject {
	if code == recoveryCode {
		return subject{class: fault.RecoveryAction, code: code}
	}
	return subject{class: fault.XIDClass(code), code: code}
}

func switchSubject(code int) subject {
	return subject{class: fault.SXIDClass(code), code: code, switched: true}
}

// classSubject gives a class that has no number in its name the XID with which
// the driver tells the same.
func classSubject(class fault.Class) subject {
	switch class {
	case fault.RemapPending:
		return subject{class: class, code: 63}
	case fault.RecoveryAction:
		return subject{class: class, code: recoveryCode}
	}
	code, _ := class.Code()
	return subject{class: class, code: code}
}

// readLine reads a line as the agent does.
func readLine(text string) subject {
	cut := xidparse.Cut([]byte(text))
	ev, ok := xidparse.Parse(string(cut.Text))
	switch {
	case !cut.Kernel:
		return subject{whole: true, why: "The line does not come from the kernel, but from a program: whatever it quotes, the agent hears nothing in it."}
	case !xidparse.Ours(cut.Text):
		return subject{whole: true, why: "The line is not the NVIDIA driver's: the agent hears nothing in it."}
	case !ok:
		return subject{whole: true, why: "The line is the NVIDIA driver's, but tells of no fault: the agent hears nothing in it."}
	}
	s := eventSubject(ev)
	s.whole, s.event = true, ev
	return s
}

func eventSubject(ev xidparse.Event) subject {
	switch ev.Kind {
	case xidparse.KindXID, xidparse.KindOffBus:
		return xidSubject(ev.Code)
	case xidparse.KindSXID:
		return switchSubject(ev.Code)
	case xidparse.KindInitFailed:
		return subject{class: fault.InitFailed}
	case xidparse.KindGSPTimeout:
		return subject{class: fault.GSPTimeout}
	case xidparse.KindGSPRateLimit:
		return xidSubject(119)
	}
	return subject{why: "The line ties a PCI address to a UUID: the agent keeps that, so that it can name the GPU when it is dead."}
}

// name says what the question was understood as.
func (s subject) name() string {
	switch {
	case s.switched:
		return fmt.Sprintf("SXid %d", s.code)
	case s.code != 0 || s.class == fault.XIDClass(0):
		return fmt.Sprintf("XID %d", s.code)
	case s.class != "":
		return string(s.class)
	}
	return "a line without a fault"
}

// meaning looks the subject up, and says whether any catalogue has it.
func (s subject) meaning() (Meaning, bool) {
	if s.switched {
		return switchMeaning(s.code)
	}
	if row, ok := xidparse.Lookup(s.code); ok {
		return Meaning{Name: row.Name, Text: row.Meaning, AtFault: row.Fault, Architectures: row.Architectures,
			Note: row.Note, Source: row.Source}, true
	}
	switch {
	case s.class == "":
		return Meaning{Text: s.why, AtFault: "nobody"}, true
	case slices.ContainsFunc(fault.Rules(), func(r fault.Rule) bool { return r.Class == s.class }):
		return Meaning{Text: capital(fault.RuleFor(s.class).Title) + ".", AtFault: blame(s.class), Note: workloads[s.class].note}, true
	}
	return Meaning{Text: "No catalogue has this number. That does not make it harmless: the agent records it, does what the driver's " +
		"recovery action (XID 154) asks for, and without one holds it for a person.", AtFault: "unknown"}, false
}

func switchMeaning(code int) (Meaning, bool) {
	row, ok := xidparse.LookupSXid(code)
	if !ok {
		return Meaning{Text: "No catalogue has this number of an NVSwitch. The agent records it and holds it for a person; " +
			"beside a GPU that has died on the same node it is taken for that GPU's echo.", AtFault: "unknown"}, false
	}
	m := Meaning{Name: row.Name, Text: row.Meaning, AtFault: "link"}
	if row.Class != "unknown" {
		m.Note = "The fabric manager's guide calls it " + row.Class + "; the word that a line prints can differ."
	}
	return m, true
}

// blame is for the classes that no catalogue has a row of.
func blame(class fault.Class) string {
	if w, is := workloads[class]; is {
		return w.blame
	}
	switch class {
	case fault.DriverMismatch, fault.AgentBlind, fault.FabricManagerDead, fault.IMEXDown:
		return "host"
	case fault.LinksDown, fault.NVLinkDegrading, fault.FabricUnhealthy:
		return "link"
	case fault.DriverHung:
		return "driver"
	}
	return "gpu"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
