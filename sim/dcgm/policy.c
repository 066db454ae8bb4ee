/* Policies and the callbacks of their violation. */
#include "engine.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dcgmPolicy_t policy; /* guarded by lock, as all below */
static bool policy_set, registered;
static fpRecvUpdates notify;
static uint64_t cookie;
static dcgmPolicyCondition_t wanted;
static unsigned told; /* number of the last violation that was told */

EXPORT dcgmReturn_t dcgmPolicyGet(dcgmHandle_t handle, dcgmGpuGrp_t group, int count, dcgmPolicy_t *out,
				  dcgmStatus_t status)
{
	struct conf c;
	(void)handle, (void)group, (void)status;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	if (!policy_set)
		rc = DCGM_ST_NOT_CONFIGURED;
	for (int i = 0; !rc && i < count; i++)
		out[i] = policy;
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT dcgmReturn_t dcgmPolicySet(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmPolicy_t *in, dcgmStatus_t status)
{
	struct conf c;
	(void)handle, (void)group, (void)status;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	if (c.mismatch || in->version != dcgmPolicy_version1)
		return DCGM_ST_VER_MISMATCH;
	pthread_mutex_lock(&lock);
	policy = *in;
	policy_set = true;
	pthread_mutex_unlock(&lock);
	return DCGM_ST_OK;
}

/* Temperature and power are violated by a value above the policy's. */
static bool violates(const struct violation *v)
{
	bool limited = v->condition == DCGM_POLICY_COND_IDX_THERMAL || v->condition == DCGM_POLICY_COND_IDX_POWER;
	return wanted & policy.condition & (1u << v->condition) &&
	       (!limited || v->value > policy.parms[v->condition].val.llval);
}

static dcgmPolicyCallbackResponse_t response(const struct violation *v)
{
	long long usec = time(NULL) * 1000000LL;
	dcgmPolicyCallbackResponse_t r = {
		.version = dcgmPolicyCallbackResponse_version2, .condition = 1u << v->condition, .gpuId = v->gpu};
	switch (v->condition) {
	case DCGM_POLICY_COND_IDX_DBE:
		r.val.dbe = (dcgmPolicyConditionDbe_t){.timestamp = usec, .location = DEVICE, .numerrors = v->value};
		break;
	case DCGM_POLICY_COND_IDX_MAX_PAGES_RETIRED:
		r.val.mpr = (dcgmPolicyConditionMpr_t){.timestamp = usec, .dbepages = v->value};
		break;
	case DCGM_POLICY_COND_IDX_NVLINK:
		r.val.nvlink = (dcgmPolicyConditionNvlink_t){.timestamp = usec, .fieldId = 409, .counter = v->value};
		break;
	default: /* the others have one number behind the time */
		r.val.xid = (dcgmPolicyConditionXID_t){.timestamp = usec, .errnum = v->value};
	}
	return r;
}

/* Takes the next violation that is to be told. */
static bool next(struct violation *out, fpRecvUpdates *call, uint64_t *with)
{
	struct conf c;
	bool found = false;
	conf_read(&c);
	pthread_mutex_lock(&lock);
	for (int i = 0; registered && !found && i < c.violations; i++)
		if (c.violation[i].number > told) {
			*out = c.violation[i];
			told = out->number;
			found = violates(out);
		}
	*call = notify;
	*with = cookie;
	pthread_mutex_unlock(&lock);
	return found;
}

static bool still_registered(void)
{
	pthread_mutex_lock(&lock);
	bool is = registered;
	pthread_mutex_unlock(&lock);
	return is;
}

static void *deliver(void *unused)
{
	struct violation v;
	fpRecvUpdates call;
	uint64_t with;
	struct stat seen = {0};
	while (still_registered()) {
		while (conf_changed(&seen))
			while (next(&v, &call, &with)) {
				dcgmPolicyCallbackResponse_t r = response(&v);
				call(&r, with);
			}
		/* Seldom: what looking costs is counted as the client's. */
		nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
	}
	return unused;
}

EXPORT dcgmReturn_t dcgmPolicyRegister_v2(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmPolicyCondition_t condition,
					  fpRecvUpdates callback, uint64_t data)
{
	struct conf c;
	pthread_t thread;
	(void)handle, (void)group;
	dcgmReturn_t rc = engine_enter(__func__, &c);
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	bool first = !registered;
	registered = true;
	notify = callback;
	cookie = data;
	wanted = condition;
	told = c.violations ? c.violation[c.violations - 1].number : 0; /* what was before is not told */
	pthread_mutex_unlock(&lock);
	if (first && pthread_create(&thread, NULL, deliver, NULL) == 0)
		pthread_detach(thread);
	return DCGM_ST_OK;
}

EXPORT dcgmReturn_t dcgmPolicyUnregister(dcgmHandle_t handle, dcgmGpuGrp_t group, dcgmPolicyCondition_t condition)
{
	struct conf c;
	(void)handle, (void)group, (void)condition;
	policy_forget();
	return engine_enter(__func__, &c);
}

void policy_forget(void)
{
	pthread_mutex_lock(&lock);
	registered = false;
	pthread_mutex_unlock(&lock);
}
