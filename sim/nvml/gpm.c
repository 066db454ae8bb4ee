/* GPM: activity between two samples. */
#include <stdlib.h>
#include <time.h>

#include "session.h"

struct nvmlGpmSample_st {
	int slot; /* -1: nothing was sampled yet */
	int gi;   /* -1: the GPU as a whole */
	double seconds;
	struct number sm, tensor, dram;
};

EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *gpmSupport)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		gpmSupport->isSupportedDevice = gpu.numbers[GPM_SM].kind != NUMBER_UNSUPPORTED;
	return rc;
}

EXPORT nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *gpmSample)
{
	*gpmSample = calloc(1, sizeof **gpmSample);
	if (!*gpmSample)
		return NVML_ERROR_MEMORY;
	(*gpmSample)->slot = -1;
	return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t gpmSample)
{
	free(gpmSample);
	return NVML_SUCCESS;
}

static nvmlReturn_t sample(int slot, int gi, const struct gpu *gpu, nvmlGpmSample_t out)
{
	struct timespec t;
	if (gpu->numbers[GPM_SM].kind == NUMBER_UNSUPPORTED)
		return NVML_ERROR_NOT_SUPPORTED;
	clock_gettime(CLOCK_MONOTONIC, &t);
	*out = (struct nvmlGpmSample_st){
		.slot = slot,
		.gi = gi,
		.seconds = t.tv_sec + t.tv_nsec / 1e9,
		.sm = gpu->numbers[GPM_SM],
		.tensor = gpu->numbers[GPM_TENSOR],
		.dram = gpu->numbers[GPM_DRAM],
	};
	if (gi >= 0 && gpu->idle_instances >> gi & 1)
		out->sm = out->tensor = out->dram = (struct number){ .kind = NUMBER_KNOWN };
	return NVML_SUCCESS;
}

/* Of a GPU in MIG mode only its instances can be sampled. */
EXPORT nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t gpmSample)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	return gpu.mig == MIG_ON ? NVML_ERROR_NOT_SUPPORTED : sample(device->slot, -1, &gpu, gpmSample);
}

EXPORT nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gpuInstanceId, nvmlGpmSample_t gpmSample)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	for (int i = 0; gpu.mig == MIG_ON && i < gpu.instances; i++)
		if (gpu.instance[i].gi == gpuInstanceId)
			return sample(device->slot, gpuInstanceId, &gpu, gpmSample);
	return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t metric(const struct nvmlGpmSample_st *sample, nvmlGpmMetric_t *m)
{
	switch (m->metricId) {
	case NVML_GPM_METRIC_SM_UTIL: return number_double(&sample->sm, &m->value);
	case NVML_GPM_METRIC_ANY_TENSOR_UTIL: return number_double(&sample->tensor, &m->value);
	case NVML_GPM_METRIC_DRAM_BW_UTIL: return number_double(&sample->dram, &m->value);
	default: return NVML_ERROR_NOT_SUPPORTED;
	}
}

EXPORT nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *metricsGet)
{
	struct head head;
	nvmlReturn_t rc = session_enter(__func__, &head);
	const struct nvmlGpmSample_st *first = metricsGet->sample1, *second = metricsGet->sample2;
	if (rc)
		return rc;
	if (!first || !second || first->slot < 0 || first->slot != second->slot || first->gi != second->gi ||
	    first->seconds >= second->seconds)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; i < metricsGet->numMetrics; i++)
		metricsGet->metrics[i].nvmlReturn = metric(second, &metricsGet->metrics[i]);
	return NVML_SUCCESS;
}
