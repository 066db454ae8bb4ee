package logfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// read gives every message as "number writer text".
func read(t *testing.T, source io.Reader, opts Options) []string {
	t.Helper()
	r, err := NewReader(source, opts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		m, err := r.Read()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		writer := "kernel"
		if !m.Kernel {
			writer = "user"
		}
		got = append(got, fmt.Sprintf("%d %s %s", m.Number, writer, m.Text))
	}
}

const (
	gone   = "NVRM: Xid (PCI:0000:3b:00): 79, gone"
	notice = "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\nNVRM: fallen off the bus and is not responding to commands."
)

func binaryField(name, value string) string {
	return name + "\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(value)))) + value + "\n"
}

// verbose is an entry of journalctl -o verbose.
func verbose(fields ...string) string {
	return "Mon 2026-11-30 00:53:20.010000 UTC [s=6e3a;i=1f;b=09;m=5;t=6;x=7]\n    " + strings.Join(fields, "\n    ") + "\n"
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, log string
		want      []string
	}{
		{"empty", "", nil},
		{"no newline at the end", "[1.5] " + gone, []string{"1 kernel " + gone}},
		{"blank lines are counted", "\n\r\n[1.5] a\r\n", []string{"3 kernel a"}},
		{"formats change between lines", "4,1,2,-;a\nAug 10 15:36:05 n kernel: b\n" + `{"_TRANSPORT":"kernel","MESSAGE":"c"}`,
			[]string{"1 kernel a", "2 kernel b", "3 kernel c"}},
		{"a broken line keeps its neighbours", "{\"MESSAGE\":\"\nx\x00\xff\n[1.5] " + gone,
			[]string{"1 user {\"MESSAGE\":\"", "2 kernel x\x00\xff", "3 kernel " + gone}},

		{"notice of dmesg", "[1.5] NVRM: The NVIDIA GPU 0000:b3:00.0\n      NVRM: (PCI ID: 10de:26b5) installed in this system has\n      NVRM: fallen off the bus and is not responding to commands.\n[1.6] b",
			[]string{"1 kernel " + notice, "4 kernel b"}},
		{"notice of syslog", "x\nAug 10 15:36:05 n kernel: " + strings.ReplaceAll(notice, "\n", "\nAug 10 15:36:05 n kernel: "),
			[]string{"1 kernel x", "2 kernel " + notice}},
		{"notice broken off", "[1.5] NVRM: The NVIDIA GPU 0000:b3:00.0\n[1.5] b",
			[]string{"1 kernel NVRM: The NVIDIA GPU 0000:b3:00.0", "2 kernel b"}},
		{"notice at the end", "[1.5] NVRM: The NVIDIA GPU 0000:b3:00.0", []string{"1 kernel NVRM: The NVIDIA GPU 0000:b3:00.0"}},
		{"two notices", notice + "\n" + notice, []string{"1 kernel " + notice, "4 kernel " + notice}},
		{"notice continued by user space", "[1.5] NVRM: The NVIDIA GPU 0000:b3:00.0\nAug 10 15:36:05 n agent[9]: NVRM: (PCI ID: 1:2) installed in this system has",
			[]string{"1 kernel NVRM: The NVIDIA GPU 0000:b3:00.0", "2 user NVRM: (PCI ID: 1:2) installed in this system has"}},

		{"user space over several lines", "Aug 10 15:36:05 n agent[9]: found\n        " + gone + "\n        " + gone + "\nAug 10 15:36:05 n kernel: " + gone,
			[]string{"1 user found", "2 user " + gone, "3 user " + gone, "4 kernel " + gone}},

		{"journal export", "__CURSOR=s=1\n_TRANSPORT=kernel\nMESSAGE=" + gone + "\n\n__CURSOR=s=2\n_TRANSPORT=syslog\nMESSAGE=" + gone + "\n",
			[]string{"1 kernel " + gone, "5 user " + gone}},
		{"journal export, written to kmsg", "__CURSOR=s=1\n_TRANSPORT=kernel\nSYSLOG_FACILITY=1\nMESSAGE=" + gone,
			[]string{"1 user " + gone}},
		{"journal export, several lines in a message", "__CURSOR=s=1\n_TRANSPORT=kernel\n" + binaryField("MESSAGE", notice) + "\n[1.5] b",
			[]string{"1 kernel " + notice, "8 kernel b"}},
		{"journal export, first of two messages", "__CURSOR=s=1\n_TRANSPORT=kernel\nMESSAGE=a\nMESSAGE=b\n", []string{"1 kernel a"}},
		{"journal export, other binary field", "__CURSOR=s=1\n" + binaryField("_CMDLINE", "a\n\nb") + "_TRANSPORT=kernel\nMESSAGE=a\n", []string{"1 kernel a"}},
		{"journal export that is none", "__CURSOR=\n[1.5] " + gone, []string{"2 kernel " + gone}},
		{"journal export with a length that is none", "__CURSOR=\nNAME\n[1.5] " + gone, []string{"3 kernel " + gone}},
		{"journal export from Windows", "__CURSOR=s=1\r\n_TRANSPORT=syslog\r\nMESSAGE=" + gone + "\r\n\r\n__CURSOR=s=2\r\n_TRANSPORT=kernel\r\nMESSAGE=" + gone + "\r\n\r\n",
			[]string{"1 user " + gone, "5 kernel " + gone}},
		{"journal verbose", verbose("_TRANSPORT=syslog", "MESSAGE="+gone) + verbose("_TRANSPORT=kernel", "MESSAGE="+gone),
			[]string{"1 user " + gone, "4 kernel " + gone}},
		{"journal verbose, written to kmsg", verbose("_TRANSPORT=kernel", "SYSLOG_FACILITY=1", "MESSAGE="+gone), []string{"1 user " + gone}},
		{"journal verbose, user space over several lines", verbose("_TRANSPORT=stdout", "MESSAGE=got\n            "+gone+"\n            _TRANSPORT=kernel\n\n            "+gone, "PRIORITY=6"),
			[]string{"1 user got\n" + gone + "\n_TRANSPORT=kernel\n\n" + gone}},
		{"journal verbose, other text", verbose("_TRANSPORT=kernel", "_CMDLINE=a\n             "+gone, "MESSAGE=a") + "Nov 30 00:53:20 n1 kernel: b",
			[]string{"1 kernel a", "6 kernel b"}},
		{"not journal verbose", "[2026-11-29 10:11:12] app: a [s=1;i=2]\n    _TRANSPORT=kernel\n    MESSAGE=" + gone,
			[]string{"1 kernel app: a [s=1;i=2]", "2 user _TRANSPORT=kernel", "3 user MESSAGE=" + gone}},
		{"journal export cut short", "__CURSOR=s=1\n_TRANSPORT=kernel\nMESSAGE\n\x40\x00\x00\x00\x00\x00\x00\x00" + gone, []string{"1 kernel " + gone}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(t, strings.NewReader(tt.log), Options{}); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if got := read(t, iotest.OneByteReader(strings.NewReader(tt.log)), Options{}); !slices.Equal(got, tt.want) {
				t.Errorf("byte by byte: got %q", got)
			}
		})
	}
}

func TestKata(t *testing.T) {
	log := `Jul 12 11:58:29 n kata[5]: time="2022-07-12T11:58:29" level=debug msg="reading guest console" subsystem=sandbox vmconsole="[    5.4] ` + gone + `"`
	if got, want := read(t, strings.NewReader(log), Options{Kata: true}), []string{"1 kernel " + gone}; !slices.Equal(got, want) {
		t.Errorf("asked for: got %q, want %q", got, want)
	}
	if got := read(t, strings.NewReader(log), Options{}); len(got) != 1 || !strings.HasPrefix(got[0], "1 user ") {
		t.Errorf("not asked for: got %q", got)
	}
}

func TestOverlongLineIsCut(t *testing.T) {
	log := "[1.5] " + strings.Repeat("x", 3*MaxLine) + "\n[1.6] " + gone
	r, err := NewReader(strings.NewReader(log), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Read()
	if err != nil || len(m.Text) > MaxLine || r.Overlong() != 1 {
		t.Errorf("got %d bytes, %d overlong, %v", len(m.Text), r.Overlong(), err)
	}
	if m, err = r.Read(); err != nil || m.Number != 2 || string(m.Text) != gone {
		t.Errorf("the line behind: %d %q, %v", m.Number, m.Text, err)
	}
}

func TestCompressed(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 1000 {
		fmt.Fprintln(w, "[1.5] "+gone)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := packed.Bytes()
	if got := read(t, bytes.NewReader(whole), Options{}); len(got) != 1000 {
		t.Errorf("gzip: %d messages, want 1000", len(got))
	}

	r, err := NewReader(bytes.NewReader(whole[:len(whole)-9]), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Read()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "byte") {
		t.Errorf("cut short: %v, want an unexpected end with its offset", err)
	}

	zstd := "\x28\xb5\x2f\xfd…"
	if _, err := NewReader(strings.NewReader(zstd), Options{}); !errors.Is(err, errNoZstd) {
		t.Errorf("zstd without a decoder: %v", err)
	}
	open := func(in io.Reader) (io.Reader, error) {
		_, err := io.CopyN(io.Discard, in, int64(len(zstdMagic)))
		return in, err
	}
	if got := read(t, strings.NewReader(zstd), Options{Zstd: open}); !slices.Equal(got, []string{"1 kernel …"}) {
		t.Errorf("zstd: %q", got)
	}
}

// The reader's memory is that of its buffers, however long the log.
func TestFlatMemory(t *testing.T) {
	r, err := NewReader(strings.NewReader(strings.Repeat("[1.5] "+gone+"\n", 100_000)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if allocs := testing.AllocsPerRun(90_000, func() {
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations per message", allocs)
	}
}
