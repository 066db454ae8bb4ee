package kernlog

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// testKmsg allows these tests to write to the machine's kernel log.
const testKmsg = "GPUHEALTHD_TEST_KMSG"

// kmsgConfig listens from the end of the real log on.
func kmsgConfig(t *testing.T) Config {
	t.Helper()
	if os.Getenv(testKmsg) == "" {
		t.Skipf("writes to /dev/kmsg: set %s to run", testKmsg)
	}
	return Config{Path: DefaultPath, BootIDPath: DefaultBootIDPath, AcceptUserspace: true}
}

// say writes one line to the kernel log, of a PCI domain that no machine has.
// One descriptor may write ten lines in five seconds, so each has its own. A
// line without its newline could still be continued, and is held back until the
// next one.
func say(t *testing.T, what string) {
	t.Helper()
	file, err := os.OpenFile(DefaultPath, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "<4>NVRM: Xid (PCI:fffe:ff:1f): 79, %s\n", what); err != nil {
		t.Fatal(err)
	}
}

// await passes over records until one ends with what.
func (l *listener) await(t *testing.T, what string) Record {
	t.Helper()
	for rec := range l.records {
		if strings.HasSuffix(string(rec.Text), what) {
			return rec
		}
	}
	t.Fatalf("%q was not heard; state %+v", what, l.State())
	return Record{}
}

func TestKmsgIsHeardOnceAndResumed(t *testing.T) {
	cfg := kmsgConfig(t)
	mark := fmt.Sprintf("pid=%d, name=\u00e9\\", os.Getpid())
	l := listenTo(t, cfg)
	say(t, mark+" one")
	one := l.await(t, mark+" one")
	if want := "NVRM: Xid (PCI:fffe:ff:1f): 79, " + mark + " one"; string(one.Text) != want || !one.Userspace {
		t.Errorf("heard %q, user space %v; want %q", one.Text, one.Userspace, want)
	}
	l.stop()
	<-l.done

	say(t, mark+" two")
	cfg.From.Kmsg = one.Position
	l = listenTo(t, cfg)
	defer l.stop()
	say(t, mark+" three")
	two := l.await(t, mark+" two")
	if two.Lost != 0 || two.Backlog || two.Sequence <= one.Sequence {
		t.Errorf("behind %d: heard %s", one.Sequence, tell(two))
	}
	if three := l.await(t, mark+" three"); three.Backlog {
		t.Errorf("heard %s", tell(three))
	}
}

func TestKmsgIsForeignByDefault(t *testing.T) {
	cfg := kmsgConfig(t)
	mark := fmt.Sprintf("pid=%d forged", os.Getpid())
	accepting := listenTo(t, cfg)
	defer accepting.stop()
	say(t, mark)
	heard := accepting.await(t, mark)

	cfg.AcceptUserspace = false
	cfg.From.Kmsg = Position{BootID: heard.BootID, Sequence: heard.Sequence - 1}
	refusing := listenTo(t, cfg)
	say(t, mark+" again")
	again := accepting.await(t, mark+" again")
	refusing.awaitSequence(t, again.Sequence)
	refusing.stop()
	for rec := range refusing.records {
		if strings.Contains(string(rec.Text), mark) {
			t.Errorf("delivered %s", tell(rec))
		}
	}
	if got := refusing.State(); got.Foreign < 2 {
		t.Errorf("state %+v", got)
	}
}

// awaitSequence returns when the reader has accounted for seq.
func (l *listener) awaitSequence(t *testing.T, seq uint64) {
	t.Helper()
	for l.State().Last.Sequence < seq {
		select {
		case err := <-l.done:
			t.Fatalf("Run: %v", err)
		default:
			runtime.Gosched()
		}
	}
}

// accounted checks that each record behind the number begin is received or lost,
// whoever wrote it, up to the one that ends so; it returns how many they are.
func (l *listener) accounted(t *testing.T, begin uint64, end string) uint64 {
	t.Helper()
	received, lost := uint64(0), uint64(0)
	for rec := range l.records {
		received, lost = received+1, lost+rec.Lost
		if strings.HasSuffix(string(rec.Text), end) {
			written := rec.Sequence - begin
			if received+lost != written {
				t.Errorf("received %d and lost %d of %d; state %+v", received, lost, written, l.State())
			}
			t.Logf("received %d, lost %d", received, lost)
			return written
		}
	}
	t.Fatalf("the log ended before %q", end)
	return 0
}

func TestKmsgFloodIsAccountedFor(t *testing.T) {
	cfg := kmsgConfig(t)
	const lines = 5000
	mark := fmt.Sprintf("pid=%d flood", os.Getpid())
	l := listenTo(t, cfg)
	defer l.stop()
	say(t, mark+" begin")
	begin := l.await(t, mark+" begin")
	for i := range lines {
		say(t, fmt.Sprintf("%s %d", mark, i))
	}
	say(t, mark+" end")
	written := l.accounted(t, begin.Sequence, mark+" end")
	if written <= lines {
		t.Errorf("%d records from begin to end", written)
	}
}

func TestKmsgRecordLongerThanTheBuffer(t *testing.T) {
	cfg := kmsgConfig(t)
	mark := fmt.Sprintf("pid=%d", os.Getpid())
	l := listenTo(t, cfg)
	say(t, mark+" before")
	before := l.await(t, mark+" before")
	l.stop()
	<-l.done

	cfg.From.Kmsg = before.Position
	say(t, mark+strings.Repeat(" long", 100))
	r, err := NewReader(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.buf = make([]byte, 256)
	l = run(t, r)
	defer l.stop()
	say(t, mark+" after")
	l.accounted(t, before.Sequence, mark+" after")
	if s := l.State(); s.Oversized < 1 {
		t.Errorf("state %+v", s)
	}
}
