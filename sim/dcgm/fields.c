/* Fields: what they are, which are watched, and the cache. */
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct field {
	unsigned short id;
	char type;
	double usual;
} fields[] = {
	{54, DCGM_FT_STRING, 0},  {150, DCGM_FT_INT64, 41}, {155, DCGM_FT_DOUBLE, 112.5}, {164, DCGM_FT_DOUBLE, 700},
	{202, DCGM_FT_INT64, 0},  {203, DCGM_FT_INT64, 0},  {230, DCGM_FT_INT64, 0},	  {310, DCGM_FT_INT64, 0},
	{311, DCGM_FT_INT64, 0},  {312, DCGM_FT_INT64, 0},  {313, DCGM_FT_INT64, 0},	  {319, DCGM_FT_INT64, 0},
	{391, DCGM_FT_INT64, 0},  {393, DCGM_FT_INT64, 0},  {394, DCGM_FT_INT64, 0},	  {395, DCGM_FT_INT64, 0},
	{396, DCGM_FT_INT64, 0},  {409, DCGM_FT_INT64, 0},  {1001, DCGM_FT_DOUBLE, 0.5},  {1002, DCGM_FT_DOUBLE, 0.25},
	{1004, DCGM_FT_DOUBLE, 0}, {1005, DCGM_FT_DOUBLE, 0}, {1215, DCGM_FT_INT64, 0},	  {1217, DCGM_FT_INT64, 0},
	{1503, DCGM_FT_INT64, 5}, {1523, DCGM_FT_INT64, 0},
};

#define FIELDS (sizeof fields / sizeof *fields)
#define MAX_SETS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool watched[FIELDS], updated[FIELDS]; /* guarded by lock, as all below */
static struct {
	int count;
	unsigned short ids[FIELDS];
} sets[MAX_SETS];
static int set_count;

static const struct field *find(unsigned short id)
{
	for (unsigned i = 0; i < FIELDS; i++)
		if (fields[i].id == id)
			return &fields[i];
	return NULL;
}

static bool profiling(unsigned short id)
{
	return id > 1000 && id < 1100;
}

EXPORT dcgm_field_meta_p DcgmFieldGetById(unsigned short id)
{
	static dcgm_field_meta_t metas[FIELDS];
	const struct field *f = find(id);
	if (!f)
		return NULL;
	dcgm_field_meta_t *meta = &metas[f - fields];
	meta->fieldId = f->id;
	meta->fieldType = f->type;
	meta->entityLevel = DCGM_FE_GPU;
	return meta;
}

EXPORT dcgmReturn_t dcgmFieldGroupCreate(dcgmHandle_t handle, int count, const unsigned short *ids, const char *name,
					 dcgmFieldGrp_t *group)
{
	struct conf c;
	(void)handle, (void)name;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	if (set_count == MAX_SETS || count > (int)FIELDS)
		rc = DCGM_ST_MAX_LIMIT;
	for (int i = 0; !rc && i < count; i++)
		if (!find(ids[i]))
			rc = DCGM_ST_UNKNOWN_FIELD;
	if (!rc) {
		sets[set_count].count = count;
		memcpy(sets[set_count].ids, ids, count * sizeof *ids);
		*group = ++set_count;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT dcgmReturn_t dcgmWatchFields(dcgmHandle_t handle, dcgmGpuGrp_t gpus, dcgmFieldGrp_t group, long long every,
				    double age, int samples)
{
	struct conf c;
	(void)handle, (void)gpus, (void)every, (void)age, (void)samples;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	if (group < 1 || group > (unsigned)set_count)
		rc = DCGM_ST_BADPARAM;
	for (int i = 0; !rc && i < sets[group - 1].count; i++)
		watched[find(sets[group - 1].ids[i]) - fields] = true;
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT dcgmReturn_t dcgmUpdateAllFields(dcgmHandle_t handle, int wait)
{
	struct conf c;
	(void)handle, (void)wait;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	memcpy(updated, watched, sizeof updated);
	pthread_mutex_unlock(&lock);
	return DCGM_ST_OK;
}

void fields_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(watched, 0, sizeof watched);
	memset(updated, 0, sizeof updated);
	set_count = 0;
	pthread_mutex_unlock(&lock);
}

/* The last XID that the engine heard of, wherever from. */
static void last_xid(const struct gpu *g, struct reading *out)
{
	out->none = g->xids == 0;
	if (!out->none) {
		out->i = g->xid[g->xids - 1].code;
		out->usec = g->xid[g->xids - 1].usec;
	}
}

bool engine_field(const struct conf *c, unsigned gpu, unsigned short id, struct reading *out)
{
	const struct field *f = find(id);
	if (!f)
		return false;
	const struct gpu *g = &c->gpu[gpu];
	double v = f->usual;
	if (id == 393 || id == 396)
		v = g->remap_pending;
	if (id == 395)
		v = g->remap_failed;
	if (id == 1523)
		v = g->recovery;
	for (int i = 0; i < g->values; i++)
		if (g->value[i].id == id)
			v = g->value[i].value;
	*out = (struct reading){.type = f->type, .i = v, .d = v, .s = g->uuid};
	if (id == 230)
		last_xid(g, out);
	if (!g->blank && engine_supports(c, gpu))
		return true;
	out->i = DCGM_INT64_BLANK;
	out->d = DCGM_FP64_BLANK;
	out->s = DCGM_STR_BLANK;
	out->none = false;
	return true;
}

/* What the cache answers; blanks have the status of any other value. */
static int cached(const struct conf *c, unsigned gpu, unsigned short id, struct reading *r)
{
	unsigned place = find(id) - fields;
	engine_field(c, gpu, id, r);
	pthread_mutex_lock(&lock);
	int status = !watched[place] ? DCGM_ST_NOT_WATCHED : !updated[place] || r->none ? DCGM_ST_NO_DATA : DCGM_ST_OK;
	pthread_mutex_unlock(&lock);
	if (status) {
		r->i = DCGM_INT64_BLANK;
		r->d = DCGM_FP64_BLANK;
		r->s = DCGM_STR_BLANK;
	}
	return status;
}

static void put(void *value, const struct reading *r)
{
	if (r->type == DCGM_FT_STRING)
		strcpy(value, r->s);
	else if (r->type == DCGM_FT_DOUBLE)
		memcpy(value, &r->d, sizeof r->d);
	else
		memcpy(value, &r->i, sizeof r->i);
}

EXPORT dcgmReturn_t dcgmEntityGetLatestValues(dcgmHandle_t handle, dcgm_field_entity_group_t group, int id,
					      unsigned short ids[], unsigned count, dcgmFieldValue_v1 values[])
{
	struct conf c;
	struct reading r;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	if (group != DCGM_FE_GPU || !engine_lists(&c, id))
		return DCGM_ST_BADPARAM;
	for (unsigned i = 0; i < count; i++) {
		if (!find(ids[i]))
			return DCGM_ST_GENERIC_ERROR; /* the whole call */
		values[i].version = dcgmFieldValue_version1;
		values[i].fieldId = ids[i];
		values[i].status = cached(&c, id, ids[i], &r);
		values[i].fieldType = r.type;
		values[i].ts = r.usec;
		put(&values[i].value, &r);
	}
	return DCGM_ST_OK;
}

/* Reads past the cache, as the flag asks: that ends the engine for profiling
 * fields, and here the process, and fails the call for XIDs. */
static dcgmReturn_t live(const struct conf *c, unsigned gpu, unsigned short id, struct reading *r)
{
	if (profiling(id))
		abort();
	return id != 230 && engine_field(c, gpu, id, r) ? DCGM_ST_OK : DCGM_ST_GENERIC_ERROR;
}

EXPORT dcgmReturn_t dcgmEntitiesGetLatestValues(dcgmHandle_t handle, dcgmGroupEntityPair_t entities[], unsigned many,
						unsigned short ids[], unsigned count, unsigned flags,
						dcgmFieldValue_v2 values[])
{
	struct conf c;
	struct reading r;
	(void)handle;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	for (unsigned i = 0; !rc && i < many * count; i++) {
		unsigned gpu = entities[i / count].entityId;
		dcgmFieldValue_v2 *v = &values[i];
		v->fieldId = ids[i % count];
		v->entityGroupId = DCGM_FE_GPU;
		v->entityId = gpu;
		if (flags & DCGM_FV_FLAG_LIVE_DATA)
			rc = live(&c, gpu, v->fieldId, &r);
		else if (find(v->fieldId))
			v->status = cached(&c, gpu, v->fieldId, &r);
		else
			rc = DCGM_ST_GENERIC_ERROR;
		if (rc)
			return rc;
		v->fieldType = r.type;
		put(&v->value, &r);
	}
	return rc;
}
