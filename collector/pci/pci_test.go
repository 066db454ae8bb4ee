package pci

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// device makes a device's folder in a tree like sysfs.
func device(t *testing.T, root, address, vendor, class, driver string, config []byte) string {
	t.Helper()
	dir := filepath.Join(root, address)
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "vendor"), []byte(vendor+"\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "class"), []byte(class+"\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "config"), config, 0o644))
	if driver != "" {
		must(t, os.Symlink("../../../bus/pci/drivers/"+driver, filepath.Join(dir, "driver")))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config is what a live GPU's configuration space begins with.
func config() []byte {
	c := make([]byte, 256)
	copy(c, []byte{0xde, 0x10, 0x30, 0x23, 0x06, 0x04, 0x10, 0x00, 0xa1})
	return c
}

func TestScan(t *testing.T) {
	root := t.TempDir()
	lost := bytes.Repeat([]byte{0xff}, 256)
	strange := config()
	strange[headerAt] = 0x7f
	device(t, root, "0018:01:00.0", "0x10de", "0x030200", "nvidia", config())
	device(t, root, "0000:1b:00.0", "0x10de", "0x030200", "nvidia", config())
	device(t, root, "0000:43:00.0", "0x10de", "0x030200", "nvidia", lost)
	device(t, root, "0000:52:00.0", "0x10de", "0x030200", "vfio-pci", config())
	device(t, root, "0000:61:00.0", "0x10de", "0x030000", "", config())
	device(t, root, "0000:62:00.0", "0x10de", "0x030200", "nvidia", strange)
	device(t, root, "0000:61:00.1", "0x10de", "0x040300", "snd_hda_intel", config()) // the sound of a display
	device(t, root, "0000:07:00.0", "0x10de", "0x068000", "nvidia-nvswitch", config())
	device(t, root, "0000:02:00.0", "0x1a03", "0x030000", "ast", config()) // the BMC's display

	got, err := Scan(root)
	must(t, err)
	want := []Device{
		{PCI: at(t, "0000:1b:00"), Driver: "nvidia"},
		{PCI: at(t, "0000:43:00"), Driver: "nvidia", Dead: true},
		{PCI: at(t, "0000:52:00"), Driver: "vfio-pci"},
		{PCI: at(t, "0000:61:00")},
		{PCI: at(t, "0000:62:00"), Driver: "nvidia", Dead: true},
		{PCI: at(t, "0018:01:00"), Driver: "nvidia"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func at(t *testing.T, text string) xidparse.PCI {
	t.Helper()
	pci, ok := xidparse.ParsePCI(text)
	if !ok {
		t.Fatalf("%q is no address", text)
	}
	return pci
}

func TestOneUnreadableHidesNoOther(t *testing.T) {
	root := t.TempDir()
	device(t, root, "0000:1b:00.0", "0x10de", "0x030200", "nvidia", config()[:8])
	device(t, root, "0000:43:00.0", "nonsense", "0x030200", "nvidia", config())
	device(t, root, "elsewhere", "0x10de", "0x030200", "nvidia", config())
	device(t, root, "0000:52:00.0", "0x10de", "0x030200", "nvidia", config())
	must(t, os.Remove(filepath.Join(device(t, root, "0000:61:00.0", "0x10de", "0x030200", "nvidia", config()), "config")))

	got, err := Scan(root)
	if len(got) != 1 || got[0].PCI != at(t, "0000:52:00") {
		t.Errorf("got %+v, want 0000:52:00 alone", got)
	}
	for _, part := range []string{"0000:1b:00.0: file config", `0000:43:00.0: file vendor: "nonsense`, "elsewhere"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "0000:61:00.0") {
		t.Errorf("error %v names a device that was removed meanwhile", err)
	}
}

func TestNoSuchFolder(t *testing.T) {
	if _, err := Scan(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing folder is no error")
	}
}
