package node

import "testing"

func TestDiagKeepsWhatIsSet(t *testing.T) {
	n, err := New(t.TempDir(), "hgx-h100")
	must(t, err)
	d := n.Diag()
	must(t, d.Set("version", "3.3.9"))
	must(t, d.Result("1", "memory", Finding{"Fail", 52, 2, "a bad cell"}))
	must(t, d.Result("2", "pcie", Finding{Status: "Skip"}))
	for _, c := range []struct {
		gpu  int
		test string
		want Finding
	}{
		{1, "memory", Finding{"Fail", 52, 2, "a bad cell"}},
		{2, "pcie", Finding{Status: "Skip"}},
		{2, "memory", Finding{Status: "Pass"}},
	} {
		got, err := d.Finding(c.gpu, c.test)
		if err != nil || got != c.want {
			t.Errorf("%s of GPU %d: %+v, %v, want %+v", c.test, c.gpu, got, err, c.want)
		}
	}
	if v, err := d.Value("version"); err != nil || v != "3.3.9" {
		t.Errorf("version %q, %v", v, err)
	}
}

// One diagnosis at a time, until it is stopped.
func TestDiagIsBusy(t *testing.T) {
	n, err := New(t.TempDir(), "hgx-h100")
	must(t, err)
	d := n.Diag()
	for _, want := range []bool{true, false, false} {
		if begun, err := d.Begin(Forever); err != nil || begun != want {
			t.Errorf("begun %v, %v, want %v", begun, err, want)
		}
	}
	must(t, d.Stop())
	if busy, err := d.Running(); err != nil || busy {
		t.Errorf("busy %v, %v", busy, err)
	}
}
