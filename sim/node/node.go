// Package node holds a simulated GPU node: a folder with the control file that
// sim's driver libraries read (node.conf), a kernel log of its own in the
// /dev/kmsg record format (kmsg) and a boot id (boot_id).
//
// Every change is one atomic replacement of a file, made under a lock on the
// folder: processes that use the simulated driver see the old state or the new
// one, and several writers never lose each other's change. Nothing of the
// machine itself is touched, its kernel log least of all.
//
// A GPU is named by its index in the control file, its UUID or its PCI address.
package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpuhealthd/gpuhealthd/sim/profiles"
)

// The files of a node's folder.
const (
	controlFile = "node.conf"
	kmsgFile    = "kmsg"
	bootFile    = "boot_id"
	lockFile    = "lock"
	devFolder   = "dev" // stands for /dev: nvidiactl, nvidia0 and so on
)

// Node is a simulated node's folder. It keeps no state of its own.
type Node struct {
	dir string
}

// New makes the node of a profile in dir, which is created if need be and must
// not hold a node yet. It has booted, is healthy and has an empty kernel log.
func New(dir, profile string) (*Node, error) {
	text, err := profiles.Read(profile)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("simulated node %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("simulated node: %w", err)
	}
	n := &Node{dir: dir}
	err = n.locked(func() error {
		if _, err := os.Stat(n.path(controlFile)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("simulated node %s: %s is there already", dir, controlFile)
		}
		if err := n.boot(); err != nil {
			return err
		}
		c := parseConf(text)
		if err := n.makeDevices(c); err != nil {
			return err
		}
		c.set(nodeSection, "devices", n.path(devFolder))
		return n.replace(controlFile, c.bytes())
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// makeDevices makes the files that stand for the driver's devices, so that it
// shows who has them open.
func (n *Node) makeDevices(c conf) error {
	if err := os.MkdirAll(n.path(devFolder), 0o755); err != nil {
		return fmt.Errorf("simulated node: %w", err)
	}
	names := []string{"nvidiactl"}
	for i := range c.count() {
		names = append(names, "nvidia"+c.get(i, "minor"))
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(n.path(devFolder), name), nil, 0o644); err != nil {
			return fmt.Errorf("simulated node: %w", err)
		}
	}
	return nil
}

// Open gives the node that New made in dir.
func Open(dir string) (*Node, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("simulated node %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, controlFile)); err != nil {
		return nil, fmt.Errorf("simulated node (make one with init): %w", err)
	}
	return &Node{dir: dir}, nil
}

// Dir is the node's folder, by which Open finds it.
func (n *Node) Dir() string { return n.dir }

// KmsgPath is the node's kernel log, a file of /dev/kmsg records.
func (n *Node) KmsgPath() string { return n.path(kmsgFile) }

// BootIDPath is the node's /proc/sys/kernel/random/boot_id.
func (n *Node) BootIDPath() string { return n.path(bootFile) }

// Env is what a process needs in its environment to live on this node. lib is
// the folder that the driver libraries were built into (make -C sim OUT=lib);
// without it, that is with "", the process finds no driver library of ours.
func (n *Node) Env(lib string) []string {
	env := []string{"GPUHEALTHD_SIM=" + n.dir}
	if lib != "" {
		env = append(env, "LD_LIBRARY_PATH="+lib)
	}
	return env
}

func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// locked runs do while no other writer, in this process or another, is at it. The
// lock is a file: the daemon locks the folder that its state is in, and that may
// be this one.
func (n *Node) locked(do func() error) error {
	lock, err := os.OpenFile(n.path(lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("simulated node: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("simulated node %s: lock: %w", n.dir, err)
	}
	return do()
}

// replace puts a whole new file in the place of the old one.
func (n *Node) replace(name string, text []byte) error {
	fresh := n.path(name + ".new")
	if err := os.WriteFile(fresh, text, 0o644); err != nil {
		return fmt.Errorf("simulated node: %w", err)
	}
	if err := os.Rename(fresh, n.path(name)); err != nil {
		return fmt.Errorf("simulated node: %w", err)
	}
	return nil
}
