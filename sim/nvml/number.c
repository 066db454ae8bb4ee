#include "number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[NUMBERS] = {
#define X(id, name) [id] = name,
	NUMBER_LIST(X)
#undef X
};

enum number_id number_find(const char *name)
{
	int id = 0;
	while (id < NUMBERS && strcmp(names[id], name))
		id++;
	return id;
}

bool number_parse(struct number *out, const char *text)
{
	static const char *const words[] = {
		[NUMBER_UNSUPPORTED] = "unsupported", [NUMBER_UNKNOWN] = "unknown", [NUMBER_BLANK] = "blank"};
	char rest;

	memset(out, 0, sizeof *out);
	for (int kind = NUMBER_UNSUPPORTED; kind < NUMBER_KNOWN; kind++)
		if (!strcmp(text, words[kind])) {
			out->kind = kind;
			return true;
		}
	out->kind = NUMBER_KNOWN;
	if (sscanf(text, "%lf %lf/s @%lf%c", &out->base, &out->rate, &out->since, &rest) == 3)
		return true;
	out->rate = 0;
	return sscanf(text, "%lf%c", &out->base, &rest) == 1;
}

static double now_value(const struct number *n)
{
	struct timespec t;
	if (n->rate == 0)
		return n->base;
	clock_gettime(CLOCK_REALTIME, &t);
	return n->base + n->rate * (t.tv_sec + t.tv_nsec / 1e9 - n->since);
}

static nvmlReturn_t answer(const struct number *n)
{
	switch (n->kind) {
	case NUMBER_UNSUPPORTED: return NVML_ERROR_NOT_SUPPORTED;
	case NUMBER_UNKNOWN: return NVML_ERROR_UNKNOWN;
	default: return NVML_SUCCESS;
	}
}

nvmlReturn_t number_u64(const struct number *n, unsigned long long *out)
{
	nvmlReturn_t rc = answer(n);
	if (!rc)
		*out = n->kind == NUMBER_BLANK ? 0x7ffffffffffffff0ULL : (unsigned long long)now_value(n);
	return rc;
}

nvmlReturn_t number_u32(const struct number *n, unsigned *out)
{
	nvmlReturn_t rc = answer(n);
	if (!rc)
		*out = n->kind == NUMBER_BLANK ? 0x7ffffff0U : (unsigned)(long long)now_value(n);
	return rc;
}

nvmlReturn_t number_double(const struct number *n, double *out)
{
	nvmlReturn_t rc = answer(n);
	if (!rc)
		*out = n->kind == NUMBER_BLANK ? 140737488355328.0 : now_value(n);
	return rc;
}
