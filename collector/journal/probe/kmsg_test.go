package probe

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
	"github.com/gpuhealthd/gpuhealthd/test/journald"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// testKmsg allows these tests to write to the machine's kernel log.
const testKmsg = "GPUHEALTHD_TEST_KMSG"

// kmsg is the kernel's log, to be compared with.
type kmsg struct {
	t  *testing.T
	fd int
}

func openKmsg(t *testing.T) *kmsg {
	t.Helper()
	if os.Getenv(testKmsg) == "" {
		t.Skipf("writes to /dev/kmsg: set %s to run", testKmsg)
	}
	fd, err := syscall.Open("/dev/kmsg", syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	return &kmsg{t, fd}
}

// say writes one line; a descriptor may write ten in five seconds.
func (k *kmsg) say(text string) {
	k.t.Helper()
	file, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		k.t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "<4>%s\n", text); err != nil {
		k.t.Fatal(err)
	}
}

// read appends to known what has been said since, by its clock and text.
func (k *kmsg) read(known map[string]int, mark string) {
	k.t.Helper()
	buf := make([]byte, 8<<10)
	for {
		n, err := syscall.Read(k.fd, buf)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return
		case errors.Is(err, syscall.EPIPE):
			k.t.Fatal("the test itself lost records")
		case err != nil:
			k.t.Fatal(err)
		}
		rec, err := xidparse.CutKmsg(buf[:n])
		if err != nil {
			k.t.Fatal(err)
		}
		if text := string(xidparse.UnescapeKmsg(nil, rec.Text)); strings.Contains(text, mark) {
			known[fmt.Sprintf("%d %s", rec.Micros, text)]++
		}
	}
}

// Every record that /dev/kmsg had comes through the journal once, with the same
// clock and the same text, while journald rotates and throws away what was read.
func TestJournalHasWhatKmsgHas(t *testing.T) {
	const bursts, lines = 40, 250
	k := openKmsg(t)
	k.read(map[string]int{}, "\x00")
	d := journald.Start(t)
	mark := fmt.Sprintf("load pid=%d", os.Getpid())
	s := serve(t, Config{Paths: []string{d.Root}, Kernel: true})
	s.follow(journal.Place{Boot: bootID(t)})

	want, got := map[string]int{}, map[string]int{}
	opened := 0
	for b := range bursts {
		for i := range lines {
			k.say(fmt.Sprintf("NVRM: Xid (PCI:fffe:ff:1f): 31, %s caf\u00e9\\ %d.%d", mark, b, i))
			if i == lines/2 {
				d.Rotate()
			}
		}
		k.read(want, mark)
		for end := fmt.Sprintf("%d.%d", b, lines-1); end != ""; {
			r := s.next()
			if r.Kind == journal.KindOpened {
				opened++
			}
			for _, e := range r.Entries {
				if text := string(e.Text); strings.Contains(text, mark) {
					got[fmt.Sprintf("%d %s", e.Micros, text)]++
					if strings.HasSuffix(text, " "+end) {
						end = ""
					}
				}
				if e.Missed > 0 && len(got) > 0 { // before, it was before this journald
					t.Errorf("journald or the reader missed %d", e.Missed)
				}
			}
		}
	}
	if len(want) != bursts*lines {
		t.Errorf("/dev/kmsg had %d lines of %d", len(want), bursts*lines)
	}
	for line, n := range want {
		if got[line] != n {
			t.Errorf("%d times in the journal, %d in /dev/kmsg: %s", got[line], n, line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the journal has %d lines, /dev/kmsg %d", len(got), len(want))
	}
	t.Logf("%d lines, %d rotations, opened %d times, journal files at the end: %d", len(got), bursts, opened, len(strings.Fields(d.Files())))
}
