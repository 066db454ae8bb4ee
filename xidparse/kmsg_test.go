package xidparse

import "testing"

func TestCutKmsg(t *testing.T) {
	tests := []struct {
		record string
		want   Kmsg
		text   string
	}{
		{"4,1227,14650646,c;a;b\n", Kmsg{Priority: 4, Sequence: 1227, Micros: 14650646}, "a;b"},
		{"12,1,2,-,caller=T12,new=1;a\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n", Kmsg{Priority: 12, Sequence: 1, Micros: 2}, "a"},
		{"6,18446744073709,2,-;", Kmsg{Priority: 6, Sequence: 18446744073709, Micros: 2}, ""},
	}
	for _, tt := range tests {
		k, err := CutKmsg([]byte(tt.record))
		if err != nil || k.Priority != tt.want.Priority || k.Sequence != tt.want.Sequence || k.Micros != tt.want.Micros || string(k.Text) != tt.text {
			t.Errorf("CutKmsg(%q) = %+v %q, %v", tt.record, k, k.Text, err)
		}
	}
	for _, record := range []string{"", "4,1,2,-", ";a", "4,1;a", "x,1,2,-;a", "4,-1,2,-;a", "4,1,2x,-;a", "99999999,1,2,-;a"} {
		if k, err := CutKmsg([]byte(record)); err == nil {
			t.Errorf("CutKmsg(%q) = %+v", record, k)
		}
	}
	if k, _ := CutKmsg([]byte("12,1,2,-;a")); k.Facility() != 1 {
		t.Errorf("facility of 12 is %d", k.Facility())
	}
}

func TestUnescapeKmsg(t *testing.T) {
	tests := []struct{ escaped, want string }{
		{"", ""},
		{`plain`, "plain"},
		{`a\x0ab`, "a\nb"},
		{`\x5cx0a`, `\x0a`},
		{`\xC3\xb6`, "ö"},
		{`a\x`, `a\x`},
		{`a\x0`, `a\x0`},
		{`a\xzz\x41`, `a\xzzA`},
		{`a\b`, `a\b`},
	}
	for _, tt := range tests {
		if got := UnescapeKmsg([]byte("<"), []byte(tt.escaped)); string(got) != "<"+tt.want {
			t.Errorf("UnescapeKmsg(%q) = %q, want %q", tt.escaped, got, tt.want)
		}
	}
}
