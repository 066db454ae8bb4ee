/* nvmlDeviceGetFieldValues: many values at once. */
#include <string.h>
#include <time.h>

#include "links.h"
#include "memory.h"

/* The last field that this driver knows. An older one is built with less. */
#ifndef LAST_FIELD
#define LAST_FIELD NVML_FI_MAX
#endif

static const struct {
	unsigned id;
	enum number_id number;
	nvmlValueType_t type;
} fields[] = {
	{NVML_FI_DEV_ECC_CURRENT, ECC_ENABLED, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_ECC_SBE_VOL_DEV, VOL_DRAM_COR, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_ECC_DBE_VOL_DEV, VOL_DRAM_UNC, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_ECC_SBE_AGG_DEV, AGG_DRAM_COR, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_ECC_DBE_AGG_DEV, AGG_DRAM_UNC, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_RETIRED_SBE, RETIRED_SBE, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_RETIRED_DBE, RETIRED_DBE, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_RETIRED_PENDING, RETIRED_PENDING, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, CLOCK_POWER_CAP, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_MEMORY_TEMP, TEMP_MEMORY, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_PCIE_REPLAY_COUNTER, PCIE_REPLAYS, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_POWER_INSTANT, POWER, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_POWER_CURRENT_LIMIT, POWER_LIMIT, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, RECOVERY, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, CLOCK_SW_THERMAL, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, CLOCK_HW_THERMAL, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, CLOCK_POWER_BRAKE, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
};

static nvmlReturn_t rows_field(const struct gpu *gpu, nvmlFieldValue_t *v)
{
	struct rows rows;
	nvmlReturn_t rc = rows_of(gpu, &rows);
	v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
	if (rc)
		return rc;
	switch (v->fieldId) {
	case NVML_FI_DEV_REMAPPED_COR: v->value.uiVal = rows.correctable; break;
	case NVML_FI_DEV_REMAPPED_UNC: v->value.uiVal = rows.uncorrectable; break;
	case NVML_FI_DEV_REMAPPED_PENDING: v->value.uiVal = rows.pending; break;
	case NVML_FI_DEV_REMAPPED_FAILURE: v->value.uiVal = rows.failed; break;
	}
	return NVML_SUCCESS;
}

static nvmlReturn_t field(const struct gpu *gpu, nvmlFieldValue_t *v)
{
	if (v->fieldId > LAST_FIELD)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (v->fieldId >= NVML_FI_DEV_REMAPPED_COR && v->fieldId <= NVML_FI_DEV_REMAPPED_FAILURE)
		return rows_field(gpu, v);
	if (links_field(gpu, v))
		return v->nvmlReturn;
	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (fields[i].id != v->fieldId)
			continue;
		const struct number *n = &gpu->numbers[fields[i].number];
		v->valueType = fields[i].type;
		return v->valueType == NVML_VALUE_TYPE_UNSIGNED_INT ? number_u32(n, &v->value.uiVal)
								    : number_u64(n, &v->value.ullVal);
	}
	return NVML_ERROR_NOT_SUPPORTED;
}

static long long microseconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (!values || valuesCount < 1)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < valuesCount; i++) {
		nvmlFieldValue_t *v = &values[i];
		long long start = microseconds(CLOCK_MONOTONIC);
		memset(&v->value, 0, sizeof v->value);
		v->timestamp = microseconds(CLOCK_REALTIME);
		v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		v->nvmlReturn = field(&gpu, v);
		v->latencyUsec = microseconds(CLOCK_MONOTONIC) - start;
	}
	return NVML_SUCCESS;
}
