package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The test binary runs itself as a child where a test needs a process to kill
// or a mount namespace of its own. childEnv names what the child does, dirEnv
// where.
const (
	childEnv = "GPUHEALTHD_STORE_CHILD"
	dirEnv   = "GPUHEALTHD_STORE_DIR"
)

func TestMain(m *testing.M) {
	children := map[string]func(dir string) error{
		"save":      saveForEver,
		"full":      saveUntilFull,
		"read-only": openOnReadOnly,
	}
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := children[name](os.Getenv(dirEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(name, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, dirEnv+"="+dir)
	return cmd
}

// inOwnMounts runs a child that may mount without anyone else seeing it.
func inOwnMounts(t *testing.T, name string) {
	t.Helper()
	cmd := child(name, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || strings.Contains(string(out), errNoMount.Error()) {
		t.Skipf("this machine allows no private mounts: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

var errNoMount = errors.New("cannot mount")

func TestAFullDiskKeepsTheLastSave(t *testing.T) { inOwnMounts(t, "full") }

func saveUntilFull(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("%w: %w", errNoMount, err)
	}
	path := filepath.Join(dir, "state.db")
	s, err := Open(path)
	if err != nil {
		return err
	}
	var last Snapshot
	for n := 1; err == nil; n++ {
		next := sample(n)
		next.Inventory = json.RawMessage(`"` + strings.Repeat("i", n*4000) + `"`)
		if err = s.Save(next); err == nil {
			last = next
		}
	}
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), path) {
		return fmt.Errorf("want ErrFull with the path, got %w", err)
	}
	if err := holds(s, last); err != nil {
		return err
	}
	small := sample(1)
	if err := s.Save(small); err != nil {
		return fmt.Errorf("a smaller snapshot after ErrFull: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(path); err != nil {
		return err
	}
	return holds(s, small)
}

func TestAReadOnlyDiskIsNamed(t *testing.T) { inOwnMounts(t, "read-only") }

func openOnReadOnly(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("%w: %w", errNoMount, err)
	}
	path := filepath.Join(dir, "state.db")
	s, err := Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Save(sample(1)), s.Close()); err != nil {
		return err
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("%w: %w", errNoMount, err)
	}
	for _, path := range []string{path, filepath.Join(dir, "not-there.db")} {
		_, err := Open(path)
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), path) {
			return fmt.Errorf("want ErrReadOnly with the path, got %w", err)
		}
	}
	return nil
}

func holds(s *Store, want Snapshot) error {
	got, err := s.Load()
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("holds %+v, saved was %+v", got, want)
	}
	return nil
}

// A process that is killed at any moment leaves what it had reported saved,
// or the save that it was in.
func TestKilledInTheMidstOfSaving(t *testing.T) {
	dir := t.TempDir()
	last := 0
	for round := range 8 {
		reported := killAfter(t, dir, 5+7*round)
		s := open(t, filepath.Join(dir, "state.db"))
		got, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		n := int(got.Position.Sequence)
		if n != reported && n != reported+1 {
			t.Fatalf("round %d: %d was reported saved, the store holds %d", round, reported, n)
		}
		if want := sample(n); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: a mixture: %+v", round, got)
		}
		if n <= last {
			t.Fatalf("round %d: went from %d to %d", round, last, n)
		}
		last = n
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter lets a child save, kills it when it has reported count saves, and
// returns the last that it reported.
func killAfter(t *testing.T, dir string, count int) int {
	t.Helper()
	cmd := child("save", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reported := 0
	lines := bufio.NewScanner(out)
	for seen := 0; lines.Scan(); seen++ {
		if reported, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if seen == count {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return reported
}

// saveForEver saves one snapshot after the other, and reports each when Save
// has returned.
func saveForEver(dir string) error {
	s, err := Open(filepath.Join(dir, "state.db"))
	if err != nil {
		return err
	}
	had, err := s.Load()
	if err != nil {
		return err
	}
	for n := int(had.Position.Sequence) + 1; ; n++ {
		if err := s.Save(sample(n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
}
