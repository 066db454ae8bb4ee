package prometheus

import (
	"math"
	"testing"
)

// FuzzNumberIn: an answer is one number that can be reckoned with, or an error.
func FuzzNumberIn(f *testing.F) {
	for _, body := range []string{
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"7.5"]}]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"+Inf"]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"1e400"]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"values":[]}]}}`,
		`{"status":"error","error":"parse error"}`, `<html>`, ``, `null`, `{"status":"success"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := numberIn("200 OK", body)
		if err != nil && v != 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%q is %v, %v", body, v, err)
		}
	})
}
