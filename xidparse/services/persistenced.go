package services

import "strings"

// persistenced reads a line of nvidia-persistenced: what it failed to do.
func persistenced(text string) Kind {
	if strings.HasPrefix(text, "Failed to ") || strings.Contains(text, " - failed to ") {
		return KindTrouble
	}
	return KindNone
}
