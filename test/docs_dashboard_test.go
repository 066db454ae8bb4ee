package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// dashboard is what is looked at of the one in deploy/.
type dashboard struct {
	UID        string
	Templating struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage // a text, or an object that has one
		}
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  struct{ Type, UID string }
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ RefID, Expr, LegendFormat string }
}

func readDashboard(t *testing.T) (d dashboard, text []byte) {
	t.Helper()
	text, err := os.ReadFile("../deploy/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("deploy/dashboard.json: %v", err)
	}
	return d, text
}

// TestTheDashboardIsWhole: what Grafana has by itself, from the data source that was
// chosen, side by side, and formatted so that a change can be read.
func TestTheDashboardIsWhole(t *testing.T) {
	d, text := readDashboard(t)
	var formatted bytes.Buffer
	if err := json.Indent(&formatted, text, "", "  "); err != nil || !bytes.Equal(formatted.Bytes(), text) {
		t.Errorf("it is not formatted by two spaces (%v)", err)
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	if want := []string{"datasource", "group", "node"}; d.UID != "gpuhealthd" || !slices.Equal(variables, want) {
		t.Errorf("uid %s and variables %v, want gpuhealthd and %v", d.UID, variables, want)
	}
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if other, taken := ids[p.ID]; taken || p.ID == 0 {
			t.Errorf("%s: id %d, which is none or that of %q", p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[cell]; taken || cell[0] >= 24 {
					t.Errorf("%s is outside, or over %q", p.Title, other)
				}
				cells[cell] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if !slices.Contains([]string{"timeseries", "stat", "table"}, p.Type) {
			t.Errorf("%s: type %s wants a plugin", p.Title, p.Type)
		}
		if p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%s: asks %v %d things", p.Title, p.Datasource, len(p.Targets))
		}
	}
}

// TestTheDashboardIsUnderstood by Prometheus's own parser.
func TestTheDashboardIsUnderstood(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	d, _ := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("panel%d:%s", p.ID, target.RefID), strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(tool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, output)
	}
}

var (
	// selector is a metric and its matchers, or a metric without any.
	selector = regexp.MustCompile(`\b(gpuhealthd_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)(?:=~|!=|=)"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend   = regexp.MustCompile(`\{\{(\w+)\}\}`)
	word     = regexp.MustCompile(`[a-zA-Z_]\w*\b[^(\w]`)
	quantity = regexp.MustCompile(`\[[^\]]*\]`)
)

// targetLabels are those of a target: docs/metrics.md has them.
var targetLabels = []string{"node", "group"}

// TestTheDashboardAsksForWhatIsExported: metrics, labels and classes of fault that there
// are, and of them those of the nodes that were chosen.
func TestTheDashboardAsksForWhatIsExported(t *testing.T) {
	exported := metrics(t)
	d, _ := readDashboard(t)
	for _, v := range d.Templating.List {
		for _, found := range metricName.FindAllString(string(v.Query), -1) {
			if !exported.has(found) {
				t.Errorf("variable %s asks for %s, which is not exported", v.Name, found)
			}
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, complaint := range complaints(exported, target.Expr, target.LegendFormat) {
				t.Errorf("panel %d, %s: %s", p.ID, p.Title, complaint)
			}
		}
	}
}

// complaints are what is wrong with an expression and the legend of what it gives.
func complaints(exported names, expr, legendFormat string) (found []string) {
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	labels := slices.Clone(targetLabels)
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		name := series.ReplaceAllString(s[1], "")
		if !exported.has(name) {
			complain("%s is not exported", s[1])
		}
		own := slices.Concat(exported[name], targetLabels)
		if name != s[1] {
			own = append(own, "le")
		}
		labels = append(labels, own...)
		matched := map[string]string{}
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			matched[m[1]] = m[2]
			if !slices.Contains(own, m[1]) {
				complain("%s has no label %s", name, m[1])
			}
			for class := range strings.SplitSeq(m[2], "|") {
				if m[1] == "fault" && !fault.Class(class).Known() {
					complain("%s is no class of fault", class)
				}
			}
		}
		if matched["node"] != "$node" || matched["group"] != "$group" {
			complain("%s is that of all nodes, whichever are chosen", name)
		}
	}
	rest := selector.ReplaceAllString(expr, "")
	var kept []string
	for _, by := range grouping.FindAllStringSubmatch(rest, -1) {
		kept = strings.Split(by[1], ", ")
		for _, label := range kept {
			if !slices.Contains(labels, label) {
				complain("nothing in %s has the label %s", expr, label)
			}
		}
	}
	for _, other := range word.FindAllString(quantity.ReplaceAllString(grouping.ReplaceAllString(rest, "("), "")+" ", -1) {
		if other = other[:len(other)-1]; !slices.Contains([]string{"sum", "max", "min"}, other) {
			complain("%s is not the agent's", other)
		}
	}
	for _, label := range legend.FindAllStringSubmatch(legendFormat, -1) {
		if !slices.Contains(kept, label[1]) {
			complain("the legend names %s, and %s does not keep it", label[1], expr)
		}
	}
	return found
}

// TestWhatIsWrongWithAnExpressionIsFound, since the one above passes where nothing is.
func TestWhatIsWrongWithAnExpressionIsFound(t *testing.T) {
	exported := names{"gpuhealthd_a": {"fault"}, "gpuhealthd_b_seconds": {"verb"}}
	const chosen = `node=~"$node", group=~"$group"`
	for _, c := range []struct{ expr, legend, want string }{
		{`sum by (fault) (gpuhealthd_a{fault=~"xid-79|xid-48", ` + chosen + `})`, "{{fault}}", ""},
		{`histogram_quantile(0.9, sum by (le, verb) (rate(gpuhealthd_b_seconds_bucket{` + chosen + `}[5m])))`, "{{verb}}", ""},
		{`sum(gpuhealthd_c{` + chosen + `})`, "", "gpuhealthd_c is not exported"},
		{`sum(gpuhealthd_a{verb="x", ` + chosen + `})`, "", "gpuhealthd_a has no label verb"},
		{`sum(gpuhealthd_a{fault="xid-790", ` + chosen + `})`, "", "xid-790 is no class of fault"},
		{`sum(gpuhealthd_a{node=~"$node"})`, "", "gpuhealthd_a is that of all nodes, whichever are chosen"},
		{`sum(gpuhealthd_a)`, "", "gpuhealthd_a is that of all nodes, whichever are chosen"},
		{`sum by (le) (gpuhealthd_a{` + chosen + `})`, "", "has the label le"},
		{`sum(up) + sum(gpuhealthd_a{` + chosen + `})`, "", "up is not the agent's"},
		{`sum(gpuhealthd_a{` + chosen + `})`, "{{fault}}", "the legend names fault"},
	} {
		got := strings.Join(complaints(exported, c.expr, c.legend), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.expr, got, c.want)
		}
	}
}
