package nvlink

// IMEXState is how the daemon of IMEX is by its own word.
type IMEXState uint8

// The states.
const (
	// IMEXUnknown: it was not asked, could not be, or says that it is not there.
	// Where pods run the daemons, the host's own is not there.
	IMEXUnknown IMEXState = iota
	IMEXReady
	// IMEXNotReady: it starts, waits for others, or ends.
	IMEXNotReady
)

// imexWords are what nvidia-imex-ctl -q prints, by the number that DCGM has for it
// (field 1503; dcgm_fields.h).
var imexWords = [...]string{"INITIALIZING", "STARTING_AUTH_SERVER", "WAITING_FOR_PEERS", "WAITING_FOR_RECOVERY", "INIT_GPU", "READY", "SHUTTING_DOWN", "UNAVAILABLE"}

const imexReady, imexUnavailable = 5, 7

// IMEXWord reads what nvidia-imex-ctl -q prints.
func IMEXWord(word string) IMEXState {
	for number, w := range imexWords {
		if w == word {
			return IMEXNumber(number)
		}
	}
	return IMEXUnknown
}

// IMEXNumber reads DCGM's number of a state. Those below zero say why it could not
// ask: not installed, not configured, or an error of the command, which it has shown
// for weeks where all was well.
func IMEXNumber(number int) IMEXState {
	switch {
	case number == imexReady:
		return IMEXReady
	case number < 0 || number >= imexUnavailable:
		return IMEXUnknown
	}
	return IMEXNotReady
}
