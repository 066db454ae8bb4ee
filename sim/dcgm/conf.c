#include "conf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const engine_words[] = {"up", "stopped", "down", NULL};
static const char *const state_words[] = {"present", "lost", "gone", NULL};
static const char *const switch_words[] = {"off", "on", NULL};
static const char *const source_words[] = {"driver", "kmsg", NULL};
const char *const condition_words[] = {"dbe", "pcie", "retired-pages", "thermal", "power", "nvlink", "xid", NULL};

static bool word(int *out, const char *text, const char *const words[])
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(text, words[i])) {
			*out = i;
			return true;
		}
	return false;
}

static bool text(char *out, const char *value)
{
	return snprintf(out, MAX_TEXT, "%s", value) < MAX_TEXT && *value;
}

static bool number(double *out, const char *value)
{
	char *end;
	*out = strtod(value, &end);
	return end != value && !*end;
}

static bool natural(unsigned *out, const char *value)
{
	char *end;
	*out = strtoul(value, &end, 0);
	return isdigit((unsigned char)*value) && !*end;
}

static bool take_call(struct calls *calls, const char *name, const char *value)
{
	if (calls->count == MAX_CALLS)
		return false;
	struct call *c = &calls->list[calls->count++];
	return text(c->name, name) && number(&c->value, value);
}

static bool take_incident(struct conf *c, const char *value)
{
	struct incident *i = &c->incident[c->incidents];
	return c->incidents++ < MAX_THINGS &&
	       sscanf(value, "%u %u %i %u %u", &i->group, &i->id, (int *)&i->system, &i->code, &i->result) == 5;
}

static bool take_violation(struct conf *c, const char *key, const char *value)
{
	char condition[16];
	struct violation *v = &c->violation[c->violations];
	return c->violations++ < MAX_THINGS && natural(&v->number, key) &&
	       sscanf(value, "%u %15s %u", &v->gpu, condition, &v->value) == 3 &&
	       word(&v->condition, condition, condition_words);
}

static bool take_xid(struct gpu *g, const char *value)
{
	char source[16];
	struct xid *x = &g->xid[g->xids];
	return g->xids++ < MAX_THINGS && sscanf(value, "%u %ld %15s", &x->code, &x->usec, source) == 3 &&
	       word(&x->source, source, source_words);
}

static bool take_value(struct gpu *g, const char *key, const char *value)
{
	struct value *v = &g->value[g->values];
	return g->values++ < MAX_THINGS && natural(&v->id, key) && number(&v->value, value);
}

static bool take_gpu(struct gpu *g, const char *key, const char *value)
{
	if (!strncmp(key, "field.", 6))
		return take_value(g, key + 6, value);
	if (!strncmp(key, "xid.", 4))
		return take_xid(g, value);
	return !strcmp(key, "blank") && word(&g->blank, value, switch_words);
}

static bool take_engine(struct conf *c, const char *key, const char *value)
{
	if (!strncmp(key, "fail.", 5))
		return take_call(&c->fail, key + 5, value);
	if (!strncmp(key, "hang.", 5))
		return take_call(&c->hang, key + 5, value);
	if (!strncmp(key, "incident.", 9))
		return take_incident(c, value);
	if (!strncmp(key, "violation.", 10))
		return take_violation(c, key + 10, value);
	if (!strcmp(key, "engine"))
		return word(&c->engine, value, engine_words);
	if (!strcmp(key, "mismatch"))
		return word(&c->mismatch, value, switch_words);
	if (!strcmp(key, "driver"))
		return word(&c->driver, value, switch_words);
	if (!strcmp(key, "address"))
		return text(c->address, value);
	if (!strcmp(key, "version"))
		return text(c->version, value);
	if (!strcmp(key, "generation"))
		return natural(&c->generation, value);
	if (!strcmp(key, "switches"))
		return natural(&c->switches, value);
	return !strcmp(key, "patience") && number(&c->patience, value);
}

/* Splits "key = value" at its first blank. */
static bool split(const char *line, char *key, char *value)
{
	return sscanf(line, " %95[^ =] = %95[^\n]", key, value) == 2;
}

static bool take_line(struct conf *c, const char *line, int *section)
{
	char key[MAX_TEXT], value[MAX_TEXT];
	if (sscanf(line, "[gpu %d]", section) == 1)
		return *section >= 0 && *section < MAX_GPUS;
	if (!split(line, key, value))
		return false;
	return *section < 0 ? take_engine(c, key, value) : take_gpu(&c->gpu[*section], key, value);
}

static bool parse(FILE *file, struct conf *c)
{
	char line[512];
	int section = -1;
	for (int n = 1; fgets(line, sizeof line, file); n++) {
		const char *text = line + strspn(line, " \t");
		if (*text == '\n' || *text == '#' || take_line(c, text, &section))
			continue;
		fprintf(stderr, "sim: dcgm.conf:%d: not understood: %s", n, line);
		return false;
	}
	return true;
}

/* Takes what the engine needs of node.conf and leaves the rest. */
static void take_node(struct gpu *g, const char *key, const char *value)
{
	if (!strcmp(key, "uuid"))
		text(g->uuid, value);
	if (!strcmp(key, "state"))
		word(&g->state, value, state_words);
	if (!strcmp(key, "recovery"))
		natural(&g->recovery, value);
	if (!strcmp(key, "remap")) {
		g->remap_pending = !strcmp(value, "pending");
		g->remap_failed = !strcmp(value, "failed");
	}
}

/* "[gpu *]" stands before the others and is what they begin as. */
static void parse_node(FILE *file, struct conf *c)
{
	char line[512], key[MAX_TEXT], value[MAX_TEXT];
	struct gpu usual = {0}, *g = NULL;
	while (fgets(line, sizeof line, file)) {
		const char *text = line + strspn(line, " \t");
		if (!strncmp(text, "[gpu *]", 7)) {
			g = &usual;
		} else if (!strncmp(text, "[gpu ", 5) && c->count < MAX_GPUS) {
			g = &c->gpu[c->count++];
			*g = usual;
		} else if (g && *text != '#' && split(text, key, value)) {
			take_node(g, key, value);
		}
	}
}

static FILE *open_file(const char *name)
{
	char path[4096];
	const char *folder = getenv("GPUHEALTHD_SIM");
	snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
	return fopen(path, "re");
}

bool conf_changed(struct stat *seen)
{
	struct stat st = {0};
	FILE *file = open_file("dcgm.conf");
	if (file) {
		fstat(fileno(file), &st);
		fclose(file);
	}
	bool changed = st.st_ino != seen->st_ino || memcmp(&st.st_mtim, &seen->st_mtim, sizeof st.st_mtim) != 0;
	*seen = st;
	return changed;
}

void conf_read(struct conf *out)
{
	memset(out, 0, sizeof *out);
	out->driver = true;
	FILE *node = open_file("node.conf"), *engine = open_file("dcgm.conf");
	if (node)
		parse_node(node, out);
	if (!node || !engine || !parse(engine, out))
		out->engine = ENGINE_DOWN;
	if (node)
		fclose(node);
	if (engine)
		fclose(engine);
}

const struct call *conf_find(const struct calls *calls, const char *name)
{
	for (int i = 0; i < calls->count; i++)
		if (!strcmp(calls->list[i].name, name))
			return &calls->list[i];
	return NULL;
}
