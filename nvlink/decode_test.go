package nvlink

import (
	"fmt"
	"testing"
)

func TestDecode(t *testing.T) {
	const any = 0
	tests := []struct {
		name   string
		driver int
		report Report
		want   Rule // without its reason; the zero value for no row
	}{
		{"V1, a link event", 570, Report{149, "NETIR_LINK_EVT", []uint32{0x004525c6, 0}}, Rule{DoReset, LinkFatal, BlameLink, false, "the link's signal", ""}},
		{"V1 by name", any, Report{149, "NETIR_LINK_EVT", []uint32{0x004525c6, 0}}, Rule{DoReset, LinkFatal, BlameLink, false, "the link's signal", ""}},
		{"V1, the whole device", 570, Report{149, "NETIR", []uint32{0x000fe406, 0}}, Rule{DoReset, LinkFatal, BlameLink, false, "nothing, being an echo; alone, ask NVIDIA", ""}},
		{"V1, no status word", 570, Report{149, "NETIR", []uint32{0x000fe406}}, Rule{DoReset, LinkFatal, BlameLink, false, "nothing, being an echo; alone, ask NVIDIA", ""}},
		{"V1, the peer", 570, Report{149, "NETIR_LINK_EVT", []uint32{0x021425c6}}, Rule{DoReset, LinkFatal, BlamePeer, false, "the device at the other end", ""}},
		{"V1, ignored though fatal", any, Report{149, "NETIR_LINK_EVT", []uint32{0x026001c6}}, Rule{DoIgnore, LinkFatal, BlameSoftware, false, "software or the user", ""}},
		{"V1, the host", any, Report{149, "NETIR_LINK_EVT", []uint32{0x028001c6}}, Rule{DoIgnore, Fatal, BlameHost, false, "the host", ""}},
		{"V1, an echo", 570, Report{145, "RLW_SRC_TRACK", []uint32{0x040868e2, 8}}, Rule{DoFollow154, Nonfatal, BlameLink, false, "", ""}},
		{"V1, a root of its own", any, Report{145, "RLW_REMAP", []uint32{0x00000082, 0x40}}, Rule{DoReset, Fatal, BlameLink, false, "ask NVIDIA", ""}},
		{"V2, a link down", 575, Report{149, "NETIR_LINK_DOWN", []uint32{0x02500011, 0}}, Rule{DoReset, LinkFatal, BlamePeer, false, "the device at the other end", ""}},
		{"V2 by name", any, Report{149, "NETIR_LINK_EVT/NETIR_LINK_DOWN", []uint32{0x01000011}}, Rule{DoReset, LinkFatal, BlameLink, false, "software, the user, or the link's signal", ""}},
		{"V2 by the info", any, Report{145, "RLW_REMAP", []uint32{4, 1}}, Rule{DoFollow154, Nonfatal, BlameLink, false, "ask NVIDIA", ""}},
		{"V2, one of two pipes", 590, Report{146, "TLW_RX_PIPE1", []uint32{11, 4}}, Rule{DoReset, Fatal, BlameLink, false, "ask NVIDIA", ""}},
		{"V1, promoted", 570, Report{145, "RLW_RXPIPE", []uint32{0x4c2, 1}}, Rule{DoReset, Nonfatal, BlameLink, true, "ask NVIDIA", ""}},
		{"V1, not promoted", 570, Report{145, "RLW_RXPIPE", []uint32{0x0c2, 1}}, Rule{DoIgnore, Nonfatal, BlameLink, false, "ask NVIDIA", ""}},
		{"V2, promoted", 580, Report{145, "RLW_RXPIPE", []uint32{0x86, 2}}, Rule{DoReset, Nonfatal, BlameLink, true, "ask NVIDIA", ""}},
		{"V1, the promoting bit of a row that has none", 570, Report{145, "RLW_RXPIPE", []uint32{0x4c2, 8}}, Rule{DoIgnore, Nonfatal, BlameLink, false, "ask NVIDIA", ""}},
		{"the watchdog", any, Report{150, "MSE_WATCHDOG", []uint32{0, 0}}, Rule{DoReset, Fatal, BlameLink, false, "ask NVIDIA", ""}},
		{"a name with a blank", any, Report{150, "MSE Degraded", []uint32{0, 0xffffffff}}, Rule{DoReset, Fatal, BlameLink, false, "ask NVIDIA", ""}},

		{"no words", 570, Report{149, "NETIR", nil}, Rule{}},
		{"a status that is needed is missing", any, Report{145, "RLW_REMAP", []uint32{0x82}}, Rule{}},
		{"a status without a row", any, Report{145, "RLW_REMAP", []uint32{0x82, 0x400}}, Rule{}},
		{"a reason without a row", any, Report{149, "NETIR_LINK_EVT", []uint32{0x03f001c6}}, Rule{}},
		{"V1 info from a V2 driver", 575, Report{149, "NETIR_LINK_EVT", []uint32{0x004525c6}}, Rule{}},
		{"the name contradicts the info", any, Report{145, "RLW_CTRL", []uint32{0x82, 0x40}}, Rule{}},
		{"a unit of tomorrow", any, Report{149, "NETIR_NEW", []uint32{0x004525c6}}, Rule{}},
		{"another XID", any, Report{79, "NETIR", []uint32{0x000fe406}}, Rule{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Decode(tt.report, tt.driver)
			if ok != (tt.want != Rule{}) || ok == (got.Reason == "") {
				t.Errorf("ok = %t, reason %q", ok, got.Reason)
			}
			got.Reason = ""
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Every row can be found in both encodings, and no info means one thing in one
// and another in the other: without a version nothing is ambiguous.
func TestDecodeTable(t *testing.T) {
	for i := range decodeTable {
		row := &decodeTable[i]
		for _, e := range [...]encoding{row.v1(), row.v2()} {
			words := []uint32{row.reason<<20 | e.info, row.status}
			for _, driver := range []int{0, 570, 575} {
				got, ok := Decode(Report{row.xid, e.unit, words}, driver)
				if want := e.speaks(driver); row.xid != 150 && ok != want {
					t.Errorf("row %d, driver %d: found %t, want %t", i, driver, ok, want)
				}
				if ok && (got.Do != row.do || got.Severity != row.severity) {
					t.Errorf("row %d, driver %d: another row's %+v", i, driver, got)
				}
			}
			if e.matches(row.v1().info) && e.matches(row.v2().info) && row.xid != 150 {
				t.Errorf("row %d: its info is valid in both encodings", i)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i := range decodeTable {
		row := &decodeTable[i]
		f.Add(row.xid, row.unit1, row.v1().info|row.reason<<20, row.status, 570)
		f.Add(row.xid, row.unit2, row.v2().info|row.reason<<20, row.status, 580)
	}
	f.Fuzz(func(t *testing.T, xid int, unit string, info, status uint32, driver int) {
		rule, ok := Decode(Report{xid, unit, []uint32{info, status}}, driver)
		if !ok {
			if rule != (Rule{}) {
				t.Errorf("no row, but %+v", rule)
			}
			return
		}
		if rule.Do == 0 || rule.Severity == 0 || rule.Blame == 0 || rule.Reason == "" {
			t.Errorf("half a rule: %+v", rule)
		}
		// The bits that no mask reads change nothing.
		again, _ := Decode(Report{xid, unit, []uint32{info ^ 0xfc000000, status, 1, 2, 3}}, driver)
		if fmt.Sprint(again) != fmt.Sprint(rule) {
			t.Errorf("%+v, with other unread bits %+v", rule, again)
		}
	})
}
