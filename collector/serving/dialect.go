package serving

import (
	"bytes"
	_ "embed" // the table of dialects
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// lagLimit is the longest that what an engine tells may be behind.
const lagLimit = 10 * time.Minute

// DefaultPath is where an endpoint's metrics are, unless its dialect says otherwise.
const DefaultPath = "/metrics"

// Dialect says by which metrics a kind of engine tells what. dialects.yaml has the
// meaning of each field and how an expression is written.
type Dialect struct {
	Name       string        `yaml:"name"`
	Known      []string      `yaml:"known"`
	Path       string        `yaml:"path"`
	OpenAI     bool          `yaml:"openai"`
	Engine     string        `yaml:"engine"`
	Model      string        `yaml:"model"`
	Repeats    []string      `yaml:"repeats"`
	Running    []string      `yaml:"running"`
	Waiting    []string      `yaml:"waiting"`
	Deferred   []string      `yaml:"deferred"`
	Lag        time.Duration `yaml:"lag"`
	Progress   []string      `yaml:"progress"`
	Tokens     []string      `yaml:"tokens"`
	Finished   []string      `yaml:"finished"`
	Paused     string        `yaml:"paused"`
	FirstToken []string      `yaml:"firstToken"`
	PerToken   []string      `yaml:"perToken"`
}

// dialect is one that was read.
type dialect struct {
	Dialect
	running, waiting, deferred, progress, tokens, finished []expression
	paused                                                 *condition
}

// Dialects are a table of them. It does not change, and may be used from any
// goroutine.
type Dialects struct {
	all []*dialect
	// wanted are the metrics that any of them reads.
	wanted map[string]bool
}

//go:embed dialects.yaml
var table []byte

// ParseDialects reads a table of dialects, as YAML. NewDialects checks what stands in
// it. An error names line and field.
func ParseDialects(text []byte) (list []Dialect, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("dialects: %w", err)
	}
	return list, nil
}

// NewDialects gives the engines that are known, and more of a site's own, which are
// tried first and replace one of the same name. An error names field and value.
func NewDialects(more []Dialect) (*Dialects, error) {
	known, err := ParseDialects(table)
	if err != nil {
		return nil, err
	}
	d := &Dialects{wanted: map[string]bool{startMetric: true}}
	for i, one := range slices.Concat(more, known) {
		if d.find(one.Name) != nil {
			if i < len(more) {
				return nil, fmt.Errorf("dialects[%d].name: %q is given twice", i, one.Name)
			}
			continue
		}
		read, err := one.read()
		if err != nil {
			return nil, fmt.Errorf("dialects[%d].%w", i, err)
		}
		d.all = append(d.all, read)
		d.want(read)
	}
	return d, nil
}

// Names are those of the dialects, a site's own first.
func (d *Dialects) Names() (names []string) {
	for _, one := range d.all {
		names = append(names, one.Name)
	}
	return names
}

// Path is where the metrics of a dialect are; DefaultPath where it is not known.
func (d *Dialects) Path(name string) string {
	if one := d.find(name); one != nil && one.Path != "" {
		return one.Path
	}
	return DefaultPath
}

// Latencies are the names under which a dialect tells how long requests wait: the label
// of the model, and the histograms of the time to the first token and for each further
// one, of which the first that is there counts. All are empty where it is not known.
func (d *Dialects) Latencies(name string) (model string, first, per []string) {
	if one := d.find(name); one != nil {
		return one.Model, one.FirstToken, one.PerToken
	}
	return "", nil, nil
}

// OpenAI says whether engines of a dialect have the OpenAI API at the port of their
// metrics; those that are not known have not.
func (d *Dialects) OpenAI(name string) bool {
	one := d.find(name)
	return one != nil && one.OpenAI
}

func (d *Dialects) find(name string) *dialect {
	i := slices.IndexFunc(d.all, func(one *dialect) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return d.all[i]
}

// read checks a dialect and reads its expressions.
func (d Dialect) read() (*dialect, error) {
	switch {
	case d.Name == "":
		return nil, errors.New("name: is empty")
	case len(d.Known) == 0:
		return nil, fmt.Errorf("known: is empty; nothing would tell the engine %q", d.Name)
	case d.Path != "" && !strings.HasPrefix(d.Path, "/"):
		return nil, fmt.Errorf("path: %q does not begin with /", d.Path)
	case d.Lag < 0 || d.Lag > lagLimit:
		return nil, fmt.Errorf("lag: %v is not from 0 to %v", d.Lag, lagLimit)
	}
	for _, whole := range []struct {
		field string
		names []string
	}{{"known", d.Known}, {"firstToken", d.FirstToken}, {"perToken", d.PerToken}} {
		if i := slices.IndexFunc(whole.names, func(name string) bool { return !metricName.MatchString(name) }); i >= 0 {
			return nil, fmt.Errorf("%s[%d]: %.80q is no metric's name", whole.field, i, whole.names[i])
		}
	}
	r := &dialect{Dialect: d}
	for _, role := range []struct {
		field string
		texts []string
		into  *[]expression
	}{
		{"running", d.Running, &r.running}, {"waiting", d.Waiting, &r.waiting}, {"deferred", d.Deferred, &r.deferred}, {"progress", d.Progress, &r.progress},
		{"tokens", d.Tokens, &r.tokens}, {"finished", d.Finished, &r.finished},
	} {
		for i, text := range role.texts {
			x, err := parseExpression(text)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", role.field, i, err)
			}
			*role.into = append(*role.into, x)
		}
	}
	if d.Paused != "" {
		c, err := parseCondition(d.Paused)
		if err != nil {
			return nil, fmt.Errorf("paused: %w", err)
		}
		r.paused = &c
	}
	return r, nil
}

// want adds what a dialect reads. A metric that ends in _count may be a histogram's
// part, which the parser knows only by the histogram's own name.
func (d *Dialects) want(one *dialect) {
	for _, x := range slices.Concat(one.running, one.waiting, one.deferred, one.progress, one.tokens, one.finished) {
		d.wantSum(x)
	}
	if one.paused != nil {
		d.wantSum(one.paused.sum)
	}
	for _, name := range one.Known {
		d.wanted[name] = true
	}
	for _, name := range slices.Concat(one.FirstToken, one.PerToken) {
		for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
			d.wanted[name+suffix] = true
		}
	}
}

func (d *Dialects) wantSum(x expression) {
	for _, t := range x {
		d.wanted[t.metric] = true
		d.wanted[strings.TrimSuffix(t.metric, "_count")] = true
	}
}
