package fault

import (
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// maxTold bounds the engines of a replica whose requests are named.
const maxTold = 3

// toldAt is where something was told: an endpoint of one life of a replica.
type toldAt struct {
	workload Workload
	life     string
	endpoint string
}

// remember keeps what each endpoint has told last of its engines: one that does not
// answer now has told something before.
func (j *Judge) remember(scrapes []serving.Scrape) {
	told := make(map[toldAt][]serving.Reading, len(scrapes))
	for _, s := range scrapes {
		at := toldAt{Workload(s.Replica.ID()), s.Replica.Life, s.Endpoint}
		if told[at] = s.Engines; s.Answer != serving.Answered {
			told[at] = j.lastWords[at]
		}
	}
	j.lastWords, j.scrapes = told, scrapes
}

// requests says in words which requests a replica had open by what its engines told
// last, in the order of their endpoints; empty where none has told of any.
func (j *Judge) requests(w Workload) string {
	var parts []string
	for _, s := range j.scrapes {
		if Workload(s.Replica.ID()) != w {
			continue
		}
		for _, r := range j.lastWords[toldAt{w, s.Replica.Life, s.Endpoint}] {
			if open := openOf(r); open != "" {
				who := s.Endpoint
				if r.Engine != "" {
					who = "engine " + r.Engine + " of " + who
				}
				parts = append(parts, who+" told of "+open)
			}
		}
	}
	if more := len(parts) - maxTold; more > 0 {
		parts = append(parts[:maxTold], fmt.Sprintf("and %d more engines", more))
	}
	return strings.Join(parts, ", ")
}

// openOf counts the requests of an engine, empty where none is known to be open.
func openOf(r serving.Reading) string {
	var parts []string
	for _, n := range []struct {
		of   *float64
		what string
	}{{r.Running, "running"}, {r.Waiting, "waiting"}} {
		if n.of != nil && *n.of > 0 {
			parts = append(parts, fmt.Sprintf("%g %s", *n.of, n.what))
		}
	}
	return strings.Join(parts, " and ")
}
