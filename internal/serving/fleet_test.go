package serving

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/remediate/prometheus"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// fakePrometheus has a number for some histograms of some models, and none for others.
func fakePrometheus(t *testing.T, numbers map[string]string) (server *httptest.Server, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		expression := r.FormValue("query")
		*asked = append(*asked, expression)
		result := ""
		for part, number := range numbers {
			if strings.Contains(expression, part) {
				result = fmt.Sprintf(`{"metric":{},"value":[1,%q]}`, number)
			}
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func engineOf(dialect string, models ...string) serving.Scrape {
	s := serving.Scrape{Dialect: dialect}
	for _, m := range models {
		s.Engines = append(s.Engines, serving.Reading{Model: m})
	}
	return s
}

// TestFleet: each model is asked for once, by the names of its engine's histograms.
// What nobody knows is left out.
func TestFleet(t *testing.T) {
	server, asked := fakePrometheus(t, map[string]string{
		`rate(vllm:time_to_first_token_seconds_bucket{model_name="org/a"}[5m])`:       "0.25",
		`rate(sglang:time_per_output_token_seconds_bucket{model_name="org/b\""}[5m])`: "0",
	})
	s := &Serving{options: Options{Dialects: dialects(t), Prometheus: prometheus.Server{URL: server.URL}}, last: []serving.Scrape{
		engineOf("vllm", "org/a", "org/a"), engineOf("vllm", "org/a"), engineOf("sglang", `org/b"`), engineOf("tgi", "no label tells"),
		engineOf("vllm", strings.Repeat("x", 1000), ""), engineOf("", "not an engine"),
	}}
	fleet, err := s.Fleet(t.Context())
	quarter, zero := 0.25, 0.0
	want := serving.Fleet{"org/a": {FirstToken: &quarter}, `org/b"`: {PerToken: &zero}}
	if diff := cmp.Diff(want, fleet); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if len(*asked) != 4 {
		t.Errorf("asked %d times: %s", len(*asked), strings.Join(*asked, "\n"))
	}
	const per = `quantile(0.5, histogram_quantile(0.95, sum by (instance, le) (rate(vllm:inter_token_latency_seconds_bucket{model_name="org/a"}[5m]))) >= 0)` +
		` or quantile(0.5, histogram_quantile(0.95, sum by (instance, le) (rate(vllm:time_per_output_token_seconds_bucket{model_name="org/a"}[5m]))) >= 0)`
	if last := (*asked)[3]; last != per {
		t.Errorf("asked %s", last)
	}
	server.Close()
	if fleet, err = s.Fleet(t.Context()); err == nil || fleet["org/a"].FirstToken != nil || strings.Count(err.Error(), "ask ") != 2 {
		t.Errorf("a server that is gone: %v, %v", fleet, err)
	}
}

// However many models engines claim to have, only so many are asked for.
func TestFleetIsBounded(t *testing.T) {
	server, asked := fakePrometheus(t, nil)
	s := &Serving{options: Options{Dialects: dialects(t), Prometheus: prometheus.Server{URL: server.URL}}}
	for n := range 100 {
		s.last = append(s.last, engineOf("vllm", fmt.Sprint(n)))
	}
	if _, err := s.Fleet(t.Context()); err != nil || len(*asked) != 2*kindsLimit {
		t.Errorf("asked %d times, %v", len(*asked), err)
	}
}
