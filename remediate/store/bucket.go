package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// replace makes a bucket hold just what is wanted, touching only what differs.
func replace(tx *bolt.Tx, name []byte, want map[string][]byte, changed *bool) error {
	bucket := tx.Bucket(name)
	if bucket == nil {
		return fmt.Errorf("%w: bucket %s is missing", ErrCorrupt, name)
	}
	var gone [][]byte
	err := bucket.ForEach(func(key, _ []byte) error {
		if _, ok := want[string(key)]; !ok {
			gone = append(gone, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range gone {
		*changed = true
		if err := bucket.Delete(key); err != nil {
			return err
		}
	}
	for key, value := range want {
		sealed := seal(value)
		if bytes.Equal(bucket.Get([]byte(key)), sealed) {
			continue
		}
		*changed = true
		if err := bucket.Put([]byte(key), sealed); err != nil {
			return err
		}
	}
	return nil
}

// each calls use with every key of a bucket and its value, checked.
func each(tx *bolt.Tx, name []byte, use func(key, value []byte) error) error {
	bucket := tx.Bucket(name)
	if bucket == nil {
		return fmt.Errorf("%w: bucket %s is missing", ErrCorrupt, name)
	}
	return bucket.ForEach(func(key, sealed []byte) error {
		value, ok := unseal(sealed)
		if !ok {
			return fmt.Errorf("%w: %s/%s fails its checksum", ErrCorrupt, name, key)
		}
		return use(key, value)
	})
}

// castagnoli has hardware support on both of our architectures.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts a checksum before a value.
func seal(value []byte) []byte {
	sealed := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(value)), crc32.Checksum(value, castagnoli))
	return append(sealed, value...)
}

func unseal(sealed []byte) (value []byte, ok bool) {
	if len(sealed) < 4 {
		return nil, false
	}
	value = sealed[4:]
	return value, binary.BigEndian.Uint32(sealed) == crc32.Checksum(value, castagnoli)
}
