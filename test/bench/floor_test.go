package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The floor is the least that any program could do: wait for the log, put one
// line on disk, cordon the Node. It judges nothing and remembers nothing. The
// test binary is that program when the first variable, the log, is set.
const (
	floorVariable       = "GPUHEALTHD_FLOOR_LOG"
	floorNode           = "GPUHEALTHD_FLOOR_NODE"
	floorKubeconfig     = "GPUHEALTHD_FLOOR_KUBECONFIG"
	floorDisk           = "GPUHEALTHD_FLOOR_DISK"
	floorListens        = "listening"
	floorCordon         = `{"spec":{"unschedulable":true}}`
	floorRecord         = 8 << 10
	floorQueriesNoLimit = -1
)

func floor(path string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(floorKubeconfig))
	if err != nil {
		return err
	}
	config.QPS = floorQueriesNoLimit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	nodes := client.CoreV1().Nodes()
	if _, err := nodes.Get(context.Background(), os.Getenv(floorNode), metav1.GetOptions{}); err != nil {
		return err // and the connection stands, as the daemon's watch has it
	}
	disk, err := os.Create(os.Getenv(floorDisk))
	if err != nil {
		return err
	}
	return listen(path, func(line []byte) error {
		if !bytes.Contains(line, []byte("NVRM: Xid")) {
			return nil
		}
		if _, err := disk.Write(line); err != nil {
			return err
		}
		if err := disk.Sync(); err != nil {
			return err
		}
		_, err := nodes.Patch(context.Background(), os.Getenv(floorNode), types.MergePatchType, []byte(floorCordon), metav1.PatchOptions{})
		return err
	})
}

// listen hands over what is appended to a log from now on.
func listen(path string, handle func([]byte) error) error {
	log, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := unix.Seek(log, 0, io.SeekEnd); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	wake := log
	if !real() {
		if wake, err = unix.InotifyInit1(unix.IN_NONBLOCK); err != nil {
			return err
		}
		if _, err := unix.InotifyAddWatch(wake, path, unix.IN_MODIFY); err != nil {
			return err
		}
	}
	fmt.Println(floorListens)
	var record [floorRecord]byte
	for {
		n, err := unix.Read(log, record[:])
		if n > 0 {
			if err := handle(record[:n]); err != nil {
				return err
			}
			continue
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EPIPE) {
			return fmt.Errorf("read %s: %w", path, err)
		}
		fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if wake != log {
			_, _ = unix.Read(wake, make([]byte, floorRecord)) // what happened is seen in the log
		}
	}
}
