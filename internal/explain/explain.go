package explain

import (
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Explanation is the answer to one question. Its JSON form is what
// `gpuhealthd explain -o json` prints.
type Explanation struct {
	// Subject is what the question was understood as: "XID 79", "SXid 20034",
	// the name of a class, or "a line without an event".
	Subject string `json:"subject"`
	// Class is empty where the agent opens no fault.
	Class fault.Class `json:"fault"`
	// Known is false for a number that no catalogue has.
	Known   bool    `json:"known"`
	Meaning Meaning `json:"meaning"`
	// Line is what a whole line says beside its number; nil for other questions.
	Line *Line `json:"line,omitempty"`
	// Agent is what is done about the line alone where one was asked about, else
	// about the class; nil where the agent opens no fault.
	Agent     *Agent     `json:"agent"`
	Confirm   []Check    `json:"confirm"`
	Documents []Document `json:"documents"`
}

// Meaning is what the catalogue knows. Empty fields are not known.
type Meaning struct {
	// Name is NVIDIA's mnemonic.
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
	// AtFault is who most likely is: unknown, application, gpu, link, host,
	// driver or peer.
	AtFault       string `json:"at_fault"`
	Architectures string `json:"architectures,omitempty"`
	Note          string `json:"note,omitempty"`
	Source        string `json:"source,omitempty"`
}

// Explain answers a question: "79", "xid 79", "sxid 20034", a class such as
// "xid-48" or "gpu-lost", or a whole line of a log. driver is the version of
// the driver that wrote the line, empty when it is not known. The error says
// that the question is none of these; a number that nobody knows is no error.
func Explain(question, driver string) (Explanation, error) {
	s, err := read(question)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Subject: s.name(), Class: s.class}
	e.Meaning, e.Known = s.meaning()
	rule, opens := fault.RuleFor(s.class), s.class != ""
	if s.whole {
		var v fault.Verdict
		e.Line, v = s.line(driver)
		opens, rule = e.Line.Verdict != nil, rule.Refined(v)
	}
	if opens {
		agent := ruleText(rule)
		e.Agent = &agent
	}
	e.Confirm, e.Documents = s.checks(rule.Diag), s.documents()
	return e, nil
}
