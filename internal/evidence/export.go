package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
)

// readme is what a stranger finds in an archive.
const readme = `Evidence of incident %s, collected by gpuhealthd.

report.txt       the whole incident to read: kernel log, verdicts, steps, samples
incident.jsonl   the same as it was collected, one JSON object a line
kernel.log       the kernel log around the incident, the driver's lines and others
replacement.json the part to replace; only where that was asked for

Kernel log: seconds since boot, then the text. Lines of any program are in it,
which may name processes, pods' interfaces and devices. GPUs are named by serial
number, UUID and PCI address, the node by its name and boot id. There is no
credential in it, no environment, and nothing of a program's memory or data.
`

// Export writes an archive (tar, gzip) for a vendor's ticket. raw is the bundle as
// it lies on disk, b what was read of it, report the text for people.
func Export(w io.Writer, raw []byte, b Bundle, report string) error {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	files := []struct {
		name string
		text []byte
	}{
		{"README.txt", fmt.Appendf(nil, readme, b.ID)},
		{"report.txt", []byte(report)},
		{"incident.jsonl", raw},
		{"kernel.log", kernelLog(b)},
		{"replacement.json", replacement(b)},
	}
	folder := "gpuhealthd-" + url.PathEscape(b.ID) + "/"
	for _, f := range files {
		if f.text == nil {
			continue
		}
		head := tar.Header{Typeflag: tar.TypeReg, Name: folder + f.name, Mode: 0o644, Size: int64(len(f.text)), ModTime: b.Pieces[len(b.Pieces)-1].At}
		if err := archive.WriteHeader(&head); err != nil {
			return fmt.Errorf("export %s: %w", f.name, err)
		}
		if _, err := archive.Write(f.text); err != nil {
			return fmt.Errorf("export %s: %w", f.name, err)
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

// kernelLog is the kernel's lines as dmesg shows them, one a line whatever is in
// them.
func kernelLog(b Bundle) []byte {
	text := []byte{}
	for _, p := range b.Of(KindLine) {
		if p.Line.Lost > 0 {
			text = fmt.Appendf(text, "-- %d records were lost here\n", p.Line.Lost)
		}
		line := bytes.ReplaceAll([]byte(p.Line.Text), []byte("\n"), []byte("\n "))
		text = fmt.Appendf(text, "[%5d.%06d] %s\n", p.Line.Micros/1e6, p.Line.Micros%1e6, line)
	}
	return text
}

func replacement(b Bundle) []byte {
	p, ok := b.last(KindReplacement)
	if !ok {
		return nil
	}
	text, err := json.MarshalIndent(p.Replace, "", "  ")
	if err != nil {
		return nil // it was read from JSON
	}
	return append(text, '\n')
}
