package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
	"github.com/gpuhealthd/gpuhealthd/test/journald"
)

// A thousand rotations cost the child neither a descriptor nor memory.
func TestRotationsLeakNothing(t *testing.T) {
	rotations := 1000
	if testing.Short() {
		rotations = 50
	}
	d := journald.Start(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"="+d.Root, "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := journal.Request{Follow: &journal.Place{Boot: bootID(t)}}.Line()
	if _, err := in.Write(line); err != nil {
		t.Fatal(err)
	}
	opened := make(chan int, 2*rotations)
	go countOpenings(out, opened)
	<-opened
	for range 40 { // until the oldest files are thrown away
		d.Rotate()
	}
	settle(opened)
	files, memory := descriptors(t, cmd.Process.Pid), resident(t, cmd.Process.Pid)
	began := time.Now()
	for i := range rotations {
		if d.Rotate(); i%20 == 0 {
			<-opened
		}
	}
	took, again := time.Since(began), rotations/20+settle(opened)
	t.Logf("%d rotations in %s, opened anew %d times: descriptors %d then %d, resident %d KiB then %d KiB",
		rotations, took.Round(time.Millisecond), again, files, descriptors(t, cmd.Process.Pid), memory, resident(t, cmd.Process.Pid))
	if now := descriptors(t, cmd.Process.Pid); now > files+4 {
		t.Errorf("%d descriptors, %d before", now, files)
	}
	if now := resident(t, cmd.Process.Pid); now > memory+memory/2 {
		t.Errorf("%d KiB resident, %d before", now, memory)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func countOpenings(out io.Reader, opened chan<- int) {
	for lines := bufio.NewReaderSize(out, journal.MaxLine); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		if bytes.Contains(line, []byte(`"kind":"opened"`)) {
			opened <- 1
		}
	}
}

// settle counts openings until there was none for longer than the child looks.
func settle(opened <-chan int) (n int) {
	for {
		select {
		case <-opened:
			n++
		case <-time.After(2 * glance):
			return n
		}
	}
}

// resident is a process's memory in KiB.
func resident(t *testing.T, pid int) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(status), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() / 1024
}
