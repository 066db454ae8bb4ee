package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// MaxBundle is the most bytes that one bundle takes, a quarter of it kept free for
// verdicts and steps.
const MaxBundle = 1 << 20

// suffix is how a bundle's file is called, behind its incident's escaped id.
const suffix = ".jsonl"

// maxName is the longest file name that Linux has.
const maxName = 255

// Limits bound a folder of bundles.
type Limits struct {
	// Keep is how many bundles there are at most, at least 1.
	Keep int
	// MaxBytes is how much they take together, at least 64 KiB.
	MaxBytes int64
}

// Dir is a folder of bundles. One process appends, from one goroutine; any may
// read, from any.
type Dir struct {
	path   string
	limits Limits
	// full are the bundles that were told that they are.
	full map[string]bool

	// listing lets one List at a time read, and keeps what it has read: bundles
	// rarely change.
	listing sync.Mutex
	listed  map[string]listed
}

// NewDir names the folder, which is made when there is something to keep.
func NewDir(path string, limits Limits) *Dir {
	return &Dir{path: path, limits: limits, full: map[string]bool{}, listed: map[string]listed{}}
}

// Path is a bundle's file.
func (d *Dir) Path(id string) string { return filepath.Join(d.path, url.PathEscape(id)+suffix) }

// incidentOf gives the id of a bundle's file, or nothing for another file.
func incidentOf(name string) (id string, ok bool) {
	escaped, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return "", false
	}
	id, err := url.PathUnescape(escaped)
	return id, err == nil && id != ""
}

// Append adds pieces to an incident's bundle, and makes room for them. What does
// not fit into the bundle any more is left out, and the bundle says so. An end is
// written once, and only into a bundle that is there.
func (d *Dir) Append(id string, pieces []Piece) error {
	path := d.Path(id)
	if len(filepath.Base(path)) > maxName {
		return fmt.Errorf("evidence of incident %.40s…: its id is too long for a file's name", id)
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	size, last, err := tail(path)
	if err != nil {
		return fmt.Errorf("evidence of incident %s: %w", id, err)
	}
	text, err := d.encode(id, size, last, pieces)
	if err != nil || len(text) == 0 {
		return err
	}
	if err := d.makeRoom(path, int64(len(text))); err != nil {
		return fmt.Errorf("evidence: make room: %w", err)
	}
	if err := write(path, text); err != nil {
		return fmt.Errorf("evidence of incident %s: %w", id, err)
	}
	return nil
}

// encode gives the lines for a bundle of that size which ends in last.
func (d *Dir) encode(id string, size int64, last []byte, pieces []Piece) ([]byte, error) {
	var text bytes.Buffer
	if len(last) > 0 && last[len(last)-1] != '\n' {
		text.WriteByte('\n') // behind what a writer left that died
	}
	for _, p := range pieces {
		if p.Kind == KindEnd && text.Len() <= 1 && (size == 0 || ended(last)) {
			continue
		}
		line, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("evidence of incident %s: encode a %s: %w", id, p.Kind, err)
		}
		if !d.fits(p.Kind, size+int64(text.Len()+len(line)+1)) {
			d.tellFull(id, p, &text)
			continue
		}
		text.Write(append(line, '\n'))
	}
	return text.Bytes(), nil
}

// fits says whether a bundle may grow to that size by a piece of that kind.
func (d *Dir) fits(k Kind, size int64) bool {
	most := min(MaxBundle, d.limits.MaxBytes)
	switch {
	case k == KindEnd:
		return size <= most
	case k.bulk():
		most = most / 4 * 3
	}
	return size <= most-reserve
}

// reserve is the room for the words that say that a bundle is full, and for its
// end.
const reserve = 512

// tellFull says once in a bundle that it is full, for each sort of piece.
func (d *Dir) tellFull(id string, p Piece, text *bytes.Buffer) {
	key, why := id, "the bundle has reached its bound"
	if p.Kind.bulk() {
		key, why = id+" bulk", "the bundle has reached its bound for kernel lines and samples"
	}
	if d.full[key] {
		return
	}
	d.full[key] = true
	line, err := json.Marshal(Piece{Kind: KindMissing, At: p.At, Missing: &Missing{Why: why}})
	if err == nil { // of such a piece it always is
		text.Write(append(line, '\n'))
	}
}

func write(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// tailSize is more than an end takes.
const tailSize = 256

// tail gives a file's size and its last bytes, none where there is no file.
func tail(path string) (size int64, last []byte, err error) {
	file, info, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer file.Close()
	from := max(0, info.Size()-tailSize)
	last = make([]byte, info.Size()-from)
	_, err = file.ReadAt(last, from)
	return info.Size(), last, err
}

// open opens a regular file for reading, and nothing that could block.
func open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	return file, info, err
}

// ended says whether a bundle's last bytes are an end.
func ended(last []byte) bool {
	whole, ok := bytes.CutSuffix(last, []byte("\n"))
	if !ok {
		return false
	}
	var p Piece
	line := whole[bytes.LastIndexByte(whole, '\n')+1:]
	return json.Unmarshal(line, &p) == nil && p.Kind == KindEnd
}

// Exists says whether the folder is there.
func (d *Dir) Exists() bool {
	info, err := os.Stat(d.path)
	return err == nil && info.IsDir()
}

// String is the folder's path.
func (d *Dir) String() string { return d.path }
