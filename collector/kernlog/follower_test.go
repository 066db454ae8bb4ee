package kernlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openFile follows a new file that holds content.
func openFile(t *testing.T, content string) (path string, src source) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kmsg")
	put(t, path, content)
	w, err := newWaker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	if src, err = openSource(path, w); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.close)
	return path, src
}

// put writes the file anew: in place, so that it is truncated.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, path, content string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

func expectRead(t *testing.T, src source, want string, wantErr error) {
	t.Helper()
	p := make([]byte, minRecord)
	n, err := src.read(p)
	if string(p[:n]) != want || !errors.Is(err, wantErr) {
		t.Fatalf("read %.60q, %v; want %.60q, %v", p[:n], err, want, wantErr)
	}
}

func expectWake(t *testing.T, src source) {
	t.Helper()
	if err := src.wait(); err != nil {
		t.Fatal(err)
	}
}

func TestFollowerReadsLineByLine(t *testing.T) {
	path, src := openFile(t, "4,0,5,-;a\n KEY=value\n\n4,1,6,-;b\n4,2,7")
	expectRead(t, src, "4,0,5,-;a\n", nil)
	expectRead(t, src, "\n", nil)
	expectRead(t, src, "4,1,6,-;b\n", nil)
	expectRead(t, src, "", unix.EAGAIN)
	add(t, path, ",-;half")
	expectWake(t, src)
	expectRead(t, src, "", unix.EAGAIN)
	add(t, path, " done\n")
	expectWake(t, src)
	expectRead(t, src, "4,2,7,-;half done\n", nil)
	expectRead(t, src, "", unix.EAGAIN)
}

func TestFollowerRefusesLongLines(t *testing.T) {
	for _, size := range []int{minRecord, maxRecord - 1, maxRecord, 3*maxRecord + 7} {
		_, src := openFile(t, strings.Repeat("x", size)+"\nnext\n")
		expectRead(t, src, "", unix.EINVAL)
		expectRead(t, src, "next\n", nil)
		expectRead(t, src, "", unix.EAGAIN)
	}
}

func TestFollowerNoticesAnotherLog(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
		first  string // what is still read of the old log
	}{
		{"truncated", func(t *testing.T, path string) { put(t, path, "new\n") }, ""},
		{"emptied", func(t *testing.T, path string) { put(t, path, "") }, ""},
		{"removed", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"moved away", func(t *testing.T, path string) {
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"renamed over, with a last word", func(t *testing.T, path string) {
			add(t, path, "last\n")
			put(t, path+".new", "new\n")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, "last\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path, src := openFile(t, "old line\n")
			expectRead(t, src, "old line\n", nil)
			expectRead(t, src, "", unix.EAGAIN)
			tt.change(t, path)
			expectWake(t, src)
			if tt.first != "" {
				expectRead(t, src, tt.first, nil)
			}
			expectRead(t, src, "", errReplaced)
		})
	}
}

func TestOpenSourceRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := openSource(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := openSource(dir, nil); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("folder: %v", err)
	}
}

// listener runs a reader on a real log and hands each record on.
type listener struct {
	*Reader
	records chan Record
	done    chan error
	stop    context.CancelFunc
}

func listenTo(t *testing.T, cfg Config) *listener {
	t.Helper()
	r, err := NewReader(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, r)
}

func run(t *testing.T, r *Reader) *listener {
	t.Helper()
	// The deadline only keeps a failing test from hanging.
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	l := &listener{Reader: r, records: make(chan Record, 1<<16), done: make(chan error, 1), stop: stop}
	go func() {
		defer close(l.records)
		l.done <- r.Run(ctx, func(batch []Record) error {
			for _, rec := range keep(batch) {
				l.records <- rec
			}
			return nil
		})
	}()
	return l
}

func (l *listener) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for range want {
		rec, ok := <-l.records
		if !ok {
			break
		}
		got = append(got, tell(rec))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("heard %q, want %q; state %+v", got, want, l.State())
	}
}

func (l *listener) end(t *testing.T) {
	t.Helper()
	l.stop()
	if err := <-l.done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	for rec := range l.records {
		t.Errorf("unexpected record %s", tell(rec))
	}
}

func TestReaderFollowsAFileThroughBootAndRestart(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Path: filepath.Join(dir, "kmsg"), BootIDPath: filepath.Join(dir, "boot_id")}
	setBoot(t, cfg.BootIDPath, "one")
	put(t, cfg.Path, "6,0,1,-;a\n4,1,2,-;b\n")
	l := listenTo(t, cfg)
	l.expect(t, "one/0 backlog a", "one/1 backlog b")
	time.Sleep(100 * time.Millisecond) // until the reader has found the end, all is backlog
	add(t, cfg.Path, "4,2,3,-;c\n12,3,3,-;user\n4,4,3,-;d")
	l.expect(t, "one/2 c")
	add(t, cfg.Path, "\n")
	l.expect(t, "one/4 d")

	setBoot(t, cfg.BootIDPath, "two")
	put(t, cfg.Path, "6,0,1,-;e\n")
	l.expect(t, "two/0 e")
	setBoot(t, cfg.BootIDPath, "three")
	put(t, cfg.Path+".new", "6,0,1,-;f is of a longer log\n6,1,1,-;g\n")
	if err := os.Rename(cfg.Path+".new", cfg.Path); err != nil {
		t.Fatal(err)
	}
	l.expect(t, "three/0 f is of a longer log", "three/1 g")
	l.end(t)

	cfg.From.Kmsg = l.State().Last
	add(t, cfg.Path, fmt.Sprintf("6,2,%d,-;h\n", monotonicMicros()))
	l = listenTo(t, cfg)
	defer l.end(t)
	l.expect(t, "three/2 h")
	if got := l.State(); got.Lost != 0 || got.Garbled != 0 {
		t.Errorf("state %+v", got)
	}
}
