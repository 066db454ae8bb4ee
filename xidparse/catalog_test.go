package xidparse

import "testing"

func TestLookup(t *testing.T) {
	tests := []struct {
		code                  int
		radius, action, fault string
		diag                  int
	}{
		{13, "process", "record", "application", 0},
		{45, "process", "record", "unknown", 0},
		{48, "gpu", "reset", "gpu", 2},
		{64, "gpu", "reset", "gpu", 3},
		{74, "gpu", "reset", "link", 2},
		{79, "node", "reboot", "gpu", 3},
		{94, "process", "record", "gpu", 0},
		{95, "gpu", "reset", "gpu", 2},
		{119, "gpu", "reset", "gpu", 2},
	}
	for _, tt := range tests {
		e, ok := Lookup(tt.code)
		if !ok || e.Code != tt.code || e.Radius != tt.radius || e.Action != tt.action || e.Fault != tt.fault || e.Diag != tt.diag {
			t.Errorf("Lookup(%d) = %+v, %t; want %+v", tt.code, e, ok, tt)
		}
	}
	for _, code := range []int{-1, 0, 177, 99999} {
		if e, ok := Lookup(code); ok || e.Name != "" {
			t.Errorf("Lookup(%d) = %+v", code, e)
		}
	}
}

// Every number of the driver's header and of the SXid list has a row.
func TestCatalogIsComplete(t *testing.T) {
	for code := 1; code <= 176; code++ {
		if _, ok := Lookup(code); !ok {
			t.Errorf("XID %d has no row", code)
		}
	}
	if len(catalog) != 176 || len(sxids) != 420 {
		t.Errorf("%d XIDs and %d SXids", len(catalog), len(sxids))
	}
}

func TestLookupSXid(t *testing.T) {
	if e, ok := LookupSXid(20034); !ok || e.Name != "DLPL_LTSSM_FAULT_UP" || e.Class != "NonFatal" {
		t.Errorf("LookupSXid(20034) = %+v, %t", e, ok)
	}
	if e, ok := LookupSXid(99999); ok {
		t.Errorf("LookupSXid(99999) = %+v", e)
	}
}
