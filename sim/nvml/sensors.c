/* Clocks, temperature, power, the PCIe link, and how busy the GPU is. */
#include <string.h>

#include "session.h"

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *clocksEventReasons)
{
	return session_u64(__func__, device, CLOCK_REASONS, clocksEventReasons);
}

/* Its name before driver 535, which is still exported. */
EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
							      unsigned long long *clocksThrottleReasons)
{
	return session_u64(__func__, device, CLOCK_REASONS, clocksThrottleReasons);
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType,
					     unsigned int *temp)
{
	if (sensorType != NVML_TEMPERATURE_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	return session_u32(__func__, device, TEMP, temp);
}

EXPORT nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *marginTempInfo)
{
	if (marginTempInfo->version != nvmlMarginTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return session_u32(__func__, device, TEMP_MARGIN, (unsigned *)&marginTempInfo->marginTemperature);
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t thresholdType,
						      unsigned int *temp)
{
	switch (thresholdType) {
	case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: return session_u32(__func__, device, TEMP_SHUTDOWN, temp);
	case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: return session_u32(__func__, device, TEMP_SLOWDOWN, temp);
	default: return NVML_ERROR_NOT_SUPPORTED;
	}
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
	return session_u32(__func__, device, POWER, power);
}

EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
	return session_u32(__func__, device, POWER_LIMIT, limit);
}

EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	unsigned on;
	nvmlReturn_t rc = session_u32(__func__, device, PERSISTENCE, &on);
	if (!rc)
		*mode = on;
	return rc;
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *currLinkGen)
{
	return session_u32(__func__, device, PCIE_GEN, currLinkGen);
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *currLinkWidth)
{
	return session_u32(__func__, device, PCIE_WIDTH, currLinkWidth);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *maxLinkGen)
{
	return session_u32(__func__, device, PCIE_MAX_GEN, maxLinkGen);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *maxLinkWidth)
{
	return session_u32(__func__, device, PCIE_MAX_WIDTH, maxLinkWidth);
}

/* Not supported on a GPU in MIG mode. */
EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc && gpu.mig == MIG_ON)
		rc = NVML_ERROR_NOT_SUPPORTED;
	if (!rc)
		rc = number_u32(&gpu.numbers[UTIL_GPU], &utilization->gpu);
	return rc ? rc : number_u32(&gpu.numbers[UTIL_MEMORY], &utilization->memory);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		rc = number_u64(&gpu.numbers[MEMORY_TOTAL], &memory->total);
	if (!rc)
		rc = number_u64(&gpu.numbers[MEMORY_USED], &memory->used);
	if (!rc)
		memory->free = memory->total - memory->used;
	return rc;
}

/* Lists processes of made-up ids. Records are of the given size, and begin with
 * the id in each version. */
static nvmlReturn_t processes(const char *call, nvmlDevice_t device, unsigned *count, void *records, size_t size)
{
	unsigned have, room = *count;
	nvmlReturn_t rc = session_u32(call, device, PROCESSES, &have);
	if (rc)
		return rc;
	*count = have;
	if (have > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memset(records, 0, have * size);
	for (unsigned i = 0; i < have; i++)
		*(unsigned *)((char *)records + i * size) = 100000 + i;
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
							 nvmlProcessInfo_v1_t *infos)
{
	return processes(__func__, device, infoCount, infos, sizeof *infos);
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
							    nvmlProcessInfo_t *infos)
{
	return processes(__func__, device, infoCount, infos, sizeof *infos);
}
