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
	errNested = errors.New("compressed more than twice, which is not read; unpack it first")
)

// decompress opens what the first bytes say the stream is, and what is inside:
// a log that was compressed by its writer is often compressed once more when it
// is gathered. What is not read is refused.
func decompress(in *bufio.Reader, zstd func(io.Reader) (io.Reader, error)) (*bufio.Reader, error) {
	for range 3 {
		head, err := in.Peek(sniffed)
		if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		var plain io.Reader
		switch {
		case bytes.HasPrefix(head, gzipMagic):
			plain, err = openGzip(in)
		case bytes.HasPrefix(head, zstdMagic):
			plain, err = openZstd(in, zstd)
		default:
			return in, refuse(head)
		}
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(plain, MaxLine)
	}
	return nil, errNested
}

func openZstd(in io.Reader, zstd func(io.Reader) (io.Reader, error)) (io.Reader, error) {
	if zstd == nil {
		return nil, errNoZstd
	}
	plain, err := zstd(in)
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return plain, nil
}

// members reads the members of a gzip file one after the other, and passes over
// zeros behind the last: tapes and block devices pad with them.
type members struct {
	in *bufio.Reader
	gz *gzip.Reader
	// err is why there is no further member.
	err error
}

func openGzip(in *bufio.Reader) (io.Reader, error) {
	gz, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	gz.Multistream(false)
	return &members{in: in, gz: gz}, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		if m.err != nil {
			return 0, m.err
		}
		n, err := m.gz.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil // the end comes again with the next call
		}
		m.err = m.next()
	}
}

// next begins the next member; io.EOF where there is none.
func (m *members) next() error {
	for {
		c, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if c == 0 {
			continue
		}
		if err := m.in.UnreadByte(); err != nil {
			return err
		}
		if err := m.gz.Reset(m.in); err != nil {
			return fmt.Errorf("gzip: behind the end: %w", err)
		}
		m.gz.Multistream(false)
		return nil
	}
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
