package kernlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBootID(t *testing.T) {
	tests := []struct{ name, content, want, wantErr string }{
		{"kernel", "0d7a5f3e-58a9-4c0c-9b8e-3f0f9f7f1f55\n", "0d7a5f3e-58a9-4c0c-9b8e-3f0f9f7f1f55", ""},
		{"simulated", "boot-2", "boot-2", ""},
		{"empty", "\n", "", "not an id"},
		{"two words", "boot 2\n", "", "not an id"},
		{"too long", strings.Repeat("x", 65), "", "not an id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "boot_id")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := BootID(path)
			if got != tt.want || (err == nil) != (tt.wantErr == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && !(strings.Contains(err.Error(), tt.wantErr) && strings.Contains(err.Error(), path)) {
				t.Errorf("error %q does not say %q and the path", err, tt.wantErr)
			}
		})
	}
	if _, err := BootID(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a file that is not there")
	}
}
