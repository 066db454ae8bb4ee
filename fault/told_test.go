package fault

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// What a stalled replica had open is told by its endpoints' last words, those of a life
// before left out, and of many engines the first few.
func TestRequests(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	r := serving.Replica{Name: "a", Life: "1"}
	w := Workload{Name: "a"}
	j := New(Config{})
	at := func(endpoint string, answer serving.Answer, engines ...serving.Reading) serving.Scrape {
		return serving.Scrape{Replica: r, Endpoint: endpoint, Answer: answer, Engines: engines}
	}
	is := func(when, want string) {
		t.Helper()
		if got := j.requests(w); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	is("nothing was heard", "")
	j.hearServed(Served{Scrapes: []serving.Scrape{
		at("http://a", serving.Answered, serving.Reading{Engine: "0", Running: n(3), Waiting: n(1)}, serving.Reading{Engine: "1", Running: n(0)}),
		at("http://b", serving.Answered, serving.Reading{Waiting: n(2)}),
		{Replica: serving.Replica{Name: "other"}, Endpoint: "http://a", Engines: []serving.Reading{{Running: n(9)}}},
	}})
	is("two endpoints", "engine 0 of http://a told of 3 running and 1 waiting, http://b told of 2 waiting")
	for range 2 {
		j.hearServed(Served{Scrapes: []serving.Scrape{at("http://a", serving.Answered, serving.Reading{Running: n(0)}), at("http://b", serving.Silent)}})
		is("one is silent", "http://b told of 2 waiting")
	}
	var many []serving.Reading
	for i := range maxTold + 2 {
		many = append(many, serving.Reading{Engine: fmt.Sprint(i), Running: n(1)})
	}
	j.hearServed(Served{Scrapes: []serving.Scrape{at("http://a", serving.Answered, many...)}})
	if got := j.requests(w); strings.Count(got, "told") != maxTold || !strings.HasSuffix(got, ", and 2 more engines") {
		t.Errorf("many: %q", got)
	}
	r.Life = "2"
	j.hearServed(Served{Scrapes: []serving.Scrape{at("http://a", serving.Silent)}})
	is("another life", "")
}
