package serving

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// large is what an engine of vLLM says: about 1,500 lines, of which the agent wants
// fifty.
func large() []byte {
	var b bytes.Buffer
	b.WriteString("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.796e+09\n")
	for _, gauge := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"} {
		fmt.Fprintf(&b, "# HELP vllm:%s Of the scheduler.\n# TYPE vllm:%s gauge\nvllm:%s{engine=\"0\",model_name=\"org/model-70b\"} 3.0\n", gauge, gauge, gauge)
	}
	for _, counter := range []string{"prompt_tokens", "generation_tokens", "request_success", "num_preemptions"} {
		fmt.Fprintf(&b, "# TYPE vllm:%s counter\nvllm:%s_total{engine=\"0\",model_name=\"org/model-70b\"} 123456.0\n", counter, counter)
	}
	names := []string{"time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds"}
	for i := len(names); i < 60; i++ {
		names = append(names, fmt.Sprintf("something_else_%d_seconds", i))
	}
	for _, name := range names {
		fmt.Fprintf(&b, "# HELP vllm:%s A histogram.\n# TYPE vllm:%s histogram\n", name, name)
		for i := range 22 {
			fmt.Fprintf(&b, "vllm:%s_bucket{engine=\"0\",le=\"%g\",model_name=\"org/model-70b\"} %d.0\n", name, 0.01*float64(i+1), 100*i)
		}
		fmt.Fprintf(&b, "vllm:%s_count{engine=\"0\",model_name=\"org/model-70b\"} 2100.0\nvllm:%s_sum{engine=\"0\",model_name=\"org/model-70b\"} 12.5\n", name, name)
	}
	return b.Bytes()
}

// BenchmarkRead reads one answer.
func BenchmarkRead(b *testing.B) {
	text, dialects := large(), builtin(b)
	b.ReportMetric(float64(bytes.Count(text, []byte("\n"))), "lines")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if s, err := dialects.read(bytes.NewReader(text), ""); err != nil || s.engines[0].PerToken == nil {
			b.Fatal(s, err)
		}
	}
}

// BenchmarkRound asks eight replicas over the loopback once, with what answering
// costs: every five seconds, unless the period is set otherwise.
func BenchmarkRound(b *testing.B) {
	text := large()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer server.Close()
	targets := make([]Target, 8)
	for i := range targets {
		targets[i] = Target{Replica: serving.Replica{Name: fmt.Sprint(i)}, URL: server.URL}
	}
	s, err := New(Options{Targets: func() []Target { return targets }, Period: 5 * time.Second, Deadline: 5 * time.Second, Dialects: builtin(b), Proc: "/proc"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.round(b.Context(), nil, func(list []serving.Scrape) {
			for _, scrape := range list {
				if scrape.Answer != serving.Answered {
					b.Fatal(scrape.Why)
				}
			}
		})
	}
}
