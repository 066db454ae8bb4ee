package e2e

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestSystemdIsNotified plays the part of systemd: it hears that the daemon is
// ready, alive and stopping.
func TestSystemdIsNotified(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	defer socket.Close()
	must(t, socket.SetReadDeadline(time.Now().Add(time.Minute)))
	d := programs.New(t)
	d.Env = append(d.Env, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=300000")
	d.Start()
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		if got := datagram(t, socket); got != want {
			t.Fatalf("systemd heard %q, want %q", got, want)
		}
	}
	d.AwaitReady()
	if took := d.Stop(); took > 2*time.Second {
		t.Errorf("SIGTERM took %s", took)
	}
	for got := ""; got != "STOPPING=1"; {
		got = datagram(t, socket)
	}
}

func datagram(t *testing.T, socket net.Conn) string {
	t.Helper()
	var text [256]byte
	n, err := socket.Read(text[:])
	must(t, err)
	return string(text[:n])
}
