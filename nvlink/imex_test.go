package nvlink

import "testing"

func TestIMEX(t *testing.T) {
	for word, want := range map[string]IMEXState{"READY": IMEXReady, "INITIALIZING": IMEXNotReady, "WAITING_FOR_PEERS": IMEXNotReady,
		"SHUTTING_DOWN": IMEXNotReady, "UNAVAILABLE": IMEXUnknown, "ready": IMEXUnknown, "": IMEXUnknown} {
		if got := IMEXWord(word); got != want {
			t.Errorf("%q: %d, want %d", word, got, want)
		}
	}
	for number, want := range map[int]IMEXState{0: IMEXNotReady, 4: IMEXNotReady, 5: IMEXReady, 6: IMEXNotReady, 7: IMEXUnknown, 8: IMEXUnknown, -1: IMEXUnknown, -3: IMEXUnknown} {
		if got := IMEXNumber(number); got != want {
			t.Errorf("%d: %d, want %d", number, got, want)
		}
	}
}
