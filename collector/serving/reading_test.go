package serving

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

var update = flag.Bool("update", false, "rewrite testdata/*.want")

func builtin(t testing.TB) *Dialects {
	t.Helper()
	d, err := NewDialects(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// told is an answer as text: one line for the endpoint, one for each engine, and
// nothing of what is unknown.
func told(s said) string {
	var b strings.Builder
	if s.dialect == "" {
		return "foreign\n"
	}
	b.WriteString(s.dialect)
	if !s.started.IsZero() {
		b.WriteString(" started " + s.started.UTC().Format(time.RFC3339Nano))
	}
	for _, r := range s.engines {
		b.WriteString("\n" + engine(r) + ": " + strings.Join(parts(r), ", "))
	}
	return b.String() + "\n"
}

func engine(r serving.Reading) string {
	name := r.Engine
	if name == "" {
		name = "-"
	}
	if r.Model != "" {
		name += " (" + r.Model + ")"
	}
	return name
}

func parts(r serving.Reading) (parts []string) {
	for _, v := range []struct {
		name string
		v    *float64
	}{{"running", r.Running}, {"waiting", r.Waiting}, {"deferred", r.Deferred}, {"progress", r.Progress}, {"tokens", r.Tokens}, {"finished", r.Finished}} {
		if v.v != nil {
			parts = append(parts, fmt.Sprintf("%s %g", v.name, *v.v))
		}
	}
	if r.Paused != nil {
		parts = append(parts, fmt.Sprintf("paused %t", *r.Paused))
	}
	for _, v := range []struct {
		name string
		h    *serving.Histogram
	}{{"firstToken", r.FirstToken}, {"perToken", r.PerToken}} {
		if v.h != nil {
			text := v.name
			for i := range v.h.Bounds {
				text += fmt.Sprintf(" %g:%g", v.h.Bounds[i], v.h.Counts[i])
			}
			parts = append(parts, text)
		}
	}
	return parts
}

func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := builtin(t).read(strings.NewReader(string(text)), "")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".txt") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(told(got)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), told(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The samples of real engines that the project was given.
func TestReadSamples(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "facts", "metrics_samples")
	want := map[string]string{
		"llamacpp.txt":                     "llamacpp\n-: running 0, waiting 0\n",
		"sglang_docs.txt":                  "sglang\n- (meta-llama/Llama-3.1-8B-Instruct): running 162, waiting 2826, progress 7.400757e+06, tokens 7.400757e+06\n",
		"tgi.txt":                          "tgi\n-: running 2, waiting 0, progress 5161, finished 40\n",
		"triton_trtllm_backend.txt":        "triton-trtllm\n- (tensorrt_llm): running 1, waiting 1\n",
		"trtllm_serve_and_dynamo.txt":      "dynamo\n-: running 3, finished 155, perToken 0.1:120\n",
		"vllm_headers_only_no_samples.txt": "vllm\n-: \n",
		"vllm_new_engine_label.txt":        "vllm\n0 (Qwen/Qwen2.5-0.5B-Instruct): running 0, waiting 0, progress 40, tokens 32, finished 2, paused false\n",
		"vllm_new_waiting_by_reason.txt":   "vllm\n0 (qwen3.6): running 1, waiting 0, progress 2.015e+06, tokens 15000\n",
		"vllm_old_v0_model_name_only.txt":  "vllm\n- (Qwen/Qwen3.6-27B-FP8): running 0, waiting 0, progress 19134, tokens 6789, finished 42\n",
		"dcgm_exporter_sentinel.txt":       "foreign\n",
	}
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Skipf("the samples are not beside this checkout: %v", err)
			}
			got, err := builtin(t).read(strings.NewReader(strings.TrimRight(string(text), "\n")+"\n"), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, told(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	const running = "vllm:num_requests_running"
	tests := map[string]struct{ text, want string }{
		"cut off":           {running + " 1", "in the middle of a line"},
		"JSON":              {`[{"iter":1}]`, "in the middle of a line"},
		"no number":         {"\n" + running + " many\n", "line 2"},
		"bad labels":        {running + "{engine=0} 1\n", "line 1"},
		"two types":         {"# TYPE " + running + " gauge\n# TYPE " + running + " counter\n" + running + " 1\n", "line 2"},
		"a long line":       {running + "{engine=\"" + strings.Repeat("x", lineLimit) + "\"} 1\n", "longer than"},
		"a long line of no": {"x{y=\"" + strings.Repeat("x", lineLimit) + "\"} 1\n", "longer than"},
		"too much":          {strings.Repeat("# nobody's\n", bodyLimit/10), "longer than"},
		"too many series":   {strings.Repeat(running+" 1\n", seriesLimit+1), "series"},
		"too many engines":  {manyEngines(engineLimit + 1), "engines"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := builtin(t).read(strings.NewReader(test.text), "")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	if s, err := builtin(t).read(strings.NewReader("x{y= 1\n"+manyEngines(engineLimit)), ""); err != nil || len(s.engines) != engineLimit {
		t.Errorf("%d engines, and an error in a line that is not ours: %v", len(s.engines), err)
	}
}

func manyEngines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "vllm:num_requests_running{engine=\"%d\"} 1\n", i)
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	samples, _ := filepath.Glob("../../../shared/facts/metrics_samples/*.txt")
	for _, file := range append(files, samples...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	dialects := builtin(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := dialects.read(strings.NewReader(text), "")
		if err != nil {
			return
		}
		for _, r := range s.engines {
			for _, v := range []*float64{r.Running, r.Waiting, r.Progress, r.Tokens, r.Finished} {
				if v != nil && !(*v >= 0 && *v <= math.MaxFloat64) {
					t.Errorf("a value of %g", *v)
				}
			}
			for _, h := range []*serving.Histogram{r.FirstToken, r.PerToken} {
				if h != nil && len(h.Bounds) != len(h.Counts) {
					t.Errorf("%d bounds and %d counts", len(h.Bounds), len(h.Counts))
				}
			}
		}
	})
}
