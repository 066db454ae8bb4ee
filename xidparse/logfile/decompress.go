package logfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

	errNoZstd = errors.New("compressed with zstd, which is not supported here")
)

// decompress opens what the first bytes say the stream is.
func decompress(in *bufio.Reader, zstd func(io.Reader) (io.Reader, error)) (io.Reader, error) {
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return plain, nil
	case bytes.HasPrefix(head, zstdMagic):
		if zstd == nil {
			return nil, errNoZstd
		}
		plain, err := zstd(in)
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return plain, nil
	}
	return in, nil
}

// counter counts what is read from in.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}
