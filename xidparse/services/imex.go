package services

import "strings"

// imex reads a line of nvidia-imex, "[Sep 18 2026 06:40:33] [ERROR] [tid 77] …":
// its errors and warnings.
func imex(text string) Kind {
	_, rest, stamped := strings.Cut(text, "] [")
	level, _, closed := strings.Cut(rest, "]")
	if stamped && closed && strings.HasPrefix(text, "[") && (level == "ERROR" || level == "WARNING") {
		return KindTrouble
	}
	return KindNone
}
