package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// voice tells the play, one line at a time.
type voice struct {
	mu    sync.Mutex
	out   io.Writer
	style replay.Style
	began time.Time
}

func newVoice(out io.Writer, style replay.Style) *voice {
	return &voice{out: out, style: style, began: time.Now()}
}

func (v *voice) open(gpus int) {
	fmt.Fprintf(v.out, "A simulated HGX H100 node with %d GPUs and a kernel log of its own. The daemon is the real one;\n"+
		"its log actuator says what it would do. Times are seconds since the start.\n", gpus)
}

// say announces what is done to the node.
func (v *voice) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Fprintf(v.out, "\n%5.1f  ■ %s\n", time.Since(v.began).Seconds(), text)
}

// record is one line of the daemon's log, as far as it is told.
type record struct {
	Level   string   `json:"level"`
	Msg     string   `json:"msg"`
	Kind    string   `json:"kind"`
	Code    int      `json:"code"`
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
		if text := v.words(r); text != "" {
			v.mu.Lock()
			fmt.Fprintf(v.out, "%5.1f    %s\n", time.Since(v.began).Seconds(), text)
			v.mu.Unlock()
		}
	}
}

// words puts one log line in words; empty leaves it out.
func (v *voice) words(r record) string {
	switch {
	case r.Msg == "start":
		return "gpuhealthd " + r.Version + " starts"
	case r.Msg == "heard":
		return "heard    " + replay.Printable(clip(r.Text, 110))
	case r.Msg == "verdict":
		return v.verdict(r)
	case strings.HasPrefix(r.Msg, "would "):
		return v.style.Dim("plan     " + clip(r.Msg, 140))
	case r.Level == "WARN" || r.Level == "ERROR":
		return v.style.Bad(strings.TrimSpace(r.Msg + " " + r.Why + " " + r.Error))
	}
	return ""
}

func (v *voice) verdict(r record) string {
	where := strings.Join(r.GPUs, ", ")
	if where == "" {
		where = "the node"
	}
	text := fmt.Sprintf("verdict  %s: %s, radius %s, on %s", r.Fault, r.Action, r.Radius, where)
	if r.Inside > 1 {
		text += fmt.Sprintf(" (%d GPUs inside)", r.Inside)
	}
	switch {
	case r.Action == "none":
		text = v.style.Good(text)
	case r.Root == "" && r.Action != "record":
		text = v.style.Bad(text)
	}
	return text + "\n" + strings.Repeat(" ", 18) + r.Reason
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// freePort asks the system for a port that nobody uses.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
