package serving

import "testing"

func TestDoing(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		name                   string
		busy, sm, tensor, dram float64
		watts, limit           float64
		want                   Doing
	}{
		{"decoding", 98, 70, 30, 45, 460, 700, Working},
		{"a small batch", 100, 40, 0, 60, 240, 700, Working},
		{"idle", 0, 0, 0, 0, 118, 700, Quiet},
		{"idle, before Hopper", 0, none, none, none, 60, 400, Quiet},
		{"idle, a small board that hardly draws less", 0, none, none, none, 34, 72, Quiet},
		{"time alone", 0, none, none, none, none, none, Quiet},
		{"no kernel, and power of work", 0, 0, 0, 0, 600, 700, Working},
		{"no kernel at the moment, and there were some", 0, 12, 3, 9, 300, 700, Working},
		{"hung all-gather", 100, 18, 0, 0, 152, 700, Wedged},
		{"hung, before Hopper", 100, none, none, none, 66, 300, Wedged},
		{"hung, a small board: not seen", 100, none, none, none, 34, 72, Working},
		{"ghost", 100, 0, 0, 0, 118, 700, Wedged},
		{"profiler held by others", 100, 0, 0, 0, 480, 700, Working},
		{"busy, and no power known", 100, 0, 0, 0, none, none, Unknown},
		{"busy, and no limit known", 100, none, none, none, 150, none, Unknown},
		{"MIG", none, none, none, none, 130, 700, Unknown},
		{"nothing", none, none, none, none, none, none, Unknown},
		{"values that stand for none", 140737488355328, none, none, none, none, none, Unknown},
	} {
		told := func(v float64) *float64 {
			if v == none {
				return nil
			}
			return &v
		}
		a := Activity{Busy: told(c.busy), SM: told(c.sm), Tensor: told(c.tensor), DRAM: told(c.dram), Watts: told(c.watts), Limit: told(c.limit)}
		if got := a.Doing(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
