package services

import (
	"slices"
	"testing"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		unit, text string
		want       Kind
	}{
		{FabricManager, "fabric manager NVIDIA GPU driver interface version 570.86.15 don't match with driver version 570.124.06. Please update with matching NVIDIA driver package.", KindMismatch},
		{FabricManager, "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]", KindNoSwitch},
		{FabricManager, "Detected Pre-NVL5 system", KindNone},
		{FabricManager, "[Sep 18 2026 06:40:33] [ERROR] [tid 77] another service's form", KindNone},
		{IMEX, "[Sep 18 2026 06:40:33] [INFO] [tid 77] Identified this node as ID 3", KindNone},
		{IMEX, "[Sep 18 2026 06:40:33] [ERROR] [tid 77] Failed to connect to node 4", KindTrouble},
		{IMEX, "[Sep 18 2026 06:40:33] [WARNING] [tid 77] Disconnected from node 4", KindTrouble},
		{IMEX, "[Sep 18 2026 06:40:33] [INFO] [tid 77] said [ERROR] [", KindNone},
		{IMEX, "no stamp] [ERROR] at all", KindNone},
		{IMEX, "", KindNone},
		{Persistenced, "Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist", KindTrouble},
		{Persistenced, "device 0000:3b:00.0 - failed to open.", KindTrouble},
		{Persistenced, "device 0000:3b:00.0 - persistence mode enabled.", KindNone},
		{"nginx.service", "Failed to everything", KindNone},
	} {
		got, ok := Line(c.unit, c.text)
		if got.Kind != c.want || ok != (c.want != KindNone) || ok && (got.Text != c.text || got.Unit != c.unit) {
			t.Errorf("%s: %s, want %s: %q", c.unit, got.Kind, c.want, c.text)
		}
	}
}

func TestManager(t *testing.T) {
	for id, want := range map[string]Kind{messageStarted: KindStarted, messageFailed: KindFailed, "": KindNone} {
		if got, ok := Manager(IMEX, id, "text"); got.Kind != want || ok != (want != KindNone) {
			t.Errorf("%q: %s, want %s", id, got.Kind, want)
		}
	}
}

func TestLatest(t *testing.T) {
	event := func(unit string, k Kind) Event { return Event{Unit: unit, Kind: k} }
	history := []Event{
		event(IMEX, KindFailed), event(FabricManager, KindMismatch), event(FabricManager, KindFailed),
		event(IMEX, KindStarted), event(Persistenced, KindTrouble), event(IMEX, KindTrouble),
	}
	want := []Event{history[1], history[2], history[3], history[4], history[5]}
	if got := Latest(history); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func FuzzLine(f *testing.F) {
	f.Add(IMEX, "[a] [ERROR] b")
	f.Add(FabricManager, "NV_WARN_NOTHING_TO_DO")
	f.Add(Persistenced, "x - failed to y")
	f.Fuzz(func(t *testing.T, unit, text string) {
		if e, ok := Line(unit, text); ok != (e.Kind != KindNone) {
			t.Errorf("%q: %v, %v", text, e, ok)
		}
	})
}
