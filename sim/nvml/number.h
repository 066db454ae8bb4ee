/*
 * A number that the driver tells of a GPU, such as a counter or a temperature.
 *
 * In the control file it is one of
 *   12               always 12
 *   12 +50/s @1.7e9  12 at that second of the Unix clock, and 50 more each second
 *   unsupported      the GPU does not have it
 *   unknown          the driver fails to tell it: "Unknown Error"
 *   blank            the driver says that it tells it, and tells nonsense
 */
#ifndef SIM_NUMBER_H
#define SIM_NUMBER_H

#include <stdbool.h>

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include "nvml.h"

enum kind { NUMBER_UNSUPPORTED, NUMBER_UNKNOWN, NUMBER_BLANK, NUMBER_KNOWN };

struct number {
	enum kind kind;
	double base, rate, since;
};

/* The numbers of a GPU and their names in the control file. Units are NVML's:
 * mW, ns, °C, bytes, percent. */
#define NUMBER_LIST(X) \
	X(RECOVERY, "recovery") \
	X(ECC_ENABLED, "ecc.enabled") \
	X(VOL_DRAM_COR, "ecc.volatile.dram.corrected") \
	X(VOL_DRAM_UNC, "ecc.volatile.dram.uncorrected") \
	X(VOL_SRAM_COR, "ecc.volatile.sram.corrected") \
	X(VOL_SRAM_UNC, "ecc.volatile.sram.uncorrected") \
	X(AGG_DRAM_COR, "ecc.aggregate.dram.corrected") \
	X(AGG_DRAM_UNC, "ecc.aggregate.dram.uncorrected") \
	X(AGG_SRAM_COR, "ecc.aggregate.sram.corrected") \
	X(AGG_SRAM_UNC, "ecc.aggregate.sram.uncorrected") \
	X(SRAM_THRESHOLD, "ecc.sram.threshold") \
	X(REMAP_COR, "remap.correctable") \
	X(REMAP_UNC, "remap.uncorrectable") \
	X(BANKS_MAX, "remap.banks.max") \
	X(BANKS_HIGH, "remap.banks.high") \
	X(BANKS_PARTIAL, "remap.banks.partial") \
	X(BANKS_LOW, "remap.banks.low") \
	X(BANKS_NONE, "remap.banks.none") \
	X(RETIRED_SBE, "retired.single") \
	X(RETIRED_DBE, "retired.double") \
	X(RETIRED_PENDING, "retired.pending") \
	X(CLOCK_REASONS, "clocks.reasons") \
	X(CLOCK_POWER_CAP, "clocks.power-cap") \
	X(CLOCK_SW_THERMAL, "clocks.sw-thermal") \
	X(CLOCK_HW_THERMAL, "clocks.hw-thermal") \
	X(CLOCK_POWER_BRAKE, "clocks.power-brake") \
	X(TEMP, "temperature") \
	X(TEMP_MEMORY, "temperature.memory") \
	X(TEMP_MARGIN, "temperature.margin") \
	X(TEMP_SLOWDOWN, "temperature.slowdown") \
	X(TEMP_SHUTDOWN, "temperature.shutdown") \
	X(POWER, "power") \
	X(POWER_LIMIT, "power.limit") \
	X(PCIE_GEN, "pcie.gen") \
	X(PCIE_WIDTH, "pcie.width") \
	X(PCIE_MAX_GEN, "pcie.max-gen") \
	X(PCIE_MAX_WIDTH, "pcie.max-width") \
	X(PCIE_REPLAYS, "pcie.replays") \
	X(UTIL_GPU, "utilization.gpu") \
	X(UTIL_MEMORY, "utilization.memory") \
	X(MEMORY_USED, "memory.used") \
	X(MEMORY_TOTAL, "memory.total") \
	X(PROCESSES, "processes") \
	X(GPM_SM, "gpm.sm") \
	X(GPM_TENSOR, "gpm.tensor") \
	X(GPM_DRAM, "gpm.dram") \
	X(PERSISTENCE, "persistence") \
	X(LINK_COUNT, "nvlink.count") \
	X(LINK_VERSION, "nvlink.version") \
	X(LINK_STATE, "nvlink.state") \
	X(LINK_SPEED, "nvlink.speed") \
	X(LINK_REMOTE, "nvlink.remote") \
	X(LINK_REMOTE_ID, "nvlink.remote-id") \
	X(LINK_REPLAYS, "nvlink.replays") \
	X(LINK_DL_RECOVERIES, "nvlink.dl-recoveries") \
	X(LINK_CRC, "nvlink.crc") \
	X(LINK_RECOVERIES, "nvlink.recoveries") \
	X(LINK_RECOVERED, "nvlink.recovered") \
	X(LINK_RECOVERY_FAILED, "nvlink.recovery-failed") \
	X(LINK_ERRORS, "nvlink.errors") \
	X(LINK_BER, "nvlink.ber") \
	X(LINK_SYMBOL_ERRORS, "nvlink.symbol-errors") \
	X(LINK_SYMBOL_BER, "nvlink.symbol-ber") \
	X(LINK_MALFORMED, "nvlink.malformed") \
	X(LINK_OVERRUN, "nvlink.overrun") \
	X(LINK_RECEIVED, "nvlink.received") \
	X(LINK_REMOTE_ERRORS, "nvlink.remote-errors") \
	X(LINK_GENERAL, "nvlink.general") \
	X(LINK_INTEGRITY, "nvlink.integrity") \
	X(LINK_DISCARDED, "nvlink.discarded") \
	X(LINK_FEC, "nvlink.fec") \
	X(LINK_FEC_DEPTH, "nvlink.fec-depth") \
	X(FABRIC_VERSION, "fabric.version") \
	X(FABRIC_STATE, "fabric.state") \
	X(FABRIC_STATUS, "fabric.status") \
	X(FABRIC_CLIQUE, "fabric.clique") \
	X(FABRIC_MASK, "fabric.mask") \
	X(FABRIC_SUMMARY, "fabric.summary") \
	X(PLATFORM_SLOT, "platform.slot") \
	X(PLATFORM_TRAY, "platform.tray") \
	X(PLATFORM_HOST, "platform.host") \
	X(PLATFORM_PEER, "platform.peer") \
	X(PLATFORM_MODULE, "platform.module")

enum number_id {
#define X(id, name) id,
	NUMBER_LIST(X)
#undef X
	NUMBERS
};

/* Finds a number by its name; NUMBERS is none. */
enum number_id number_find(const char *name);

/* Reads a number as the control file has it. */
bool number_parse(struct number *out, const char *text);

/* What NVML tells of a number now. Only with NVML_SUCCESS is out set; of a blank
 * it is what reading a dead register gives. */
nvmlReturn_t number_u64(const struct number *n, unsigned long long *out);
nvmlReturn_t number_u32(const struct number *n, unsigned *out);
nvmlReturn_t number_double(const struct number *n, double *out);

#endif
