package xidparse

import "testing"

func TestParsePCI(t *testing.T) {
	tests := []struct{ text, want string }{
		{"0000:3b:00", "0000:3b:00"},
		{"0000000B:00:1C.0", "000b:00:1c"},
		{"18:01:00", "0018:01:00"},
		{"12345678:ff:1f.7", "12345678:ff:1f"},
	}
	for _, tt := range tests {
		p, ok := ParsePCI(tt.text)
		if !ok || p.String() != tt.want {
			t.Errorf("ParsePCI(%q) = %v, %t; want %s", tt.text, p, ok, tt.want)
		}
		var q PCI
		if err := q.UnmarshalText([]byte(tt.text)); err != nil || q != p {
			t.Errorf("UnmarshalText(%q) = %v, %v", tt.text, q, err)
		}
	}
	for _, text := range []string{"", ":", "3b:00.0", "0000:3b", "0000:3b:0", "0000:3b:000", "0000:3b:00.8", "0000:3b:00.", "0000:3b:00 ", "123456789:3b:00", "xxxx:3b:00"} {
		if p, ok := ParsePCI(text); ok {
			t.Errorf("ParsePCI(%q) = %v", text, p)
		}
		if err := new(PCI).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("UnmarshalText(%q) has no error", text)
		}
	}
}

func TestPCIOrder(t *testing.T) {
	ordered := []PCI{{0, 1, 2}, {0, 2, 0}, {0, 2, 1}, {1, 0, 0}}
	for i, p := range ordered {
		for j, q := range ordered {
			if p.Less(q) != (i < j) {
				t.Errorf("%v < %v is %t", p, q, p.Less(q))
			}
		}
	}
}
