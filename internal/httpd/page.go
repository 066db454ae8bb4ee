package httpd

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
)

// summary is what the page shows of the present state. What engines and pods are called
// is hostile text, which html/template escapes.
var summary = template.Must(template.New("summary").Funcs(template.FuncMap{"number": number}).Parse(`
<h3>Node: {{with .Node}}{{.State}}{{else}}not known yet{{end}} (mode {{.Mode}})</h3>
{{with .NotReady}}<ul>{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{if .Incidents}}<table>
<tr><th>Incident</th><th>Fault</th><th>State</th><th>Reason</th></tr>
{{range .Incidents}}<tr><td><a href="/api/v1/events/{{.Verdict.ID}}">{{.Verdict.ID}}</a></td><td>{{.Verdict.Class}}</td><td>{{.State}}</td><td>{{.Verdict.Reason}}</td></tr>
{{end}}</table>{{end}}
{{with $serving := .Serving}}<table>
<tr><th>Replica</th><th>Model</th><th>State</th><th>Score</th><th>Parts</th><th>First token</th><th>Per token</th></tr>
{{range .Replicas}}<tr><td>{{.Replica.Name}}</td><td>{{.Model}}</td><td>{{$serving.Word .}}</td><td>{{number .Value}}</td><td>{{range $part, $value := .Parts}}{{$part}} {{printf "%.2f" $value}} {{end}}</td><td>{{number .Latency.FirstToken}}</td><td>{{number .Latency.PerToken}}</td></tr>
{{end}}</table>
{{range .Faults}}<p>{{.Workload}}: {{.Fault}}, {{.Action}}: {{.Reason}}</p>
{{end}}{{range .Trials}}{{with $trial := .}}{{with .Wants}}<p>{{$trial.Replica.Name}} {{$trial.Stands}}: {{.}}</p>
{{end}}{{end}}{{end}}{{with .Fleet}}<p>{{.}}</p>{{end}}
{{range .Troubles}}<p>{{.}}</p>
{{end}}{{range .Unasked}}<p>{{.Replica}}, {{.Endpoint}}: {{.Why}}</p>{{end}}{{end}}
`))

// tableStyle is beside the landing page's own.
const tableStyle = "table { border-collapse: collapse; margin: 1em 0 } td, th { padding: 0.2em 0.8em; text-align: left; border-bottom: 1px solid #ddd }"

// number writes one, or that nobody knows it.
func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// showPage answers with the node's state, the replicas, and where there is more.
func showPage(w http.ResponseWriter, r *http.Request, a Agent, version string) {
	var now strings.Builder
	err := summary.Execute(&now, a.Status())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page, err := web.NewLandingPage(web.LandingConfig{
		Name:        "gpuhealthd",
		Description: "GPU health on this node: what is broken, how far it reaches, what is done about it.",
		Version:     version,
		ExtraHTML:   now.String(),
		ExtraCSS:    tableStyle,
		Profiling:   "false",
		Links: []web.LandingLinks{
			{Address: "/api/v1/status", Text: "Status", Description: "the node's state as JSON; gpuhealthd status shows it as text"},
			{Address: "/api/v1/topology", Text: "Topology", Description: "its NVLinks as JSON; gpuhealthd topology draws them"},
			{Address: "/api/v1/events", Text: "Events", Description: "the incidents, open and past, as JSON; gpuhealthd events shows them as text"},
			{Address: "/metrics", Text: "Metrics"},
			{Address: "/healthz", Text: "Health", Description: "of this process"},
			{Address: "/readyz", Text: "Readiness", Description: "of its sources"},
		},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page.ServeHTTP(w, r)
}
