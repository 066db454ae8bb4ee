package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// The parts of bbolt's file format, version 2, that a check needs. Numbers
// are in the byte order of the machine, as bbolt has them.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeader = 16 // id 8, flags 2, count 2, overflow 4
	element    = 16 // of a branch: offset, key size, page; of a leaf: flags, offset, key and value size
	metaSize   = 64 // the last 8 are the checksum
	rootSize   = 16 // of a bucket: root page, sequence

	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10
	leafBucket   = 0x01

	noFreelist = ^uint64(0)
)

var order = binary.NativeEndian

// checker walks every page that is in use, reading the file and not a map of
// it: whatever the bytes are, the worst is an error. bbolt's own Tx.Check
// follows the offsets it finds, in a goroutine where a fault ends the process.
type checker struct {
	file     io.ReaderAt
	pageSize uint64
	// pages is how many there are: bbolt's high-water mark.
	pages uint64
	// used marks the pages met so far.
	used map[uint64]bool
}

// check returns an ErrCorrupt unless bbolt can read the whole file.
func check(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	meta, err := newestMeta(file)
	if err != nil {
		return err
	}
	c := &checker{
		file:     file,
		pageSize: uint64(order.Uint32(meta[8:])),
		pages:    order.Uint64(meta[40:]),
		used:     map[uint64]bool{0: true, 1: true},
	}
	if c.pages > uint64(info.Size())/c.pageSize {
		return fmt.Errorf("%w: cut short: %d bytes of %d pages of %d", ErrCorrupt, info.Size(), c.pages, c.pageSize)
	}
	if err := c.tree(order.Uint64(meta[16:])); err != nil {
		return err
	}
	if freelist := order.Uint64(meta[32:]); freelist != noFreelist {
		if err := c.freelist(freelist); err != nil {
			return err
		}
	}
	for id := range c.pages {
		if !c.used[id] {
			return fmt.Errorf("%w: page %d is neither used nor free", ErrCorrupt, id)
		}
	}
	return nil
}

// newestMeta returns the root of the last transaction that completed: the
// valid one of two, with the higher number. The second lies one page on, and
// the page size is known only from the first.
func newestMeta(file io.ReaderAt) ([]byte, error) {
	var newest []byte
	offsets := []int64{0}
	for size := int64(1 << 10); size <= 1<<24; size <<= 1 {
		offsets = append(offsets, size)
	}
	for _, offset := range offsets {
		meta := make([]byte, metaSize)
		if _, err := file.ReadAt(meta, offset+pageHeader); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read at %d: %w", offset, err)
		}
		if !validMeta(meta) || offset != 0 && int64(order.Uint32(meta[8:])) != offset {
			continue
		}
		if newest == nil || order.Uint64(meta[48:]) > order.Uint64(newest[48:]) {
			newest = meta
		}
	}
	if newest == nil {
		return nil, fmt.Errorf("%w: not a bbolt file, or both its roots are lost", ErrCorrupt)
	}
	return newest, nil
}

func validMeta(meta []byte) bool {
	sum := fnv.New64a()
	sum.Write(meta[:metaSize-8])
	return order.Uint32(meta) == boltMagic &&
		order.Uint32(meta[4:]) == boltVersion &&
		order.Uint32(meta[8:]) >= 1<<10 &&
		order.Uint64(meta[metaSize-8:]) == sum.Sum64()
}

// page reads a page with its overflow, and marks what it covers as used.
func (c *checker) page(id uint64) ([]byte, error) {
	header := make([]byte, pageHeader)
	if err := c.claim(id); err != nil {
		return nil, err
	}
	if _, err := c.file.ReadAt(header, int64(id*c.pageSize)); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	if got := order.Uint64(header); got != id {
		return nil, fmt.Errorf("%w: page %d says it is %d", ErrCorrupt, id, got)
	}
	overflow := uint64(order.Uint32(header[12:]))
	for i := range overflow {
		if err := c.claim(id + 1 + i); err != nil {
			return nil, err
		}
	}
	page := make([]byte, (1+overflow)*c.pageSize)
	if _, err := c.file.ReadAt(page, int64(id*c.pageSize)); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return page, nil
}

func (c *checker) claim(id uint64) error {
	if id >= c.pages {
		return fmt.Errorf("%w: page %d is beyond the last of %d", ErrCorrupt, id, c.pages)
	}
	if c.used[id] {
		return fmt.Errorf("%w: page %d is used twice", ErrCorrupt, id)
	}
	c.used[id] = true
	return nil
}

// tree checks a page and all below it.
func (c *checker) tree(id uint64) error {
	page, err := c.page(id)
	if err != nil {
		return err
	}
	return c.elements(id, page)
}

// elements checks the keys and values of one page, or of a small bucket that
// lies within a page.
func (c *checker) elements(id uint64, page []byte) error {
	bad := fmt.Errorf("%w: page %d is garbled", ErrCorrupt, id)
	if len(page) < pageHeader {
		return bad
	}
	flags, count := order.Uint16(page[8:]), int(order.Uint16(page[10:]))
	if flags != pageBranch && flags != pageLeaf || len(page) < pageHeader+count*element {
		return bad
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*element
		item := page[at : at+element]
		var key, value []byte
		var ok bool
		if flags == pageBranch {
			key, _, ok = cut(page[at:], order.Uint32(item), order.Uint32(item[4:]), 0)
		} else {
			key, value, ok = cut(page[at:], order.Uint32(item[4:]), order.Uint32(item[8:]), order.Uint32(item[12:]))
		}
		if !ok || len(key) == 0 || bytes.Compare(last, key) >= 0 {
			return bad
		}
		last = key
		if err := c.below(id, flags, item, value); err != nil {
			return err
		}
	}
	return nil
}

// below follows what an element points to: a page, a bucket, or nothing.
func (c *checker) below(id uint64, flags uint16, item, value []byte) error {
	if flags == pageBranch {
		return c.tree(order.Uint64(item[8:]))
	}
	if order.Uint32(item)&leafBucket == 0 {
		return nil
	}
	if len(value) < rootSize {
		return fmt.Errorf("%w: a bucket in page %d is garbled", ErrCorrupt, id)
	}
	if root := order.Uint64(value); root != 0 {
		return c.tree(root)
	}
	return c.elements(id, value[rootSize:])
}

// cut takes a key and a value from an element's own position.
func cut(from []byte, offset, keySize, valueSize uint32) (key, value []byte, ok bool) {
	end := uint64(offset) + uint64(keySize) + uint64(valueSize)
	if end > uint64(len(from)) {
		return nil, nil, false
	}
	split := offset + keySize
	return from[offset:split], from[split:end], true
}

// freelist checks that free pages exist, once, and are not in use.
func (c *checker) freelist(id uint64) error {
	page, err := c.page(id)
	if err != nil {
		return err
	}
	ids := page[pageHeader:]
	count := uint64(order.Uint16(page[10:]))
	if count == 0xFFFF {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if order.Uint16(page[8:]) != pageFreelist || count > uint64(len(ids))/8 {
		return fmt.Errorf("%w: the free list in page %d is garbled", ErrCorrupt, id)
	}
	for i := range count {
		if err := c.claim(order.Uint64(ids[8*i:])); err != nil {
			return err
		}
	}
	return nil
}
