package main

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStyleFor asks a terminal of this test's own.
func TestStyleFor(t *testing.T) {
	terminal := openTerminal(t)
	plain, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for _, c := range []struct {
		name, term, noColour string
		out                  *os.File
		want                 bool
	}{
		{"a terminal", "xterm", "", terminal, true},
		{"NO_COLOR", "xterm", "1", terminal, false},
		{"a dumb terminal", "dumb", "", terminal, false},
		{"no terminal", "xterm", "", plain, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TERM", c.term)
			t.Setenv("NO_COLOR", c.noColour)
			if got := styleFor(c.out).Colour; got != c.want {
				t.Errorf("colours: %v", got)
			}
		})
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 77}); err != nil {
		t.Fatal(err)
	}
	if a, b := terminalWidth(terminal, 120), terminalWidth(plain, 120); a != 77 || b != 120 {
		t.Errorf("a terminal of 77 columns has %d, and nothing has %d", a, b)
	}
}

func openTerminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}
