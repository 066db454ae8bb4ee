package fleet

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func TestHowMuchOfANodeServes(t *testing.T) {
	for _, test := range []struct {
		state, gpus, stranded string
		want                  float64
	}{
		{"healthy", "8", "", 1},
		{"suspect", "6", "", 0.75},
		{"quarantined", "7", "", 0},
		{"healthy", "", "", 1},
		{"healthy", "8", "2.00", 0.75},
		{"suspect", "6", "2.00", 0.5},
		{"suspect", "1", "2.00", 0},
		{"healthy", "8", "-3", 1},
		{"healthy", "8", "NaN", 1},
		{"healthy", "8", "much", 1},
		{"healthy", "8", "+Inf", 0},
	} {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{remediate.LabelState: test.state, remediate.LabelGPUs: test.gpus},
			Annotations: map[string]string{remediate.StrandedAnnotation: test.stranded}}}
		if got := serving(m, 8); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}
