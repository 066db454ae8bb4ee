package daemontest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
)

// limit is long for a machine that does much else; nothing here needs it.
const limit = 60 * time.Second

// Await asks until the answer is yes, and fails the test when it never is.
func Await(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !yes(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain until %s", limit, what)
		}
	}
}

// Get asks the daemon over HTTP.
func (d *Daemon) Get(path string) (code int, body string) {
	d.t.Helper()
	answer, err := http.Get(d.url + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Ready says whether all sources work.
func (d *Daemon) Ready() bool {
	d.t.Helper()
	code, _ := d.Get("/readyz")
	return code == http.StatusOK
}

// AwaitReady returns when all sources work.
func (d *Daemon) AwaitReady() {
	d.t.Helper()
	Await(d.t, "/readyz is green", d.Ready)
}

// AwaitNotReady returns when /readyz says all of texts.
func (d *Daemon) AwaitNotReady(texts ...string) {
	d.t.Helper()
	Await(d.t, "/readyz says "+strings.Join(texts, ", "), func() bool {
		code, body := d.Get("/readyz")
		return code == http.StatusServiceUnavailable && containsAll(body, texts)
	})
}

// AwaitLog returns when a line of the log has all of texts.
func (d *Daemon) AwaitLog(texts ...string) {
	d.t.Helper()
	Await(d.t, "the log says "+strings.Join(texts, ", "), func() bool {
		return slices.ContainsFunc(strings.Split(d.Log(), "\n"), func(line string) bool { return containsAll(line, texts) })
	})
}

// Status is what /api/v1/status says.
func (d *Daemon) Status() (s agent.Status) {
	d.t.Helper()
	_, body := d.Get("/api/v1/status")
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		d.t.Fatalf("/api/v1/status: %v", err)
	}
	return s
}

// StatusText is what the command gpuhealthd status prints.
func (d *Daemon) StatusText() string {
	d.t.Helper()
	return d.Call("status", "--url", d.url)
}

// Call is what any command of gpuhealthd prints.
func (d *Daemon) Call(args ...string) string {
	d.t.Helper()
	out, err := exec.Command(d.binary, args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("gpuhealthd %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// URL is where the daemon answers.
func (d *Daemon) URL() string { return d.url }

// Metric sums the samples of a metric, whose name has no prefix here, that
// carry all of the labels, each written as name="value".
func (d *Daemon) Metric(name string, labels ...string) (sum float64) {
	d.t.Helper()
	_, body := d.Get("/metrics")
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		have, of, _ := strings.Cut(series, "{")
		if have != "gpuhealthd_"+name || !containsAll(of, labels) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			d.t.Fatalf("metric %s: %v", series, err)
		}
		sum += v
	}
	return sum
}

// AwaitMetric returns when the sum that Metric gives is at least so much.
func (d *Daemon) AwaitMetric(least float64, name string, labels ...string) {
	d.t.Helper()
	Await(d.t, name+" is "+strconv.FormatFloat(least, 'g', -1, 64), func() bool {
		return d.Metric(name, labels...) >= least
	})
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
