package services

import "strings"

// fabricManager reads a line of nv-fabricmanager.
func fabricManager(text string) Kind {
	switch {
	case strings.Contains(text, "driver interface version") && strings.Contains(text, "don't match with driver version"):
		return KindMismatch
	case strings.Contains(text, "NV_WARN_NOTHING_TO_DO"):
		return KindNoSwitch
	}
	return KindNone
}
