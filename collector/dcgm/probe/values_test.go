package probe

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

func anyValues(dcgm.Values) bool { return true }

func TestValues(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Field("2", dcgm.FieldSingleBitVolatile, "9600000000"))
	must(t, n.Remap("4", "pending"))
	must(t, n.DCGM().Field("0", dcgm.FieldIMEXDaemon, "-3"))
	v := start(t, n).values(anyValues)
	if len(v.GPUs) != 8 || v.Dropped != 0 {
		t.Fatalf("%+v, want 8 GPUs", v)
	}
	for i, g := range v.GPUs {
		if g.UUID != uuid(t, n, i) || g.Status != 1 || g.Lost || g.Blank || g.XID != nil || g.Error != nil {
			t.Errorf("GPU %d: %+v: want it healthy", i, g)
		}
		if g.Fields[dcgm.FieldTemperature] != 41 || g.Fields[dcgm.FieldPower] != 112.5 {
			t.Errorf("GPU %d: %+v: want 41 degrees, 112.5 W", i, g)
		}
		if _, ok := g.Fields[dcgm.FieldSMActive]; ok {
			t.Errorf("GPU %d: profiling fields that nobody asked for", i)
		}
	}
	if n := v.GPUs[2].Fields[dcgm.FieldSingleBitVolatile]; n != 9.6e9 {
		t.Errorf("%v ECC errors, want all of them: above the blanks of 32 bits are counts", n)
	}
	if v.GPUs[0].Fields[dcgm.FieldIMEXDaemon] != -3 || v.GPUs[1].Fields[dcgm.FieldIMEXDaemon] != 5 {
		t.Errorf("IMEX: %v and %v", v.GPUs[0].Fields, v.GPUs[1].Fields)
	}
	if v.GPUs[4].Fields[dcgm.FieldRemapPending] != 1 {
		t.Errorf("%+v, want a pending remap", v.GPUs[4])
	}
}

// Blanks are values with status 0; none may pass for a number.
func TestBlanks(t *testing.T) {
	n := newNode(t)
	for id, blank := range map[int]string{
		dcgm.FieldTemperature:       "2147483634",          // int32, not supported, in 64 bits
		dcgm.FieldPCIeReplays:       "9223372036854774784", // the greatest float below the int64 blanks: a count
		dcgm.FieldUtilisation:       "2147483631",          // one below: a count
		dcgm.FieldPower:             "140737488355329",     // fp64, not found
		dcgm.FieldPowerLimit:        "nan",
		dcgm.FieldDoubleBitVolatile: "2147483636", // one above: a count
	} {
		must(t, n.DCGM().Field("0", id, blank))
	}
	g := start(t, n).values(anyValues).GPUs[0]
	for _, id := range []int{dcgm.FieldTemperature, dcgm.FieldPower, dcgm.FieldPowerLimit} {
		if v, ok := g.Fields[id]; ok {
			t.Errorf("field %d is %v, want unknown", id, v)
		}
	}
	for _, id := range []int{dcgm.FieldPCIeReplays, dcgm.FieldUtilisation, dcgm.FieldDoubleBitVolatile} {
		if _, ok := g.Fields[id]; !ok {
			t.Errorf("field %d is unknown, want its count", id)
		}
	}
	if g.Blank {
		t.Error("blank, with values")
	}
}

// After an XID 119 all goes blank, names too, while health is as before.
func TestAllBlank(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.values(anyValues)
	must(t, n.DCGM().Blank("5", true))
	g := c.values(func(v dcgm.Values) bool { return v.GPUs[5].Blank }).GPUs[5]
	if g.UUID != uuid(t, n, 5) || g.Lost || g.Status != 1 || len(g.Fields) != 0 {
		t.Errorf("%+v, want it blank under its own name", g)
	}
	if h := c.kind(dcgm.KindHealth).Health; h.Overall != dcgm.Pass {
		t.Errorf("%+v, want the engine to say pass", h)
	}
	must(t, n.DCGM().Blank("5", false))
	c.values(func(v dcgm.Values) bool { return !v.GPUs[5].Blank })
}

// A lost GPU has blanks, no incident and a status.
func TestLost(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.values(anyValues)
	must(t, n.Lose("6"))
	g := c.values(func(v dcgm.Values) bool { return v.GPUs[6].Lost }).GPUs[6]
	if g.UUID != uuid(t, n, 6) || !g.Blank || g.Status != 4 {
		t.Errorf("%+v, want it lost and blank under its own name", g)
	}
	if h := c.kind(dcgm.KindHealth).Health; found(*h) {
		t.Errorf("%+v, want no incident", h)
	}
}

// One whose status does not tell is lost when it leaves the supported.
func TestLostByList(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Fail("dcgmGetGpuStatus", -3))
	c := start(t, n)
	if g := c.values(anyValues).GPUs[6]; g.Status != 0 || g.Lost {
		t.Errorf("%+v, want its status unknown", g)
	}
	must(t, n.Lose("6"))
	c.values(func(v dcgm.Values) bool { return v.GPUs[6].Lost })
}

// One that was lost before has no name here: the number is no name.
func TestLostBefore(t *testing.T) {
	n := newNode(t)
	must(t, n.Lose("6"))
	g := start(t, n).values(anyValues).GPUs[6]
	if !g.Lost || g.UUID != "" {
		t.Errorf("%+v, want it lost and nameless", g)
	}
}

// The field is the only one that shows an XID from the kernel log. It stays, and
// two that are equal differ in their times.
func TestXIDField(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.values(anyValues)
	began := time.Now().Truncate(time.Microsecond)
	must(t, n.DCGM().KmsgXID("1", 43))
	g := c.values(func(v dcgm.Values) bool { return v.GPUs[1].XID != nil }).GPUs[1]
	if g.XID.Code != 43 || g.XID.At.Before(began) || g.XID.At.After(time.Now()) {
		t.Errorf("%+v, want XID 43 at about %v", g.XID, began)
	}
	if h := c.kind(dcgm.KindHealth).Health; found(*h) {
		t.Errorf("%+v, want no incident", h)
	}
	must(t, n.DCGM().KmsgXID("1", 43))
	c.values(func(v dcgm.Values) bool { return v.GPUs[1].XID.At.After(g.XID.At) })
}

func TestProfiling(t *testing.T) {
	cfg := config()
	cfg.Profiling = true
	n := newNode(t)
	g := startWith(t, n, library(t), cfg).values(anyValues).GPUs[0]
	if g.Fields[dcgm.FieldGraphicsActive] != 0.5 || g.Fields[dcgm.FieldSMActive] != 0.25 {
		t.Errorf("%+v, want half of it active", g)
	}
}

// The engine cannot read one GPU's values: the others are not hidden by it.
func TestReadFails(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.values(anyValues)
	must(t, n.DCGM().Fail("dcgmEntityGetLatestValues", -3))
	v := c.values(func(v dcgm.Values) bool { return v.GPUs[0].Error != nil })
	if g := v.GPUs[0]; g.Error.Code != -3 || g.Blank || g.UUID == "" {
		t.Errorf("%+v, want -3 and nothing known", g)
	}
	must(t, n.DCGM().Fail("dcgmEntityGetLatestValues", 0))
	c.values(func(v dcgm.Values) bool { return v.GPUs[0].Error == nil })
}
