package diag

// code is one of DCGM's error codes.
type code struct {
	name     string
	severity Severity
	// software: its category is of software or of DCGM itself, not of hardware.
	software bool
}

// codes are indexed by number. From dcgmlib/src/dcgm_errors.c of DCGM 4.6.0
// (NVIDIA/DCGM at 72fa3fe), without the prefix DCGM_FR_; the numbers of older
// versions are the same.
var codes = [...]code{
	0:   {"OK", SeverityUnknown, false},
	1:   {"UNKNOWN", SeverityUnknown, false},
	2:   {"UNRECOGNIZED", SeverityUnknown, false},
	3:   {"PCI_REPLAY_RATE", SeverityIsolate, false},
	4:   {"VOLATILE_DBE_DETECTED", SeverityIsolate, false},
	5:   {"VOLATILE_SBE_DETECTED", SeverityMonitor, false},
	6:   {"PENDING_PAGE_RETIREMENTS", SeverityReset, false},
	7:   {"RETIRED_PAGES_LIMIT", SeverityIsolate, false},
	8:   {"RETIRED_PAGES_DBE_LIMIT", SeverityIsolate, false},
	9:   {"CORRUPT_INFOROM", SeverityTriage, false},
	10:  {"CLOCKS_EVENT_THERMAL", SeverityMonitor, false},
	11:  {"POWER_UNREADABLE", SeverityMonitor, false},
	12:  {"CLOCKS_EVENT_POWER", SeverityMonitor, false},
	13:  {"NVLINK_ERROR_THRESHOLD", SeverityIsolate, false},
	14:  {"NVLINK_DOWN", SeverityTriage, false},
	15:  {"NVSWITCH_FATAL_ERROR", SeverityIsolate, false},
	16:  {"NVSWITCH_NON_FATAL_ERROR", SeverityMonitor, false},
	17:  {"NVSWITCH_DOWN", SeverityMonitor, false},
	18:  {"NO_ACCESS_TO_FILE", SeverityConfig, true},
	19:  {"NVML_API", SeverityMonitor, true},
	20:  {"DEVICE_COUNT_MISMATCH", SeverityConfig, true},
	21:  {"BAD_PARAMETER", SeverityUnknown, true},
	22:  {"CANNOT_OPEN_LIB", SeverityTriage, true},
	23:  {"DENYLISTED_DRIVER", SeverityConfig, true},
	24:  {"NVML_LIB_BAD", SeverityIsolate, true},
	25:  {"GRAPHICS_PROCESSES", SeverityReset, true},
	26:  {"HOSTENGINE_CONN", SeverityMonitor, true},
	27:  {"FIELD_QUERY", SeverityMonitor, true},
	28:  {"BAD_CUDA_ENV", SeverityConfig, true},
	29:  {"PERSISTENCE_MODE", SeverityConfig, true},
	30:  {"LOW_BANDWIDTH", SeverityTriage, false},
	31:  {"HIGH_LATENCY", SeverityTriage, false},
	32:  {"CANNOT_GET_FIELD_TAG", SeverityMonitor, true},
	33:  {"FIELD_VIOLATION", SeverityIsolate, false},
	34:  {"FIELD_THRESHOLD", SeverityMonitor, false},
	35:  {"FIELD_VIOLATION_DBL", SeverityIsolate, false},
	36:  {"FIELD_THRESHOLD_DBL", SeverityIsolate, false},
	37:  {"UNSUPPORTED_FIELD_TYPE", SeverityTriage, true},
	38:  {"FIELD_THRESHOLD_TS", SeverityIsolate, false},
	39:  {"FIELD_THRESHOLD_TS_DBL", SeverityIsolate, false},
	40:  {"THERMAL_VIOLATIONS", SeverityMonitor, false},
	41:  {"THERMAL_VIOLATIONS_TS", SeverityMonitor, false},
	42:  {"TEMP_VIOLATION", SeverityMonitor, false},
	43:  {"CLOCKS_EVENT_VIOLATION", SeverityMonitor, false},
	44:  {"INTERNAL", SeverityTriage, true},
	45:  {"PCIE_GENERATION", SeverityTriage, false},
	46:  {"PCIE_WIDTH", SeverityConfig, false},
	47:  {"ABORTED", SeverityConfig, true},
	48:  {"TEST_DISABLED", SeverityConfig, true},
	49:  {"CANNOT_GET_STAT", SeverityTriage, true},
	50:  {"STRESS_LEVEL", SeverityTriage, false},
	51:  {"CUDA_API", SeverityMonitor, true},
	52:  {"FAULTY_MEMORY", SeverityIsolate, false},
	53:  {"CANNOT_SET_WATCHES", SeverityMonitor, true},
	54:  {"CUDA_UNBOUND", SeverityTriage, true},
	55:  {"ECC_DISABLED", SeverityConfig, false},
	56:  {"MEMORY_ALLOC", SeverityTriage, true},
	57:  {"CUDA_DBE", SeverityIsolate, false},
	58:  {"MEMORY_MISMATCH", SeverityIsolate, false},
	59:  {"CUDA_DEVICE", SeverityTriage, true},
	60:  {"ECC_UNSUPPORTED", SeverityConfig, false},
	61:  {"ECC_PENDING", SeverityMonitor, false},
	62:  {"MEMORY_BANDWIDTH", SeverityTriage, false},
	63:  {"TARGET_POWER", SeverityTriage, false},
	64:  {"API_FAIL", SeverityTriage, true},
	65:  {"API_FAIL_GPU", SeverityTriage, true},
	66:  {"CUDA_CONTEXT", SeverityTriage, true},
	67:  {"DCGM_API", SeverityTriage, true},
	68:  {"CONCURRENT_GPUS", SeverityConfig, true},
	69:  {"TOO_MANY_ERRORS", SeverityMonitor, true},
	70:  {"NVLINK_CRC_ERROR_THRESHOLD", SeverityIsolate, false},
	71:  {"NVLINK_ERROR_CRITICAL", SeverityIsolate, false},
	72:  {"ENFORCED_POWER_LIMIT", SeverityConfig, false},
	73:  {"MEMORY_ALLOC_HOST", SeverityTriage, true},
	74:  {"GPU_OP_MODE", SeverityMonitor, true},
	75:  {"NO_MEMORY_CLOCKS", SeverityMonitor, false},
	76:  {"NO_GRAPHICS_CLOCKS", SeverityMonitor, false},
	77:  {"HAD_TO_RESTORE_STATE", SeverityTriage, true},
	78:  {"L1TAG_UNSUPPORTED", SeverityConfig, true},
	79:  {"L1TAG_MISCOMPARE", SeverityIsolate, false},
	80:  {"ROW_REMAP_FAILURE", SeverityReset, false},
	81:  {"UNCONTAINED_ERROR", SeverityIsolate, true},
	82:  {"EMPTY_GPU_LIST", SeverityConfig, true},
	83:  {"DBE_PENDING_PAGE_RETIREMENTS", SeverityReset, false},
	84:  {"UNCORRECTABLE_ROW_REMAP", SeverityReset, false},
	85:  {"PENDING_ROW_REMAP", SeverityReset, false},
	86:  {"BROKEN_P2P_MEMORY_DEVICE", SeverityIsolate, false},
	87:  {"BROKEN_P2P_WRITER_DEVICE", SeverityIsolate, false},
	88:  {"NVSWITCH_NVLINK_DOWN", SeverityIsolate, false},
	89:  {"EUD_BINARY_PERMISSIONS", SeverityTriage, true},
	90:  {"EUD_NON_ROOT_USER", SeverityTriage, true},
	91:  {"EUD_SPAWN_FAILURE", SeverityTriage, true},
	92:  {"EUD_TIMEOUT", SeverityTriage, true},
	93:  {"EUD_ZOMBIE", SeverityTriage, true},
	94:  {"EUD_NON_ZERO_EXIT_CODE", SeverityTriage, true},
	95:  {"EUD_TEST_FAILED", SeverityIsolate, true},
	96:  {"FILE_CREATE_PERMISSIONS", SeverityConfig, true},
	97:  {"PAUSE_RESUME_FAILED", SeverityTriage, true},
	98:  {"PCIE_H_REPLAY_VIOLATION", SeverityIsolate, false},
	99:  {"GPU_EXPECTED_NVLINKS_UP", SeverityTriage, false},
	100: {"NVSWITCH_EXPECTED_NVLINKS_UP", SeverityTriage, false},
	101: {"XID_ERROR", SeverityTriage, true},
	102: {"SBE_VIOLATION", SeverityIsolate, false},
	103: {"DBE_VIOLATION", SeverityIsolate, false},
	104: {"PCIE_REPLAY_VIOLATION", SeverityIsolate, false},
	105: {"SBE_THRESHOLD_VIOLATION", SeverityIsolate, false},
	106: {"DBE_THRESHOLD_VIOLATION", SeverityIsolate, false},
	107: {"PCIE_REPLAY_THRESHOLD_VIOLATION", SeverityIsolate, false},
	108: {"CUDA_FM_NOT_INITIALIZED", SeverityMonitor, true},
	109: {"SXID_ERROR", SeverityIsolate, true},
	110: {"GFLOPS_THRESHOLD_VIOLATION", SeverityTriage, false},
	111: {"NAN_VALUE", SeverityIsolate, false},
	112: {"FABRIC_MANAGER_TRAINING_ERROR", SeverityConfig, true},
	113: {"BROKEN_P2P_PCIE_MEMORY_DEVICE", SeverityIsolate, false},
	114: {"BROKEN_P2P_PCIE_WRITER_DEVICE", SeverityIsolate, false},
	115: {"BROKEN_P2P_NVLINK_MEMORY_DEVICE", SeverityIsolate, false},
	116: {"BROKEN_P2P_NVLINK_WRITER_DEVICE", SeverityIsolate, false},
	117: {"TEST_SKIPPED", SeverityConfig, true},
	118: {"SRAM_THRESHOLD", SeverityIsolate, false},
	119: {"NVLINK_EFFECTIVE_BER_THRESHOLD", SeverityIsolate, false},
	120: {"FALLEN_OFF_BUS", SeverityIsolate, false},
	121: {"NVLINK_SYMBOL_BER_THRESHOLD", SeverityIsolate, false},
	122: {"IMEX_UNHEALTHY", SeverityIsolate, true},
	123: {"FABRIC_PROBE_STATE", SeverityMonitor, false},
	124: {"BINARY_PERMISSIONS", SeverityTriage, true},
	125: {"GPU_RECOVERY_RESET", SeverityReset, false},
	126: {"GPU_RECOVERY_REBOOT", SeverityIsolate, false},
	127: {"GPU_RECOVERY_DRAIN_P2P", SeverityReset, false},
	128: {"GPU_RECOVERY_DRAIN_RESET", SeverityReset, false},
	129: {"NCCL_ERROR", SeverityReset, false},
	130: {"RETEST_REQUESTED", SeverityTriage, true},
	131: {"CONTAINED_ERROR", SeverityMonitor, true},
	132: {"UNCORRECTABLE_ROW_REMAP_LIMIT", SeverityTriage, false},
}

// codeSoftware tells whether a code is of a kind that is not hardware.
func codeSoftware(n int) bool { return n > 0 && n < len(codes) && codes[n].software }

// codeName is empty for a code that we do not know.
func codeName(n int) string {
	if n < 0 || n >= len(codes) {
		return ""
	}
	return codes[n].name
}

// codeSeverity stands in where an answer gives a code without a severity.
func codeSeverity(n int) Severity {
	if n <= 0 || n >= len(codes) {
		return SeverityUnknown
	}
	return codes[n].severity
}
