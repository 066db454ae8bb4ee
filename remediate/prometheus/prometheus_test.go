package prometheus

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAPrometheusAnswer(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"7.5"]}]}}`: "7.5",
		`{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`:                           "3",
		`{"status":"success","data":{"resultType":"vector","result":[]}}`:                                "0 samples",
		`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"NaN"]}]}}`:             "no number",
		`{"status":"success","data":{"resultType":"matrix","result":[{"values":[]}]}}`:                   "no sample",
		`{"status":"error","error":"parse error"}`:                                                       "parse error",
		`{"status":"error","error":"\u001b[2Jgone"}`:                                                     `"\x1b[2Jgone"`,
		`<html>`: "no answer of Prometheus's",
		`null`:   `200 OK, and no answer of Prometheus's: "null"`,
	} {
		v, err := numberIn("200 OK", []byte(body))
		if got := fmt.Sprint(v, err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	body := `{"status":"success","data":{"resultType":"vector","result":[]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/api/v1/query" || r.FormValue("query") != "up > 0" {
			t.Errorf("asked %s", r.URL)
		}
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	s := Server{URL: server.URL + "/base/"}
	if _, err := s.Value(t.Context(), "up > 0"); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("no sample: %v", err)
	}
	body = `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"2"]}]}}`
	if v, err := s.Value(t.Context(), "up > 0"); v != 2 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	server.Close()
	if _, err := s.Value(t.Context(), "up > 0"); err == nil || errors.Is(err, ErrNothing) {
		t.Errorf("a server that is gone: %v", err)
	}
}
