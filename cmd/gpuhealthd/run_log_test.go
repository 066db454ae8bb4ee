package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestClientGoLogsAsWeDo: its lines are records too.
func TestClientGoLogsAsWeDo(t *testing.T) {
	defer klog.ClearLogger()
	var text strings.Builder
	newLog(&text, slog.LevelInfo)
	klog.Error("Failed to watch")
	var record struct{ Level, Msg string }
	if err := json.Unmarshal([]byte(text.String()), &record); err != nil || record.Level != "ERROR" || record.Msg != "Failed to watch" {
		t.Errorf("%v of %q", err, text.String())
	}
}
