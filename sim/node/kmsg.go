package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// tail is how far back the last record is looked for: the kernel's records are
// far shorter.
const tail = 16 << 10

// Kmsg appends one record to the node's kernel log, as the driver's printk
// makes it: facility 0, level warning, flag c, the next sequence number, the
// time since boot, and the text escaped. It may hold newlines, but not be empty.
func (n *Node) Kmsg(text string) error {
	if text == "" {
		return errors.New("kmsg: empty text")
	}
	return n.locked(func() error {
		file, err := os.OpenFile(n.path(kmsgFile), os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return fmt.Errorf("simulated node: %w", err)
		}
		defer file.Close()
		sequence, err := nextSequence(file)
		if err != nil {
			return err
		}
		up, err := n.uptime()
		if err != nil {
			return err
		}
		record := fmt.Appendf(nil, "4,%d,%d,c;", sequence, up.Microseconds())
		record = append(escape(record, text), '\n')
		if _, err := file.Write(record); err != nil {
			return fmt.Errorf("simulated node: %w", err)
		}
		return nil
	})
}

// uptime counts from the boot id's making.
func (n *Node) uptime() (time.Duration, error) {
	st, err := os.Stat(n.path(bootFile))
	if err != nil {
		return 0, fmt.Errorf("simulated node: %w", err)
	}
	return max(0, time.Since(st.ModTime())), nil
}

// nextSequence is one above that of the last record; a boot begins with 0.
func nextSequence(file *os.File) (uint64, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("simulated node: %w", err)
	}
	if size == 0 {
		return 0, nil
	}
	text := make([]byte, min(size, tail))
	if _, err := file.ReadAt(text, size-int64(len(text))); err != nil {
		return 0, fmt.Errorf("simulated node: %w", err)
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	fields := bytes.SplitN(last, []byte(","), 3)
	if len(fields) < 3 {
		return 0, fmt.Errorf("%s: last record %.40q is not a kmsg record", file.Name(), last)
	}
	sequence, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: last record %.40q: %w", file.Name(), last, err)
	}
	return sequence + 1, nil
}

// escape appends text as the kernel does: what does not print, and the
// backslash, as \xNN.
func escape(dst []byte, text string) []byte {
	for _, b := range []byte(text) {
		if b < ' ' || b >= 127 || b == '\\' {
			dst = fmt.Appendf(dst, `\x%02x`, b)
			continue
		}
		dst = append(dst, b)
	}
	return dst
}
