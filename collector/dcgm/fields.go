package dcgm

// The numbers of DCGM's fields that are watched. DCGM 4.6 renamed many of its
// names for them; the numbers stayed. All but the UUID are numbers.
const (
	FieldUUID        = 54
	FieldTemperature = 150 // degrees Celsius
	FieldPower       = 155 // watts
	FieldPowerLimit  = 164 // enforced, watts
	FieldPCIeReplays = 202
	FieldUtilisation = 203 // per cent
	FieldXID         = 230

	// ECC errors since the driver was loaded (volatile) and of the board's life.
	FieldSingleBitVolatile  = 310
	FieldDoubleBitVolatile  = 311
	FieldSingleBitAggregate = 312
	FieldDoubleBitAggregate = 313

	FieldRetiredDoubleBit = 391 // pages

	// Row remapping: counts, and two flags.
	FieldRemapUncorrectable = 393
	FieldRemapCorrectable   = 394
	FieldRemapFailed        = 395
	FieldRemapPending       = 396

	FieldNVLinkFlitErrors = 409 // CRC, all links

	// Profiling, as shares of 1. Reading them takes the GPU's counters from any
	// other profiler.
	FieldGraphicsActive = 1001
	FieldSMActive       = 1002
	FieldTensorActive   = 1004
	FieldMemoryActive   = 1005

	// FieldIMEXDaemon is the state of the node's IMEX daemon, alike on every GPU: 5 is
	// ready, below 0 is that it could not be asked.
	FieldIMEXDaemon = 1503

	FieldRecoveryAction = 1523 // NVML's field 230 by another number
)
