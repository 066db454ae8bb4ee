package serving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// What an engine calls itself and its model reaches labels, events and terminals.
func TestNamesAreClean(t *testing.T) {
	h := newHost(t, Options{})
	long := strings.Repeat("ü", modelLimit)
	said := []serving.Reading{{Engine: "0\n", Model: "org/a b\x1b[2J\xff\u202e"}, {Engine: "1", Model: long}}
	kept := h.keep([]serving.Scrape{{Replica: serving.Replica{Name: "a"}, Endpoint: "http://a", Engines: said}})
	want := []serving.Reading{{Engine: "0\ufffd", Model: "org/a b\ufffd[2J\ufffd\ufffd"}, {Engine: "1", Model: strings.Repeat("ü", modelLimit/2) + "…"}}
	if diff := cmp.Diff(want, kept[0].Engines); diff != "" {
		t.Error(diff)
	}
	if said[1].Model != long {
		t.Error("the scraper's own was changed")
	}
	for _, k := range h.kinds() {
		if k.model != want[0].Model {
			t.Errorf("the fleet is asked for %q", k.model)
		}
	}
}
