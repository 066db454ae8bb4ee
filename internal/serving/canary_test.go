package serving

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// TestCanaries has whom a canary asks, and where.
func TestCanaries(t *testing.T) {
	t.Parallel()
	port := map[string]string{AnnotationPort: "8000", AnnotationDialect: "vllm"}
	with := func(more ...string) map[string]string {
		all := map[string]string{}
		for _, of := range []map[string]string{port, {more[0]: more[1]}} {
			for k, v := range of {
				all[k] = v
			}
		}
		return all
	}
	guess := map[string]string{prometheusScrape: "true", prometheusPort: "8000"}
	for name, c := range map[string]struct {
		annotations, labels map[string]string
		spoken              string // by the endpoint's last answer
		want                []string
		asked               bool
		wrong               string
	}{
		"of a known kind":        {annotations: port, want: []string{"http://10.0.0.1:8000"}, asked: true},
		"of no kind yet":         {annotations: with(AnnotationDialect, ""), want: []string{"http://10.0.0.1:8000"}, asked: true},
		"of a kind elsewhere":    {annotations: with(AnnotationDialect, "triton")},
		"guessed, not heard yet": {annotations: guess, asked: true},
		"guessed, and heard":     {annotations: guess, spoken: "sglang", want: []string{"http://10.0.0.1:8000"}, asked: true},
		"guessed, and Dynamo's":  {annotations: guess, spoken: "dynamo"},
		"a port":                 {annotations: with(AnnotationCanary, "9000, 9001"), want: []string{"http://10.0.0.1:9000", "http://10.0.0.1:9001"}, asked: true},
		"none":                   {annotations: with(AnnotationCanary, "none")},
		"no port":                {annotations: with(AnnotationCanary, "http"), wrong: `annotation gpuhealthd.io/canary-port: "http" is no port`},
		"decode":                 {annotations: port, labels: map[string]string{"llm-d.ai/role": "decode"}, want: []string{"http://10.0.0.1:8000"}, asked: true},
		"prefill":                {annotations: port, labels: map[string]string{"llm-d.ai/role": "prefill"}},
		"prefill that answers":   {annotations: with(AnnotationCanary, "9000"), labels: map[string]string{"llm-d.ai/role": "prefill"}, want: []string{"http://10.0.0.1:9000"}, asked: true},
		"a worker of Dynamo":     {annotations: port, labels: map[string]string{dynamoComponent: "worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dialects: dialects(t), Canary: true, Roles: roleLabels}
			p := pod("10.0.0.1", c.annotations)
			p.Labels = c.labels
			r := o.replica(p, nil)
			s := &Serving{options: o, spoken: map[string]string{keyOf(r, "http://10.0.0.1:8000/metrics"): c.spoken}}
			endpoints, err := o.endpoints(p)
			if err != nil {
				t.Fatal(err)
			}
			w, err := o.wishOf(p, r.Role)
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("got %v, want %q", err, c.wrong)
			}
			targets, asked := s.canaries(r, w, endpoints)
			var got []string
			for _, target := range targets {
				got = append(got, target.URL)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || asked != c.asked {
				t.Errorf("asked %t: %s", asked, diff)
			}
			o.Canary = false
			if w, err := o.wishOf(p, ""); !w.none || err != nil {
				t.Errorf("without a canary: %+v, %v", w, err)
			}
		})
	}
}

// TestCanariesOfASite has those outside of pods.
func TestCanariesOfASite(t *testing.T) {
	t.Parallel()
	o := Options{Canary: true, Dialects: dialects(t), Engines: []Engine{
		{Name: "at-the-metrics", URLs: []string{"http://a:1/metrics"}, GPUs: []string{"GPU-0"}, Model: "m"},
		{Name: "elsewhere", URLs: []string{"http://a:2/metrics"}, GPUs: []string{"GPU-1"}, Dialect: "triton", Canary: "http://a:3"},
		{Name: "nowhere", URLs: []string{"http://a:4/metrics"}, GPUs: []string{"GPU-2"}, Canary: "none"},
	}}
	s, err := New(func() Options { o.Period, o.Deadline = time.Second, time.Second; return o }())
	if err != nil {
		t.Fatal(err)
	}
	s.targets()
	var got []string
	for _, target := range s.Canaries(func(serving.Replica) bool { return true }) {
		got = append(got, target.Replica.Name+" "+target.URL+" "+target.Model)
	}
	if diff := cmp.Diff([]string{"at-the-metrics http://a:1 m", "elsewhere http://a:3 "}, got); diff != "" {
		t.Error(diff)
	}
	asked := map[string]bool{}
	for _, e := range s.Entrants() {
		asked[e.Replica.Name] = e.Asked
	}
	if diff := cmp.Diff(map[string]bool{"at-the-metrics": true, "elsewhere": true, "nowhere": false}, asked); diff != "" {
		t.Error(diff)
	}
	yes := true
	s.last = []serving.Scrape{{Replica: serving.Replica{Name: "elsewhere"}, Engines: []serving.Reading{{Paused: &yes}}}}
	if got := s.Canaries(func(r serving.Replica) bool { return r.Name != "at-the-metrics" }); len(got) > 0 {
		t.Errorf("one that may not be asked, and one that sleeps: %+v", got)
	}
}
