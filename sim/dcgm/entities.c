/* Whom the engine lists. */
#include "engine.h"

#include <string.h>

bool engine_lists(const struct conf *c, unsigned i)
{
	return c->driver && i < (unsigned)c->count && c->gpu[i].state != STATE_GONE;
}

bool engine_supports(const struct conf *c, unsigned i)
{
	return engine_lists(c, i) && c->gpu[i].state == STATE_PRESENT;
}

EXPORT dcgmReturn_t dcgmGetEntityGroupEntities(dcgmHandle_t handle, dcgm_field_entity_group_t group,
					       dcgm_field_eid_t *entities, int *count, unsigned flags)
{
	struct conf c;
	(void)handle, (void)flags;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	unsigned n = 0;
	if (group == DCGM_FE_GPU)
		for (unsigned i = 0; i < MAX_GPUS; i++)
			if (engine_lists(&c, i))
				entities[n++] = i;
	if (group == DCGM_FE_SWITCH)
		while (n < c.switches) {
			entities[n] = n;
			n++;
		}
	*count = n;
	return DCGM_ST_OK;
}

EXPORT dcgmReturn_t dcgmGetAllSupportedDevices(dcgmHandle_t handle, unsigned ids[DCGM_MAX_NUM_DEVICES], int *count)
{
	struct conf c;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	*count = 0;
	for (unsigned i = 0; i < MAX_GPUS; i++)
		if (engine_supports(&c, i))
			ids[(*count)++] = i;
	return DCGM_ST_OK;
}

EXPORT dcgmReturn_t dcgmGetGpuStatus(dcgmHandle_t handle, unsigned gpu, DcgmEntityStatus_t *status)
{
	struct conf c;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	if (!engine_lists(&c, gpu))
		return DCGM_ST_BADPARAM;
	*status = engine_supports(&c, gpu) ? DcgmEntityStatusOk : DcgmEntityStatusLost;
	return DCGM_ST_OK;
}

EXPORT dcgmReturn_t dcgmGroupGetInfo(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmGroupInfo_t *info)
{
	struct conf c;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	if (c.mismatch || info->version != dcgmGroupInfo_version3)
		return DCGM_ST_VER_MISMATCH;
	if (group != DCGM_GROUP_ALL_GPUS)
		return DCGM_ST_NOT_CONFIGURED;
	info->count = 0;
	strcpy(info->groupName, "DCGM_ALL_SUPPORTED_GPUS");
	for (unsigned i = 0; i < MAX_GPUS; i++)
		if (engine_lists(&c, i))
			info->entityList[info->count++] = (dcgmGroupEntityPair_t){DCGM_FE_GPU, i};
	return DCGM_ST_OK;
}
