package nvlink

// Limits say from when on a link's trend is worth a warning. What is zero is the
// default.
type Limits struct {
	// PerDay recoveries in a day, or PerWindow in TrendWindow; a failed one always is.
	PerDay, PerWindow uint64
	// BER is the rate of bit errors behind the error correction. A hundredth of it is
	// as much where the rate has grown a hundredfold within the window.
	BER float64
}

// The defaults. The one link that is publicly known to have announced its failure had
// 505 recoveries in the five days before, a hundred a day, and links in order have none:
// a tenth of that is seen within the first hours, a twentieth within the window. At
// 1e-12 a link of 50 GB/s lets an error through every few seconds.
const (
	DefaultPerDay    = 10
	DefaultPerWindow = 25
	DefaultBER       = 1e-12
)

// growFold is by how much a rate must have grown to count before it is BER, and how far
// below that it is looked at.
const growFold = 100

func (l Limits) orDefault() Limits {
	if l.PerDay == 0 {
		l.PerDay = DefaultPerDay
	}
	if l.PerWindow == 0 {
		l.PerWindow = DefaultPerWindow
	}
	if l.BER == 0 {
		l.BER = DefaultBER
	}
	return l
}
