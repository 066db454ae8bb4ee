package xidparse

import "testing"

func parseOne(input string) []string {
	e, ok := Parse(input)
	if !ok {
		return []string{"none"}
	}
	return []string{describe(e)}
}

func TestParseMessages(t *testing.T) {
	goldenFile(t, "testdata/messages.txt", parseOne)
}

// What Parse takes, Ours must let through.
func TestOursNeverHidesAnEvent(t *testing.T) {
	ours := 0
	for _, s := range readGolden(t, "testdata/messages.txt") {
		text := UnescapeKmsg(nil, []byte(s.input))
		if _, ok := Parse(string(text)); ok && !Ours(text) {
			t.Errorf("Ours(%q) is false for an event", text)
		}
		if Ours(text) {
			ours++
		}
	}
	if ours == 0 {
		t.Error("no message is ours")
	}
	for _, text := range []string{"", "NVRM", "usb 1-1: new high-speed USB device number 2", "nvidia-modeset: Loading"} {
		if Ours([]byte(text)) {
			t.Errorf("Ours(%q)", text)
		}
	}
}
