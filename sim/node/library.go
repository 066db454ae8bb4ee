package node

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
)

// libraryFolder holds libraries that lack symbols, in the node's folder.
const libraryFolder = "lib"

// DropSymbol makes a copy of the driver libraries in the folder lib which does
// not export symbol, as one of an older driver, and gives the copy's folder. Of
// further calls each takes away one more. Processes that run keep what they have.
func (n *Node) DropSymbol(lib, symbol string) (folder string, err error) {
	err = n.locked(func() error {
		folder = n.path(libraryFolder)
		const name = "libnvidia-ml.so.1"
		from := filepath.Join(folder, name)
		if _, err := os.Stat(from); err != nil {
			from = filepath.Join(lib, name)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("drop symbol %s: %w", symbol, err)
		}
		if err := rename(text, symbol); err != nil {
			return fmt.Errorf("drop symbol %s: %s: %w", symbol, from, err)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("drop symbol %s: %w", symbol, err)
		}
		return n.replace(filepath.Join(libraryFolder, name), text)
	})
	return folder, err
}

// rename changes the first letter of a symbol's name in a library. Its hash
// stays that of the old name, so the linker finds it by neither.
func rename(library []byte, symbol string) error {
	file, err := elf.NewFile(bytes.NewReader(library))
	if err != nil {
		return err
	}
	names := file.Section(".dynstr")
	if names == nil {
		return fmt.Errorf("no section .dynstr")
	}
	table := library[names.Offset : names.Offset+names.Size]
	at := bytes.Index(table, []byte("\x00"+symbol+"\x00"))
	if at < 0 {
		return fmt.Errorf("exports no such symbol")
	}
	table[at+1] = '-'
	return nil
}
