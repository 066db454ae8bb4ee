package image

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// container is the agent in its image.
type container struct {
	t       *testing.T
	name    string
	bundle  string
	sim     *node.Node
	process *process.Process
	url     string
}

// listening is how the daemon's log tells the port.
var listening = regexp.MustCompile(`"Listening on","address":"([^"]+)"`)

// start runs the pod of the DaemonSet on a simulated node and returns when it answers.
func start(t *testing.T) *container {
	t.Helper()
	dir := t.TempDir()
	sim, err := node.New(filepath.Join(dir, "sim"), "hgx-h100")
	must(t, err)
	c := &container{t: t, name: "gpuhealthd-test-" + filepath.Base(filepath.Dir(dir)), bundle: built.unpack(t), sim: sim}
	volumes := map[string]string{"proc": "/proc", "kmsg": sim.KmsgPath(), simulation: filepath.Join(dir, "sim")}
	for _, name := range []string{"config", "log", "run-log", "state", "driver-root", "pod-resources"} {
		volumes[name] = filepath.Join(dir, name)
		must(t, os.Mkdir(volumes[name], 0o755))
	}
	driverRoot(t, volumes["driver-root"])
	writeConfig(t, volumes["config"], sim.BootIDPath())
	kubelet(t, c.bundle, daemonSet(t).Spec.Template.Spec, volumes, sim.Env(""))

	cmd := exec.Command("runc", "run", "--bundle", c.bundle, c.name)
	c.process, err = process.Start(filepath.Join(dir, "output"), cmd)
	must(t, err)
	t.Cleanup(c.remove)
	daemontest.Await(t, "the daemon listens", func() bool {
		found := listening.FindStringSubmatch(c.process.Output())
		if found != nil {
			c.url = "http://" + found[1]
		}
		return found != nil
	})
	return c
}

// driverRoot is another system's root with the driver's library in it, and with a libc
// that does not fit the image.
func driverRoot(t *testing.T, folder string) {
	t.Helper()
	lib := filepath.Join(folder, "usr/lib64")
	must(t, os.MkdirAll(lib, 0o755))
	run(t, "cp", filepath.Join(programs.Library(t), "libnvidia-ml.so.1"), lib)
	must(t, os.WriteFile(filepath.Join(lib, "libc.so.6"), []byte("of another system"), 0o755))
}

func (c *container) remove() {
	if c.t.Failed() {
		c.t.Logf("the container's output:\n%s", c.process.Output())
	}
	_ = exec.Command("runc", "delete", "--force", c.name).Run() // it may be gone already
	c.process.Kill()
}

func (c *container) get(path string) (code int, body string) {
	c.t.Helper()
	answer, err := http.Get(c.url + path)
	must(c.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(c.t, err)
	return answer.StatusCode, string(text)
}

// exec is what a command prints inside.
func (c *container) exec(args ...string) string {
	c.t.Helper()
	return run(c.t, "runc", append([]string{"exec", c.name}, args...)...)
}

// pid is the agent's process, as the host sees it.
func (c *container) pid() string {
	c.t.Helper()
	var state struct{ PID json.Number }
	must(c.t, json.Unmarshal([]byte(run(c.t, "runc", "state", c.name)), &state))
	return state.PID.String()
}

func TestTheImageRunsAsTheDaemonSetSays(t *testing.T) {
	c := start(t)
	daemontest.Await(t, "kernel log and driver answer", func() bool { code, _ := c.get("/readyz"); return code == http.StatusOK })
	if _, body := c.get("/metrics"); !strings.Contains(body, `gpuhealthd_build_info{`) || !strings.Contains(body, `version="`+version+`"`) {
		t.Errorf("the metrics do not say which version this is:\n%s", body)
	}
	if said := c.exec("/usr/bin/gpuhealthd", "check", "--deadline=30s", "--url="+c.url); !strings.HasPrefix(said, "healthy: 8 of 8") {
		t.Errorf("check says %q", said)
	}
	g, err := c.sim.GPU("2")
	must(t, err)
	must(t, c.sim.Kmsg(daemontest.XID(g.PCI, daemontest.Uncontained)))
	daemontest.Await(t, "a fault is acted on", func() bool { return strings.Contains(c.process.Output(), "would cordon the node") })

	// The root is read-only even for its root, and what mode repair starts is in it.
	if err := os.WriteFile("/proc/"+c.pid()+"/root/usr/bin/x", nil, 0o755); !errors.Is(err, syscall.EROFS) {
		t.Errorf("writing into the image: %v", err)
	}
	repair, err := config.Load("../../deploy/overlays/repair/config.yaml")
	must(t, err)
	c.exec("/usr/bin/"+repair.Repair.Host[0], "--version")

	began := time.Now()
	run(t, "runc", "kill", c.name, "TERM")
	<-c.process.Done()
	if took := time.Since(began); c.process.ExitCode() != 0 || took > 2*time.Second {
		t.Errorf("it ended with exit code %d after %s", c.process.ExitCode(), took)
	}
}

// BenchmarkImage is how large it is, packed and unpacked.
func BenchmarkImage(b *testing.B) {
	const mebibyte = 1 << 20
	for b.Loop() {
		archive, err := os.Stat(built.get(b))
		must(b, err)
		b.ReportMetric(float64(archive.Size())/mebibyte, "packed-MiB")
		var size int64
		must(b, filepath.Walk(filepath.Join(built.unpack(b), "rootfs"), func(_ string, f os.FileInfo, err error) error {
			if err == nil && f.Mode().IsRegular() {
				size += f.Size()
			}
			return err
		}))
		b.ReportMetric(float64(size)/mebibyte, "unpacked-MiB")
	}
	b.ReportMetric(0, "ns/op")
}
