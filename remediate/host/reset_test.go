package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func TestResetWorks(t *testing.T) {
	b := newBench(t)
	b.sick(t, "1")
	b.sick(t, "2")
	must(t, b.Set("3", "persistence", "0")) // as it was, and stays
	is(t, b.Do(t.Context(), b.deed(t, 1, 2, 3), b.record), remediate.Succeeded,
		"GPU 00000000:43:00.0 was successfully reset.", "GPU 00000000:52:00.0 was successfully reset.")
	if !b.cured(t, "1") || !b.cured(t, "2") {
		t.Error("it healed nothing")
	}
	want := []string{"operands", "persistence 0000:43:00.0", "persistence 0000:52:00.0"}
	if !slices.Equal(b.recorded, want) {
		t.Errorf("recorded %q, want %q", b.recorded, want)
	}
	if on, err := b.Persistence("3"); err != nil || on {
		t.Errorf("persistence mode that was off is %v, %v", on, err)
	}
	must(t, b.Set("3", "persistence", "1"))
	b.restored(t)
}

func TestResetThroughAPrefix(t *testing.T) {
	b := newBench(t)
	b.sick(t, "1")
	b.Config.Prefix = []string{"env", "SEEN=1"}
	is(t, b.Do(t.Context(), b.deed(t, 1), b.record), remediate.Succeeded)
	if !b.cured(t, "1") {
		t.Error("it healed nothing")
	}
}

// Bare metal: no operator, no children.
func TestResetAlone(t *testing.T) {
	b := newBench(t)
	b.sick(t, "1")
	b.Children, b.Operands = nil, nil
	is(t, b.Do(t.Context(), b.deed(t, 1), b.record), remediate.Succeeded)
	if !slices.Equal(b.recorded, []string{"persistence 0000:43:00.0"}) || !b.cured(t, "1") {
		t.Errorf("recorded %q, cured %v", b.recorded, b.cured(t, "1"))
	}
}

func TestResetIsRefused(t *testing.T) {
	someone := remediate.Holder{GPU: "GPU-1", PID: 4711, Process: "dcgm-exporter", Pod: "gpu-operator/dcgm-exporter-x"}
	tests := []struct {
		name  string
		set   func(*bench)
		words []string
	}{
		{"by a holder with a name", func(b *bench) { b.holders = []remediate.Holder{someone} },
			[]string{"held by dcgm-exporter (process 4711) of pod gpu-operator/dcgm-exporter-x on GPU-1"}},
		{"by a pod without a process", func(b *bench) { b.holders = []remediate.Holder{{GPU: "GPU-1", Pod: "ml/train-0"}} },
			[]string{"held by pod ml/train-0 on GPU-1"}},
		{"by one that is stuck", func(b *bench) { b.holders = []remediate.Holder{{PID: 7, Process: "train", Stuck: true}} },
			[]string{"held by train (process 7), which cannot be killed"}},
		{"because nobody knows", func(b *bench) { b.unknown = errors.New("no /proc of the host") },
			[]string{"who holds the GPUs cannot be told: no /proc of the host"}},
		{"by a child that is stuck", func(b *bench) { b.children.stuck = errors.New("nvmlInit_v2 does not return") },
			[]string{"our own processes do not let go: nvmlInit_v2 does not return"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.sick(t, "1")
			test.set(b)
			o := b.Do(t.Context(), b.deed(t, 1), b.record)
			is(t, o, remediate.Refused, test.words...)
			if !slices.Equal(o.Holders, b.holders) {
				t.Errorf("holders %v, want %v", o.Holders, b.holders)
			}
			if b.cured(t, "1") {
				t.Error("it was reset all the same")
			}
			b.restored(t)
		})
	}
}

// A process that is in nobody's list holds the GPU: the driver refuses.
func TestResetIsRefusedByTheDriver(t *testing.T) {
	b := newBench(t)
	b.apart(t)
	b.sick(t, "1")
	b.hold(t, "1")
	is(t, b.Do(t.Context(), b.deed(t, 1), b.record), remediate.Refused,
		"GPU 00000000:43:00.0: In use by another client", "no process has it open")
	b.restored(t)
}

// The driver refuses because of somebody who came after we had looked.
func TestResetNamesALateHolder(t *testing.T) {
	b := newBench(t)
	b.apart(t)
	pid := b.hold(t, "1")
	looks := 0
	late := []remediate.Holder{{GPU: "GPU-1", PID: pid, Process: "sleep"}}
	b.Reset.Holders = func(context.Context, []fault.Device) ([]remediate.Holder, error) {
		if looks++; looks == 1 {
			return nil, nil
		}
		return late, nil
	}
	o := b.Do(t.Context(), b.deed(t, 1), b.record)
	is(t, o, remediate.Refused, "In use by another client", "held by sleep (process ")
	if !slices.Equal(o.Holders, late) {
		t.Errorf("holders %v", o.Holders)
	}
}

// Our own process tree is looked at by itself, whatever the children say.
func TestResetProvesThatWeLetGo(t *testing.T) {
	b := newBench(t)
	b.sick(t, "1")
	pid := b.hold(t, "1")
	o := b.Do(t.Context(), b.deed(t, 1), b.record)
	is(t, o, remediate.Refused, "our own processes do not let go: held by sleep (process ")
	if len(o.Holders) != 1 || o.Holders[0].PID != pid || b.operands.pauses != 0 || len(b.recorded) != 0 {
		t.Errorf("holders %v, %d pauses, recorded %q", o.Holders, b.operands.pauses, b.recorded)
	}
	b.restored(t)
}

func TestResetWaitsForSomebodyToLetGo(t *testing.T) {
	b := newBench(t)
	b.sick(t, "1")
	b.Config.Patience = time.Minute
	looks := 0
	b.Reset.Holders = func(context.Context, []fault.Device) ([]remediate.Holder, error) {
		if looks++; looks == 1 {
			return []remediate.Holder{{PID: 1}}, nil
		}
		return nil, nil
	}
	is(t, b.Do(t.Context(), b.deed(t, 1), b.record), remediate.Succeeded)
	if looks != 2 {
		t.Errorf("%d looks", looks)
	}
}

func TestResetFails(t *testing.T) {
	tests := []struct {
		name   string
		set    func(*testing.T, *bench)
		result remediate.Result
		words  []string
	}{
		{"by the tool", func(t *testing.T, b *bench) { must(t, b.ResetAs("1", node.ResetFails, "Unknown Error")) },
			remediate.Unsuccessful, []string{"exit status 255", "GPU 00000000:43:00.0: Unknown Error"}},
		{"on a GPU that is lost", func(t *testing.T, b *bench) { must(t, b.Lose("1")) },
			remediate.Unsuccessful, []string{"exit status 15", "GPU is lost"}},
		{"by a label that cannot be written", func(_ *testing.T, b *bench) { b.operands.fail = errors.New("forbidden") },
			remediate.Unsuccessful, []string{"pause the operator's services: forbidden"}},
		{"by a store that is full", func(_ *testing.T, b *bench) { b.crash = "persistence" },
			remediate.Unsuccessful, []string{`write down that "persistence 0000:43:00.0" is to be put back`}},
		{"without the tool", func(_ *testing.T, b *bench) { b.Config.SMI = "/nonexistent/nvidia-smi" },
			remediate.Unavailable, []string{"nvidia-smi cannot be run", "/nonexistent/nvidia-smi"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.sick(t, "1")
			test.set(t, b)
			is(t, b.Do(t.Context(), b.deed(t, 1), b.record), test.result, test.words...)
			b.restored(t)
		})
	}
}

// What the reset does is the driver's word, and not ours: Verify hears of it.
func TestResetThatHealsNothing(t *testing.T) {
	b := newBench(t)
	b.sick(t, "1")
	must(t, b.ResetAs("1", node.ResetHealsNothing, ""))
	is(t, b.Do(t.Context(), b.deed(t, 1), b.record), remediate.Succeeded)
	if b.cured(t, "1") {
		t.Error("it healed")
	}
}

func TestResetThatHangs(t *testing.T) {
	b := newBench(t)
	must(t, b.ResetAs("1", node.ResetHangs, ""))
	b.Config.ResetLimit = 100 * time.Millisecond
	is(t, b.Do(t.Context(), b.deed(t, 1), b.record), remediate.Unsuccessful, "reset 0000:43:00.0", "deadline exceeded")
	b.restored(t)
	if left := leftRunning(t); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
}

// The deed's own deadline counts as the steps' do, and being called off is neither.
func TestResetIsCutOff(t *testing.T) {
	b := newBench(t)
	must(t, b.ResetAs("1", node.ResetHangs, ""))
	deed := b.deed(t, 1)
	deed.Deadline = time.Now().Add(500 * time.Millisecond)
	is(t, b.Do(t.Context(), deed, b.record), remediate.Unsuccessful, "deadline exceeded")
	b.restored(t)

	ctx, cancel := context.WithCancel(t.Context())
	b.Reset.Holders = func(context.Context, []fault.Device) ([]remediate.Holder, error) {
		cancel()
		return nil, nil
	}
	is(t, b.Do(ctx, b.deed(t, 1), b.record), remediate.Aborted, "canceled")
	b.restored(t)
}

// What cannot be put back is said, and still owed.
func TestResetThatCannotRestore(t *testing.T) {
	b := newBench(t)
	b.operands.broken = errors.New("the API server is gone")
	o := b.Do(t.Context(), b.deed(t, 1), b.record)
	is(t, o, remediate.Succeeded, "restore the operator's services: the API server is gone")
	if !slices.Equal(o.Owed, []string{"operands"}) {
		t.Errorf("owed %q", o.Owed)
	}
	deed := b.deed(t, 1)
	deed.Undo = b.recorded
	if err := b.Undo(t.Context(), deed); err == nil || !strings.Contains(err.Error(), "the API server is gone") {
		t.Errorf("Undo: %v", err)
	}
	b.operands.broken = nil
	must(t, b.Undo(t.Context(), deed))
	b.restored(t)
}
