package holders

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// holds is what makes this test binary a process that holds a file: how, and the
// path.
const holds = "HOLDERS_TEST_HOLDS"

func TestMain(m *testing.M) {
	if how, path, _ := strings.Cut(os.Getenv(holds), " "); path != "" {
		hold(how, path)
	}
	os.Exit(m.Run())
}

// init ties the main goroutine to the first thread, which one way of holding a
// file ends.
func init() {
	if os.Getenv(holds) != "" {
		runtime.LockOSThread()
	}
}

// hold opens the file, says so, and keeps it until its input ends.
func hold(how, path string) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	end := make(chan struct{})
	go func() {
		fmt.Println("holding")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if how == "close" {
			file.Close()
			fmt.Println("closed")
			select {}
		}
		os.Exit(0)
	}()
	if how == "leaderless" {
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread alone
	}
	<-end
}

// holder is a real process that has a file open.
type holder struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Reader
}

// startHolder starts one and returns when it has the file open.
func startHolder(t *testing.T, how, path string) *holder {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), holds+"="+how+" "+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // Pdeathsig follows this thread
	t.Cleanup(runtime.UnlockOSThread)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &holder{cmd: cmd, stdin: stdin, stdout: stdout}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	h.awaits(t, "holding")
	return h
}

func (h *holder) awaits(t *testing.T, word string) {
	t.Helper()
	said := make([]byte, len(word)+1)
	if _, err := io.ReadFull(h.stdout, said); err != nil || strings.TrimSpace(string(said)) != word {
		t.Fatalf("the holder says %q (%v), want %q", said, err, word)
	}
}

func number(n int) *int { return &n }

// two GPUs, with the UUIDs GPU-0 and GPU-1 and the device files nvidia0 and nvidia1.
func two() []GPU {
	return []GPU{
		{Device: fault.Device{UUID: "GPU-0", PCI: xidparse.PCI{Bus: 0x1a}}, Minor: number(0)},
		{Device: fault.Device{UUID: "GPU-1", PCI: xidparse.PCI{Bus: 0x1b}}, Minor: number(1)},
	}
}

// write fills a folder with files, given by path and content. A content that
// begins with -> is a link.
func write(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// process are the files in /proc of a process with one thread and one open file.
func process(pid int, comm, cgroup, status, file string) map[string]string {
	p := strconv.Itoa(pid) + "/"
	return map[string]string{
		p + "comm": comm + "\n", p + "cgroup": cgroup, p + "fd/7": "->" + file,
		p + "task/" + p + "status": status, p + "task/" + p + "fd/7": "->" + file,
	}
}
