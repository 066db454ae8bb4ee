// Package services reads what the driver's services say of themselves in their
// own logs: nvidia-fabricmanager, nvidia-imex and nvidia-persistenced. None of
// it is in the kernel's log. It is pure, and knows no more than the texts.
package services

// The services, by their units' names.
const (
	FabricManager = "nvidia-fabricmanager.service"
	IMEX          = "nvidia-imex.service"
	Persistenced  = "nvidia-persistenced.service"
)

// Kind says what an Event is.
type Kind uint8

// The kinds. The zero value is no event.
const (
	KindNone Kind = iota
	// KindStarted: systemd says that the service runs.
	KindStarted
	// KindFailed: systemd says that the service has failed.
	KindFailed
	// KindMismatch: the service is of another version than the driver.
	KindMismatch
	// KindNoSwitch: the fabric manager finds no NVSwitch to manage, and will end.
	// That is as it must be on a compute tray, whose switches are elsewhere.
	KindNoSwitch
	// KindTrouble: the service complains.
	KindTrouble
)

// String gives the kind as metrics and logs spell it.
func (k Kind) String() string {
	switch k {
	case KindStarted:
		return "started"
	case KindFailed:
		return "failed"
	case KindMismatch:
		return "mismatch"
	case KindNoSwitch:
		return "no-switch"
	case KindTrouble:
		return "trouble"
	default:
		return "none"
	}
}

// Event is one thing that a service said, or that systemd said of it.
type Event struct {
	Unit string
	Kind Kind
	Text string
}

// What systemd says of a unit, by the ids in sd-messages.h. They are the same in
// every language and version.
const (
	messageStarted = "39f53479d3a045ac8e11786248231fbf"
	messageFailed  = "d9b373ed55a64feb8242e02dbe79a49c"
)

// Manager reads what systemd says of a unit, by the message's id.
func Manager(unit, messageID, text string) (Event, bool) {
	switch messageID {
	case messageStarted:
		return Event{unit, KindStarted, text}, true
	case messageFailed:
		return Event{unit, KindFailed, text}, true
	}
	return Event{}, false
}

// Line reads a line that a service wrote itself.
func Line(unit, text string) (Event, bool) {
	kind := KindNone
	switch unit {
	case FabricManager:
		kind = fabricManager(text)
	case IMEX:
		kind = imex(text)
	case Persistenced:
		kind = persistenced(text)
	}
	return Event{unit, kind, text}, kind != KindNone
}

// Latest leaves out what each service said before it was started last: of a
// history, only the present counts.
func Latest(events []Event) (now []Event) {
	started := map[string]int{}
	for i, e := range events {
		if e.Kind == KindStarted {
			started[e.Unit] = i
		}
	}
	for i, e := range events {
		if i >= started[e.Unit] {
			now = append(now, e)
		}
	}
	return now
}
