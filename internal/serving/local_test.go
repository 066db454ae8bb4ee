package serving

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

func TestLocal(t *testing.T) {
	looks, found := 0, holders.Found{}
	l := newLocal(Options{
		Engines: []Engine{
			{Name: "listed", URLs: []string{"http://a", "http://b"}, GPUs: []string{"GPU-3", "GPU-2"}, Dialect: "vllm"},
			{Name: "found", URLs: []string{"http://c"}, Process: "VLLM::Worker"},
		},
		Processes: func() holders.Found { looks++; return found },
	})
	s := &Serving{local: l}
	r := serving.Replica{Name: "listed", GPUs: []string{"GPU-2", "GPU-3"}}
	listed := []collect.Target{{Replica: r, URL: "http://a", Dialect: "vllm"}, {Replica: r, URL: "http://b", Dialect: "vllm"}}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	is := func(when string, wantLooks int, want []collect.Target) {
		t.Helper()
		found := &search{now: now}
		if s.ofSite(found); len(found.askable) > 0 {
			t.Errorf("%s: without a canary they are asked: %+v", when, found.askable)
		}
		if diff := cmp.Diff(want, found.targets); diff != "" || looks != wantLooks {
			t.Errorf("%s, after %d looks: %s", when, looks, diff)
		}
	}
	is("nobody runs", 1, listed)
	now = now.Add(1)
	is("nobody yet", 2, listed)
	found.Processes = []holders.Process{
		{PID: 7, Name: "VLLM::Worker", GPUs: []string{"GPU-1"}}, {PID: 8, Name: "python3", GPUs: []string{"GPU-5"}},
		{PID: 9, Name: "VLLM::Worker", GPUs: []string{"GPU-0", "GPU-1"}},
	}
	now = now.Add(1)
	both := append(listed, collect.Target{Replica: serving.Replica{Name: "found", Life: "7 9", GPUs: []string{"GPU-0", "GPU-1"}}, URL: "http://c", PID: 7})
	is("two run", 3, both)
	now = now.Add(lookEvery - 1)
	is("looked at a moment ago", 3, both)
	now = now.Add(1)
	is("it is time again", 4, both)
}

func TestLoad(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	scrape := func(uid string, after time.Duration, answer serving.Answer, engines ...serving.Reading) serving.Scrape {
		return serving.Scrape{Replica: serving.Replica{UID: uid}, At: at.Add(after), Answer: answer, Engines: engines}
	}
	s := &Serving{last: []serving.Scrape{
		scrape("a", 2, serving.Answered, serving.Reading{Running: n(1), Waiting: n(4)}, serving.Reading{Running: n(2), Waiting: n(0)}),
		scrape("a", 1, serving.Answered, serving.Reading{Running: n(4)}),
		scrape("silent", 1, serving.Answered, serving.Reading{Running: n(0)}),
		scrape("silent", 0, serving.Silent),
		scrape("partly", 1, serving.Answered, serving.Reading{Running: n(0)}),
		scrape("", 0, serving.Answered, serving.Reading{Running: n(0)}),
	}, endpoints: map[string]int{"a": 2, "silent": 2, "partly": 2, "job": 0}}
	for _, test := range []struct {
		uid  string
		want Load
		may  bool
	}{
		{"a", Load{Running: n(7), At: at.Add(1)}, true},
		{"silent", Load{At: at}, true},
		{"partly", Load{}, true},
		{"job", Load{}, false},
		{"nobody", Load{}, true},
		{"", Load{}, true},
	} {
		l, may := s.Load(test.uid)
		if diff := cmp.Diff(test.want, l); diff != "" || may != test.may {
			t.Errorf("%q: may have an engine %t, %s", test.uid, may, diff)
		}
	}
}
