package probe

import (
	"encoding/binary"
	"math"
	"testing"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

func value(kind driver.ValueType, bits uint64) driver.FieldValue {
	v := driver.FieldValue{ValueType: uint32(kind)}
	binary.NativeEndian.PutUint64(v.Value[:], bits)
	return v
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		value driver.FieldValue
		want  int64
		ok    bool
	}{
		{value(driver.VALUE_TYPE_UNSIGNED_INT, math.MaxUint32), math.MaxUint32, true},
		{value(driver.VALUE_TYPE_SIGNED_INT, math.MaxUint32), -1, true},
		{value(driver.VALUE_TYPE_UNSIGNED_LONG_LONG, 9_600_000_000), 9_600_000_000, true},
		{value(driver.VALUE_TYPE_UNSIGNED_LONG, math.MaxUint64), -1, false},
		{value(driver.VALUE_TYPE_SIGNED_LONG_LONG, math.MaxUint64), -1, true},
		{value(driver.VALUE_TYPE_UNSIGNED_SHORT, 0x1_0007), 7, true},
		{value(driver.VALUE_TYPE_DOUBLE, math.Float64bits(1)), 0, false},
		{value(99, 1), 0, false},
	} {
		if got, ok := number(tt.value); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%+v: %d, %v; want %d, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// A counter that stands for no value is none, whatever its width.
func TestCountRefusesBlanks(t *testing.T) {
	for _, n := range []int64{0x7ffffff0, 0x7ffffff3, 0xffffffff, 0x7ffffffffffffff0, math.MaxInt64, -1} {
		var to *uint64
		if count(&to, n) || to != nil {
			t.Errorf("%#x is taken as %d", n, *to)
		}
	}
	for _, n := range []int64{0, 1, 0x7ffffff4, 0x1_0000_0000, 9_600_000_000} {
		var to *uint64
		if !count(&to, n) || *to != uint64(n) {
			t.Errorf("%#x is refused", n)
		}
	}
}

func TestPercentRefusesNaN(t *testing.T) {
	for _, v := range []float64{math.NaN(), -0.1, 100.1, math.Inf(1), 140737488355328} {
		var to *float64
		if percent(&to, v) || to != nil {
			t.Errorf("%v is taken", v)
		}
	}
}

// The call can succeed and a field say that the GPU is lost.
func TestFieldOfALostGPU(t *testing.T) {
	q := &query{lib: library{fields: newCosts()}, gpu: newGPU(0)}
	q.field(&reading{GPU: &q.found}, fastFields[0], driver.FieldValue{NvmlReturn: uint32(driver.ERROR_GPU_IS_LOST)})
	if !q.found.Lost || q.found.Error.Code != 15 || q.found.Recovery != nil || q.found.Failed[nvml.ValueRecovery] != 0 {
		t.Errorf("%+v: want it lost and nothing else", q.found)
	}
}
