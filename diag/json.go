package diag

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// answer is dcgmi's JSON as it comes. DCGM 4 names its part "DCGM Diagnostic" and
// DCGM 3 "DCGM GPU Diagnostic"; several iterations are wrapped.
type answer struct {
	DCGM4      *body    `json:"DCGM Diagnostic"`
	DCGM3      *body    `json:"DCGM GPU Diagnostic"`
	Iterations []answer `json:"iterations"`
	Metadata   struct {
		Version loose `json:"version"`
		Driver  loose `json:"Driver Version Detected"`
	} `json:"metadata"`
	Version loose `json:"version"`
	Driver  loose `json:"Driver Version Detected"`
}

// body is what differs little between the generations.
type body struct {
	Version    loose `json:"version"`
	Driver     loose `json:"Driver Version Detected"`
	Runtime    loose `json:"runtime_error"`
	Categories []struct {
		Name  loose     `json:"category"`
		Tests []rawTest `json:"tests"`
	} `json:"test_categories"`
}

// rawTest has its errors in the results, and in DCGM 4 in a summary too.
type rawTest struct {
	Name    loose       `json:"name"`
	Results []rawResult `json:"results"`
	Summary *rawResult  `json:"test_summary"`
}

// rawResult names its entity by group and number in DCGM 4, by gpu_id or gpu_ids
// in DCGM 3, or not at all.
type rawResult struct {
	Group    loose     `json:"entity_group"`
	ID       loose     `json:"entity_id"`
	GPU      loose     `json:"gpu_id"`
	GPUs     loose     `json:"gpu_ids"`
	CPU      loose     `json:"cpu_id"`
	Status   loose     `json:"status"`
	Warnings rawErrors `json:"warnings"`
}

// loose is a text where versions differ in whether it is one or a number. What is
// neither reads as empty.
type loose string

func (l *loose) UnmarshalJSON(b []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(b, &s) == nil:
		*l = loose(s)
	case json.Unmarshal(b, &n) == nil:
		*l = loose(n)
	default:
		*l = ""
	}
	return nil
}

// rawErrors is a list, or one that stands alone.
type rawErrors []rawError

func (e *rawErrors) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		return json.Unmarshal(b, (*[]rawError)(e))
	}
	var one rawError
	err := one.UnmarshalJSON(b)
	*e = rawErrors{one}
	return err
}

// rawError is an object, or in old versions a mere text. DCGM 3 puts the text of
// its software test under "warnings".
type rawError struct {
	Text     loose
	Code     int
	Severity *int
}

func (e *rawError) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return e.Text.UnmarshalJSON(b)
	}
	var o struct {
		Warning  loose `json:"warning"`
		Warnings loose `json:"warnings"`
		Code     loose `json:"error_id"`
		Severity loose `json:"error_severity"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	e.Text = loose(strings.TrimSpace(string(o.Warning + o.Warnings)))
	e.Code, _ = strconv.Atoi(string(o.Code)) // none is 0
	if n, err := strconv.Atoi(string(o.Severity)); err == nil {
		e.Severity = &n
	}
	return nil
}
