package agent

// bell wakes the one who waits for it. Rung while nobody waits it is heard later, once.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

// ring never waits.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
