package serving

import (
	"slices"
	"strings"
	"testing"
)

func TestDialects(t *testing.T) {
	want := []string{"vllm", "sglang", "tgi", "triton-trtllm", "triton", "llamacpp", "dynamo", "trtllm"}
	if got := builtin(t).Names(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for dialect, want := range map[string]string{"vllm": DefaultPath, "trtllm": "/prometheus/metrics", "": DefaultPath, "nobody": DefaultPath} {
		if got := builtin(t).Path(dialect); got != want {
			t.Errorf("path of %q is %s, want %s", dialect, got, want)
		}
	}
}

func TestOpenAI(t *testing.T) {
	var with []string
	for _, name := range append(builtin(t).Names(), "nobody", "") {
		if builtin(t).OpenAI(name) {
			with = append(with, name)
		}
	}
	if want := []string{"vllm", "sglang", "tgi", "llamacpp", "trtllm"}; !slices.Equal(with, want) {
		t.Errorf("got %v, want %v", with, want)
	}
}

// A site's own engine, as its configuration has it, and one in the place of ours.
const site = `
- name: lmdeploy
  known: [lmdeploy:num_requests_running]
  running:
    - lmdeploy:num_requests_running{kind="decode",tier="a"} + lmdeploy:num_requests_prefill
  paused: lmdeploy:state{is="asleep"} == 1
- name: vllm
  known: ["vllm:num_requests_running"]
  waiting:
    - vllm:num_requests_running
`

func TestDialectsOfASite(t *testing.T) {
	more, err := ParseDialects([]byte(site))
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDialects(more)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Names(); len(got) != 9 || got[0] != "lmdeploy" || got[1] != "vllm" || got[2] != "sglang" {
		t.Errorf("names %v", got)
	}
	answer := `lmdeploy:num_requests_running{kind="decode",tier="a"} 2
lmdeploy:num_requests_running{kind="decode",tier="b"} 100
lmdeploy:num_requests_running{kind="max",tier="a"} 100
lmdeploy:num_requests_prefill 1
lmdeploy:state{is="asleep"} 1
lmdeploy:state{is="awake"} 0
`
	for _, test := range []struct{ dialect, answer, want string }{
		{"", answer, "lmdeploy\n-: running 3, paused true\n"},
		{"lmdeploy", "vllm:num_requests_running 4\n", "lmdeploy\n-: \n"},
		{"", "vllm:num_requests_running 4\n", "vllm\n-: waiting 4\n"},
	} {
		s, err := d.read(strings.NewReader(test.answer), test.dialect)
		if err != nil || told(s) != test.want {
			t.Errorf("got %q, %v; want %q", told(s), err, test.want)
		}
	}
}

func TestParseDialects(t *testing.T) {
	if list, err := ParseDialects(nil); err != nil || len(list) != 0 {
		t.Errorf("of an empty file: %v, %v", list, err)
	}
	for text, want := range map[string]string{"- name: a\n  colour: red": "line 2: field colour", "name: a": "line 1", "- name: [a": "yaml"} {
		if _, err := ParseDialects([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestDialectsRefused(t *testing.T) {
	with := func(change func(*Dialect)) Dialect {
		d := Dialect{Name: "own", Known: []string{"own_running"}}
		change(&d)
		return d
	}
	tests := []struct {
		want string
		d    Dialect
	}{
		{`dialects[1].name: is empty`, with(func(d *Dialect) { d.Name = "" })},
		{`dialects[1].name: "first" is given twice`, with(func(d *Dialect) { d.Name = "first" })},
		{`dialects[1].known: is empty; nothing would tell the engine "own"`, with(func(d *Dialect) { d.Known = nil })},
		{`dialects[1].known[1]: "own running"`, with(func(d *Dialect) { d.Known = []string{"a", "own running"} })},
		{`dialects[1].path: "metrics"`, with(func(d *Dialect) { d.Path = "metrics" })},
		{`dialects[1].firstToken[0]: "a{b=`, with(func(d *Dialect) { d.FirstToken = []string{`a{b="c"}`} })},
		{`dialects[1].perToken[0]: ""`, with(func(d *Dialect) { d.PerToken = []string{""} })},
		{`dialects[1].running[1]: "9a" is no metric`, with(func(d *Dialect) { d.Running = []string{"a", "9a"} })},
		{`dialects[1].waiting[0]: "" is no metric`, with(func(d *Dialect) { d.Waiting = []string{"a + "} })},
		{`dialects[1].progress[0]: "a{b" is no metric`, with(func(d *Dialect) { d.Progress = []string{"a{b"} })},
		{`dialects[1].tokens[0]: "b=c" is no condition`, with(func(d *Dialect) { d.Tokens = []string{"a{b=c}"} })},
		{`dialects[1].finished[0]: "b-c=\"d\"" is no condition`, with(func(d *Dialect) { d.Finished = []string{`a{b-c="d"}`} })},
		{`dialects[1].paused: "a" compares nothing`, with(func(d *Dialect) { d.Paused = "a" })},
		{`dialects[1].paused: "a == off": invalid syntax`, with(func(d *Dialect) { d.Paused = "a == off" })},
		{`dialects[1].paused: "" is no metric`, with(func(d *Dialect) { d.Paused = "== 0" })},
	}
	for _, test := range tests {
		first := Dialect{Name: "first", Known: []string{"a"}}
		if _, err := NewDialects([]Dialect{first, test.d}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
