package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// indent is where the text behind a time and a tag begins.
const indent = 18

// voice tells the play, one line at a time.
type voice struct {
	mu    sync.Mutex
	out   *page
	style replay.Style
	began time.Time
	// short puts "GPU 5" in the place of a UUID: easier to follow, and no name to
	// rely on anywhere else.
	short *strings.Replacer
}

func newVoice(out *page, style replay.Style, gpus []node.GPU) *voice {
	var names []string
	for _, g := range gpus {
		name := fmt.Sprintf("GPU %d", g.Index)
		names = append(names, g.UUID+" ("+g.PCI+")", name+" ("+g.PCI+")", g.UUID, name)
	}
	return &voice{out: out, style: style, began: time.Now(), short: strings.NewReplacer(names...)}
}

func (v *voice) open(gpus int) {
	fmt.Fprintf(v.out, `A simulated HGX H100 node: %d GPUs, a driver and a kernel log of its own. The daemon is the real one.
Times are seconds since the start. GPU 0 to %d stand for the UUIDs that the daemon goes by.

  heard    a line of the driver in the kernel log
  verdict  what the daemon holds of it: the class of fault, the action, how far the damage reaches, and why
  plan     what it would change on the Kubernetes Node
  event    what it would tell about the Node

`, gpus, gpus-1)
}

func (v *voice) close() {
	fmt.Fprint(v.out, `
That is the play. Go on with a kernel log of your own:  journalctl -k -o short-iso | gpuhealthd replay
or ask what a number means and what is done about it:   gpuhealthd explain 79
`)
}

// say announces what is done to the node.
func (v *voice) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.out, "\n%5.1f  %s\n", time.Since(v.began).Seconds(), v.style.Strong("■ "+text))
}

// record is one line of the daemon's log, as far as it is told.
type record struct {
	Level   string   `json:"level"`
	Msg     string   `json:"msg"`
	Text    string   `json:"text"`
	Fault   string   `json:"fault"`
	Action  string   `json:"action"`
	Radius  string   `json:"radius"`
	GPUs    []string `json:"gpus"`
	Inside  int      `json:"affected"`
	Reason  string   `json:"reason"`
	Root    string   `json:"root"`
	Error   string   `json:"error"`
	Why     string   `json:"why"`
	Version string   `json:"version"`
}

// narrate tells the daemon's log until it ends.
func (v *voice) narrate(logs io.Reader) {
	sc := bufio.NewScanner(logs)
	for sc.Scan() {
		var r record
		if json.Unmarshal(sc.Bytes(), &r) != nil {
			r = record{Level: "ERROR", Msg: sc.Text()}
		}
		v.mu.Lock()
		for n, text := range v.words(r) {
			when := strings.Repeat(" ", 5)
			if n == 0 {
				when = fmt.Sprintf("%5.1f", time.Since(v.began).Seconds())
			}
			fmt.Fprintf(v.out, "%s    %s\n", when, text)
		}
		v.mu.Unlock()
	}
}

// words puts one log line in words; none leaves it out.
func (v *voice) words(r record) []string {
	would, plan := strings.CutPrefix(r.Msg, "would ")
	told, event := strings.CutPrefix(would, "tell ")
	switch {
	case r.Msg == "start":
		return []string{"gpuhealthd " + r.Version + " starts"}
	case r.Msg == "heard":
		return v.line("heard", replay.Printable(r.Text), v.plain)
	case r.Msg == "verdict":
		return v.verdict(r)
	case event:
		_, told, _ = strings.Cut(told, " event ")
		return v.line("event", told, v.style.Dim)
	case plan:
		return v.line("plan", "would "+would, v.style.Dim)
	case r.Level == "WARN" || r.Level == "ERROR":
		return v.line("", strings.TrimSpace(r.Msg+" "+r.Why+" "+r.Error), v.style.Bad)
	}
	return nil
}

func (v *voice) plain(text string) string { return text }

// line is a tag and as much of a text as fits behind it.
func (v *voice) line(tag, text string, paint func(string) string) []string {
	return []string{paint(fmt.Sprintf("%-9s%s", tag, clip(v.short.Replace(text), v.out.width-indent)))}
}

func (v *voice) verdict(r record) []string {
	where := strings.Join(r.GPUs, ", ")
	switch {
	case strings.HasPrefix(r.Fault, "sxid-"):
		where = "a switch"
	case where == "":
		where = "the node"
	}
	text := fmt.Sprintf("%s: %s, radius %s, on %s", r.Fault, r.Action, r.Radius, where)
	if r.Inside > 1 {
		text += fmt.Sprintf(" (%d GPUs inside)", r.Inside)
	}
	paint := v.plain
	switch {
	case r.Action == "none":
		paint = v.style.Good
	case r.Root == "" && r.Action != "record":
		paint = v.style.Bad
	}
	lines := v.line("verdict", text, paint)
	for _, part := range replay.Wrap(r.Reason, v.out.width-indent) {
		lines = append(lines, strings.Repeat(" ", 9)+part)
	}
	return lines
}

// clip cuts a text to so many characters.
func clip(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
