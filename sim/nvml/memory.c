/* The memories: error correction and row remapping. */
#include "memory.h"

#include <string.h>

EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	unsigned on;
	nvmlReturn_t rc = session_u32(__func__, device, ECC_ENABLED, &on);
	if (!rc)
		*current = *pending = on;
	return rc;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
						    nvmlEccCounterType_t counterType,
						    nvmlMemoryLocation_t locationType, unsigned long long *count)
{
	static const enum number_id dram[2][2] = {{VOL_DRAM_COR, AGG_DRAM_COR}, {VOL_DRAM_UNC, AGG_DRAM_UNC}};
	static const enum number_id sram[2][2] = {{VOL_SRAM_COR, AGG_SRAM_COR}, {VOL_SRAM_UNC, AGG_SRAM_UNC}};
	if (errorType >= 2 || counterType >= 2)
		return NVML_ERROR_INVALID_ARGUMENT;
	switch (locationType) {
	case NVML_MEMORY_LOCATION_DRAM: return session_u64(__func__, device, dram[errorType][counterType], count);
	case NVML_MEMORY_LOCATION_SRAM: return session_u64(__func__, device, sram[errorType][counterType], count);
	default: return NVML_ERROR_NOT_SUPPORTED; /* what GPUs before Turing have */
	}
}

EXPORT nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t *status)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (status->version != nvmlEccSramErrorStatus_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memset(status, 0, sizeof *status);
	status->version = nvmlEccSramErrorStatus_v1;
	struct {
		enum number_id id;
		unsigned long long *out;
	} parts[] = {
		{VOL_SRAM_COR, &status->volatileCor},
		{VOL_SRAM_UNC, &status->volatileUncSecDed},
		{AGG_SRAM_COR, &status->aggregateCor},
		{AGG_SRAM_UNC, &status->aggregateUncSecDed},
	};
	for (unsigned i = 0; !rc && i < sizeof parts / sizeof *parts; i++)
		rc = number_u64(&gpu.numbers[parts[i].id], parts[i].out);
	status->aggregateUncBucketL2 = status->aggregateUncSecDed;
	return rc ? rc : number_u32(&gpu.numbers[SRAM_THRESHOLD], &status->bThresholdExceeded);
}

/* Not supported on a GPU in MIG mode, says the header. */
nvmlReturn_t rows_of(const struct gpu *gpu, struct rows *out)
{
	if (gpu->remap == REMAP_UNSUPPORTED || gpu->mig == MIG_ON)
		return NVML_ERROR_NOT_SUPPORTED;
	if (gpu->remap == REMAP_UNKNOWN)
		return NVML_ERROR_UNKNOWN;
	out->pending = gpu->remap == REMAP_PENDING;
	out->failed = gpu->remap == REMAP_FAILED;
	nvmlReturn_t rc = number_u32(&gpu->numbers[REMAP_COR], &out->correctable);
	return rc ? rc : number_u32(&gpu->numbers[REMAP_UNC], &out->uncorrectable);
}

EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows, unsigned int *uncRows,
					      unsigned int *isPending, unsigned int *failureOccurred)
{
	struct gpu gpu;
	struct rows rows;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		rc = rows_of(&gpu, &rows);
	if (rc)
		return rc;
	*corrRows = rows.correctable;
	*uncRows = rows.uncorrectable;
	*isPending = rows.pending;
	*failureOccurred = rows.failed;
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *values)
{
	struct gpu gpu;
	unsigned *out[] = {&values->max, &values->high, &values->partial, &values->low, &values->none};
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc && gpu.mig == MIG_ON)
		rc = NVML_ERROR_NOT_SUPPORTED;
	for (int i = 0; !rc && i < 5; i++)
		rc = number_u32(&gpu.numbers[BANKS_MAX + i], out[i]);
	return rc;
}
