package ecc

// Report is one thing that the driver said of a GPU's memory.
type Report uint16

// The reports, as bits: an incident collects several within milliseconds.
const (
	// DoubleBit: an uncorrectable error (XID 48).
	DoubleBit Report = 1 << iota
	// RemapPending: a row is marked for remapping, and is in use until the GPU
	// is reset (XID 63).
	RemapPending
	// RemapFailed: no spare row was left, or it could not be recorded (XID 64).
	RemapFailed
	// Contained: only the process that touched the row is lost (XID 94).
	Contained
	// Uncontained: every process on the GPU may have read bad data (XID 95).
	Uncontained
	// SRAM: the error sits in the chip itself, where nothing can be remapped
	// (XID 172, or text that names no framebuffer).
	SRAM
	// DRAM: the error sits in the framebuffer (XID 171).
	DRAM
	// ResetAsked: the driver's line says RST: Yes.
	ResetAsked
	// DrainAsked: the driver's line says D-RST: Yes.
	DrainAsked
)

// Memory is what one incident's reports amount to. The zero value has none.
type Memory struct{ seen Report }

// Add returns m with more reports.
func (m Memory) Add(r Report) Memory { return Memory{m.seen | r} }

// Merge returns the reports of both.
func (m Memory) Merge(n Memory) Memory { return Memory{m.seen | n.seen} }

// Has says whether all of r were reported.
func (m Memory) Has(r Report) bool { return m.seen&r == r }

// Soft says whether a double-bit error left the GPU usable: the driver reports
// it contained, or has a row to swap in, and nothing worse. An error that
// nobody has called contained is not.
func (m Memory) Soft() bool {
	contained := m.seen&(Contained|RemapPending) != 0
	worse := m.seen&(Uncontained|RemapFailed|SRAM) != 0
	return contained && !worse
}

// Bits gives the reports for storing; FromBits reads them back.
func (m Memory) Bits() uint16 { return uint16(m.seen) }

// FromBits is the inverse of Bits.
func FromBits(b uint16) Memory { return Memory{Report(b)} }
