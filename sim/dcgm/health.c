/* Health checks. */
#include "engine.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ANY 0xffffffff
#define ISOLATED 20 /* DCGM_HEALTH_RESULT_FAIL, short */
#define WARNED 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool gpus_set, switches_set; /* guarded by lock */

/* XIDs that reach the health check, and as what. The rest reach only the
 * policy callback. */
static const struct {
	unsigned xid, system, code, result;
} xids[] = {
	{48, ANY, 101, ISOLATED}, {74, ANY, 101, ISOLATED},  {79, ANY, 120, ISOLATED},	{95, ANY, 101, ISOLATED},
	{119, ANY, 101, ISOLATED}, {120, ANY, 101, ISOLATED}, {140, ANY, 101, ISOLATED}, {94, ANY, 131, WARNED},
	{31, 0x10, 101, WARNED},  {32, 0x10, 101, WARNED},   {43, 0x10, 101, WARNED},	{63, 0x10, 6, WARNED},
	{64, 0x10, 101, ISOLATED}, {38, 0x1, 101, WARNED},   {39, 0x1, 101, WARNED},	{42, 0x1, 101, WARNED},
	{60, 0x80, 101, WARNED},  {61, 0x80, 101, WARNED},   {62, 0x80, 101, WARNED},	{54, 0x100, 101, WARNED},
	{56, 0x100, 101, WARNED}, {57, 0x100, 101, WARNED},  {58, 0x100, 101, WARNED},	{78, 0x100, 101, WARNED},
	{67, 0x2, 101, WARNED},	  {73, 0x2, 101, WARNED},    {121, 0x2, 101, WARNED},	{137, 0x2, 101, WARNED},
};

/* Fields that make an incident from a value on. */
static const struct {
	unsigned short field;
	int64_t from;
	unsigned system, code, result;
} limits[] = {
	{311, 1, 0x10, 4, ISOLATED}, {395, 1, 0x10, 80, ISOLATED}, {393, 512, 0x10, 132, WARNED},
	{1217, 1, 0x2, 119, ISOLATED}, {1215, 1, 0x2, 121, ISOLATED}, {1523, 2, 0x200, 126, ISOLATED},
};

EXPORT dcgmReturn_t dcgmHealthSet(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmHealthSystems_t systems)
{
	struct conf c;
	(void)handle, (void)systems;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	pthread_mutex_lock(&lock);
	gpus_set |= !rc && group == DCGM_GROUP_ALL_GPUS;
	switches_set |= !rc && group == DCGM_GROUP_ALL_NVSWITCHES;
	pthread_mutex_unlock(&lock);
	return rc;
}

void health_forget(void)
{
	pthread_mutex_lock(&lock);
	gpus_set = switches_set = false;
	pthread_mutex_unlock(&lock);
}

static void add(dcgmHealthResponse_t *out, const struct incident *i, const char *text)
{
	dcgmIncidentInfo_t *info = &out->incidents[out->incidentCount++];
	info->system = i->system;
	info->health = i->result;
	info->error.code = i->code;
	strcpy(info->error.msg, text);
	info->entityInfo = (dcgmGroupEntityPair_t){i->group, i->id};
	if (info->health > out->overallHealth)
		out->overallHealth = info->health;
}

/* An XID makes its incident at every check until the engine is restarted. One
 * that the engine read from the kernel log makes none. */
static void check_xids(const struct conf *c, unsigned gpu, dcgmHealthResponse_t *out)
{
	for (int i = 0; i < c->gpu[gpu].xids; i++)
		for (unsigned k = 0; k < sizeof xids / sizeof *xids; k++) {
			const struct xid *x = &c->gpu[gpu].xid[i];
			if (x->source != FROM_DRIVER || x->code != xids[k].xid)
				continue;
			char text[96];
			snprintf(text, sizeof text, "Detected XID %u for GPU %u", x->code, gpu);
			add(out, &(struct incident){DCGM_FE_GPU, gpu, xids[k].system, xids[k].code, xids[k].result}, text);
		}
}

/* The text's GPU number is what was on the stack, as with the real one. */
static void check_fields(const struct conf *c, unsigned gpu, dcgmHealthResponse_t *out)
{
	struct reading r;
	for (unsigned k = 0; k < sizeof limits / sizeof *limits; k++)
		if (engine_field(c, gpu, limits[k].field, &r) && r.i != DCGM_INT64_BLANK && r.i >= limits[k].from)
			add(out, &(struct incident){DCGM_FE_GPU, gpu, limits[k].system, limits[k].code, limits[k].result},
			    limits[k].code == 80 ? "GPU 21845 had uncorrectable memory errors and row remapping failed"
						 : "A threshold was exceeded");
}

EXPORT dcgmReturn_t dcgmHealthCheck(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmHealthResponse_t *out)
{
	struct conf c;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	if (c.mismatch || out->version != dcgmHealthResponse_version5)
		return DCGM_ST_VER_MISMATCH;
	bool gpus = group == DCGM_GROUP_ALL_GPUS;
	pthread_mutex_lock(&lock);
	bool set = gpus ? gpus_set : switches_set;
	pthread_mutex_unlock(&lock);
	out->incidentCount = 0;
	out->overallHealth = DCGM_HEALTH_RESULT_PASS;
	for (unsigned i = 0; set && gpus && i < MAX_GPUS; i++)
		if (engine_lists(&c, i)) {
			check_xids(&c, i, out);
			check_fields(&c, i, out);
		}
	for (int i = 0; set && i < c.incidents; i++)
		if (gpus == (c.incident[i].group != DCGM_FE_SWITCH))
			add(out, &c.incident[i], "An incident");
	return DCGM_ST_OK;
}
