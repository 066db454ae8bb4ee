/* NVLink: states, far ends and counters. */
#include "links.h"

#include <string.h>

#include "session.h"

bool links_take(struct gpu *gpu, const char *key, const char *value)
{
	char name[MAX_TEXT] = "nvlink.";
	struct link_number *n = &gpu->link[gpu->links];
	if (gpu->links == MAX_LINK_NUMBERS || sscanf(key, "link.%u.%80s", &n->link, name + strlen(name)) != 2)
		return false;
	n->id = number_find(name);
	gpu->links++;
	return n->id != NUMBERS && number_parse(&n->number, value);
}

const struct number *links_number(const struct gpu *gpu, unsigned link, enum number_id id)
{
	unsigned count;
	if (number_u32(&gpu->numbers[LINK_COUNT], &count) || link >= count)
		return NULL;
	for (int i = gpu->links - 1; i >= 0; i--) /* the GPU's own come last */
		if (gpu->link[i].link == link && gpu->link[i].id == id)
			return &gpu->link[i].number;
	return &gpu->numbers[id];
}

static const struct {
	unsigned id;
	enum number_id number;
	nvmlValueType_t type;
} fields[] = {
	{NVML_FI_DEV_NVLINK_GET_SPEED, LINK_SPEED, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_NVLINK_GET_STATE, LINK_STATE, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID, LINK_REMOTE_ID, NVML_VALUE_TYPE_UNSIGNED_INT},
	{NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, LINK_REPLAYS, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY, LINK_DL_RECOVERIES, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_ERROR_DL_CRC, LINK_CRC, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS, LINK_MALFORMED, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS, LINK_OVERRUN, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, LINK_RECEIVED, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS, LINK_REMOTE_ERRORS, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS, LINK_GENERAL, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS, LINK_INTEGRITY, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS, LINK_DISCARDED, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS, LINK_RECOVERED, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, LINK_RECOVERY_FAILED, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, LINK_RECOVERIES, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS, LINK_ERRORS, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, LINK_BER, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS, LINK_SYMBOL_ERRORS, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
	{NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER, LINK_SYMBOL_BER, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG},
};

/* A bin of the error correction's history. Bins above the deepest are empty. */
static nvmlReturn_t fec(const struct gpu *gpu, nvmlFieldValue_t *v)
{
	const struct number *words = links_number(gpu, v->scopeId, LINK_FEC);
	unsigned depth, bin = v->fieldId - NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0;
	if (!words)
		return NVML_ERROR_INVALID_ARGUMENT;
	v->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
	nvmlReturn_t rc = number_u32(links_number(gpu, v->scopeId, LINK_FEC_DEPTH), &depth);
	if (!rc)
		rc = number_u64(words, &v->value.ullVal);
	if (!rc && bin > 0)
		v->value.ullVal = bin <= depth;
	return rc;
}

bool links_field(const struct gpu *gpu, nvmlFieldValue_t *v)
{
	if (v->fieldId == NVML_FI_DEV_NVLINK_LINK_COUNT) {
		v->nvmlReturn = number_u32(&gpu->numbers[LINK_COUNT], &v->value.uiVal);
		return true;
	}
	if (v->fieldId >= NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 && v->fieldId <= NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15) {
		v->nvmlReturn = fec(gpu, v);
		return true;
	}
	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (fields[i].id != v->fieldId)
			continue;
		const struct number *n = links_number(gpu, v->scopeId, fields[i].number);
		v->valueType = fields[i].type;
		if (!n)
			v->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
		else if (v->valueType == NVML_VALUE_TYPE_UNSIGNED_INT)
			v->nvmlReturn = number_u32(n, &v->value.uiVal);
		else
			v->nvmlReturn = number_u64(n, &v->value.ullVal);
		return true;
	}
	return false;
}

static nvmlReturn_t link_u32(const char *call, nvmlDevice_t device, unsigned link, enum number_id id, unsigned *out)
{
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(call, device, &gpu);
	if (rc)
		return rc;
	const struct number *n = links_number(&gpu, link, id);
	return n ? number_u32(n, out) : NVML_ERROR_INVALID_ARGUMENT;
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *isActive)
{
	unsigned state;
	nvmlReturn_t rc = link_u32(__func__, device, link, LINK_STATE, &state);
	if (!rc)
		*isActive = state != NVML_NVLINK_STATE_INACTIVE;
	return rc;
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version)
{
	return link_u32(__func__, device, link, LINK_VERSION, version);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
							nvmlIntNvLinkDeviceType_t *pNvLinkDeviceType)
{
	unsigned type;
	nvmlReturn_t rc = link_u32(__func__, device, link, LINK_REMOTE, &type);
	if (!rc)
		*pNvLinkDeviceType = type;
	return rc;
}

/* The address that link number "link" of "count" leads to: the switches have as
 * many each. Which real link leads to which switch is not known. */
static bool peer(const struct gpu *gpu, unsigned link, unsigned count, nvmlPciInfo_t *pci)
{
	char list[MAX_TEXT], *rest, *words[8];
	unsigned n = 0;
	strcpy(list, gpu->switches);
	for (char *w = strtok_r(list, " ", &rest); w && n < 8; w = strtok_r(NULL, " ", &rest))
		words[n++] = w;
	if (n == 0 || link >= count)
		return false;
	return parse_pci(words[link * n / count], &pci->domain, &pci->bus, &pci->device);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
	struct gpu gpu;
	unsigned count;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (!rc)
		rc = number_u32(&gpu.numbers[LINK_COUNT], &count);
	if (rc)
		return rc;
	memset(pci, 0, sizeof *pci);
	if (!peer(&gpu, link, count, pci)) /* a switch that this host does not have */
		pci->domain = pci->bus = pci->device = 0xffffffff;
	return NVML_SUCCESS;
}

ALIAS(nvmlDeviceGetNvLinkRemotePciInfo, nvmlDeviceGetNvLinkRemotePciInfo_v2,
      (nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci))

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
						    nvmlNvLinkErrorCounter_t counter, unsigned long long *counterValue)
{
	static const enum number_id ids[] = {
		[NVML_NVLINK_ERROR_DL_REPLAY] = LINK_REPLAYS,
		[NVML_NVLINK_ERROR_DL_RECOVERY] = LINK_DL_RECOVERIES,
		[NVML_NVLINK_ERROR_DL_CRC_FLIT] = LINK_CRC,
	};
	struct gpu gpu;
	nvmlReturn_t rc = session_gpu(__func__, device, &gpu);
	if (rc)
		return rc;
	if (counter >= sizeof ids / sizeof *ids)
		return NVML_ERROR_NOT_SUPPORTED;
	const struct number *n = links_number(&gpu, link, ids[counter]);
	return n ? number_u64(n, counterValue) : NVML_ERROR_INVALID_ARGUMENT;
}
