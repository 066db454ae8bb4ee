package nvlink

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestSummaryText(t *testing.T) {
	long := Summary{Node: "a", Echoes: 4, Training: true}
	for range 20 {
		long.Roots = append(long.Roots, "GPU-6f4e2d1c-0000-0000-0000-000000000003")
	}
	for link := range 18 {
		long.Down = append(long.Down, link)
	}
	if text := long.Text(); len(text) > SummaryLimit {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	for _, tt := range []struct {
		summary Summary
		text    string
	}{
		{Summary{Node: "a"}, ""},
		{Summary{Node: "a", Work: []string{"team/train"}}, ""},
		{Summary{Node: "a", Echoes: 1, Work: []string{"serve/llm", "team/train"}}, `{"echoes":1,"work":["serve/llm","team/train"]}`},
		{Summary{Node: "a", Echoes: 1, Work: []string{"a/" + strings.Repeat("b", 253), "c/" + strings.Repeat("d", 253)}}, `{"echoes":1,"work":["a/` + strings.Repeat("b", 253) + `"],"moreWork":1}`},
		{Summary{Node: "a", Echoes: 1, Work: slices.Repeat([]string{"a/b"}, 20), MoreWork: 2}, `{"echoes":1,"work":["a/b"` + strings.Repeat(`,"a/b"`, 15) + `],"moreWork":6}`},
		{Summary{Node: "a", Down: []int{4, 5}, Training: true}, `{"down":[4,5],"training":true}`},
		{Summary{Node: "a", AllDown: true, Down: []int{0, 1}}, `{"allDown":true}`},
		{Summary{Node: "a", Roots: []string{"GPU-1"}, Echoes: 3}, `{"roots":["GPU-1"],"echoes":3}`},
	} {
		if got := tt.summary.Text(); got != tt.text {
			t.Errorf("%+v: %s, want %s", tt.summary, got, tt.text)
		}
		back, err := ParseSummary("a", tt.text)
		if err != nil || back.Text() != tt.text || back.Node != "a" {
			t.Errorf("%s: read as %+v, %v", tt.text, back, err)
		}
	}
}

func TestSummaryOfAStranger(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{`{`, "unexpected end"},
		{`[]`, "cannot unmarshal"},
		{`{"down":["4"]}`, "cannot unmarshal"},
		{`{"down":[64]}`, "link 64 is not one of 0 to 63"},
		{`{"down":[-1]}`, "link -1"},
		{`{"echoes":100000}`, "echoes: 100000"},
		{`{"roots":["` + strings.Repeat("x", 41) + `"]}`, "no GPU's name"},
		{`{"roots":["a b"]}`, "no GPU's name"},
		{`{"roots":["","","","","","","","",""]}`, "at most 8"},
		{`{"work":["train"]}`, "no workload's name"},
		{`{"work":["a/b\u001b"]}`, "no workload's name"},
		{`{"work":["a/b` + strings.Repeat(`","a/b`, 16) + `"]}`, "at most 16"},
		{`{"moreWork":-1}`, "moreWork: -1"},
		{strings.Repeat(" ", SummaryLimit+1), "longer than 512 bytes"},
	} {
		got, err := ParseSummary("tray-3", tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "tray-3") || !reflect.DeepEqual(got, Summary{}) {
			t.Errorf("%.40s: %+v, %v; want an error with %q", tt.text, got, err, tt.says)
		}
	}
	if s, err := ParseSummary("tray-3", `{"node":"tray-9","later":[1],"echoes":2}`); err != nil || s.Node != "tray-3" || s.Echoes != 2 {
		t.Errorf("fields of a later version: %+v, %v", s, err)
	}
}

// TestAfflicted: of all that is said, the trays in trouble and what works there.
func TestAfflicted(t *testing.T) {
	trays, workloads, more := Afflicted([]Summary{{Node: "c", AllDown: true, Work: []string{"b/b", "a/a"}, MoreWork: 2},
		{Node: "b", Work: []string{"of/a-healthy-tray"}}, {Node: "a", Echoes: 1, Work: []string{"a/a"}}})
	if !slices.Equal(trays, []string{"a", "c"}) || !slices.Equal(workloads, []string{"a/a", "b/b"}) || more != 2 {
		t.Errorf("%q, %q, %d more", trays, workloads, more)
	}
}

// TestDomainHash holds the values of the label to the public contract.
func TestDomainHash(t *testing.T) {
	const domain = "7b1c0f2e-5d8a-4c3c-9b6e-2f4a1d0c8e57.1"
	if got := DomainHash(domain); got != "051d736945b3" || got != DomainHash(strings.ToUpper(domain)) {
		t.Errorf("%s: %s", domain, got)
	}
	if DomainHash("") != "" || DomainHash(domain) == DomainHash(domain+"0") {
		t.Error("no domain has a name, or two have the same")
	}
}

func FuzzParseSummary(f *testing.F) {
	f.Add(`{"down":[4,5],"allDown":true,"roots":["GPU-1"],"echoes":3,"training":true,"work":["a/b"],"moreWork":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSummary("a", text)
		if err != nil {
			return
		}
		again, err := ParseSummary("a", s.Text())
		if err != nil || again.Text() != s.Text() {
			t.Errorf("%q: read as %+v, whose text %q is read as %+v, %v", text, s, s.Text(), again, err)
		}
	})
}
