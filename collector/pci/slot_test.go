package pci

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func TestSlots(t *testing.T) {
	root := t.TempDir()
	for name, address := range map[string]string{"4": "0000:3b:00\n", "2-1": "0001:07:00\n", "empty": "", "odd": "a slot\n"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if address == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, name, "address"), []byte(address), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Slots(root)
	want := map[xidparse.PCI]string{{Bus: 0x3b}: "4", {Domain: 1, Bus: 7}: "2-1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := Slots(filepath.Join(root, "nowhere")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
