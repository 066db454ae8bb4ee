#include "links.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const switch_words[] = {"off", "on", NULL};
static const char *const state_words[] = {"present", "lost", "gone", NULL};
static const char *const mig_words[] = {"off", "on", "unsupported", NULL};
static const char *const remap_words[] = {"none", "pending", "failed", "unsupported", "unknown", NULL};

static bool take_line_of(char *out, int size, const char *value)
{
	return snprintf(out, size, "%s", value) < size && *value;
}

static bool take_text(char *out, const char *value)
{
	return take_line_of(out, MAX_TEXT, value);
}

static bool take_word(int *out, const char *value, const char *const words[])
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(value, words[i])) {
			*out = i;
			return true;
		}
	return false;
}

static bool take_number(unsigned *out, const char *value)
{
	char *end;
	*out = strtoul(value, &end, 10);
	return isdigit((unsigned char)*value) && !*end;
}

/* Takes a call's number, or the word that stands for one. */
static bool take_call(struct calls *calls, const char *name, const char *value, const char *word, double meaning)
{
	if (calls->count == MAX_CALLS)
		return false;
	struct call *c = &calls->list[calls->count++];
	char *end;
	if (!strcmp(value, word)) {
		c->value = meaning;
		return take_text(c->name, name);
	}
	c->value = strtod(value, &end);
	return take_text(c->name, name) && end != value && !*end && c->value >= 0;
}

static bool is_fault(const char *key)
{
	return !strncmp(key, "hang.", 5) || !strncmp(key, "fail.", 5);
}

static bool take_fault(struct faults *faults, const char *key, const char *value)
{
	return *key == 'h' ? take_call(&faults->hangs, key + 5, value, "forever", FOREVER)
			   : take_call(&faults->fails, key + 5, value, "crash", CRASH);
}

bool parse_pci(const char *text, unsigned *domain, unsigned *bus, unsigned *device)
{
	unsigned function;
	char rest;
	if (sscanf(text, "%x:%x:%x.%x%c", domain, bus, device, &function, &rest) == 4 ||
	    sscanf(text, "%x:%x:%x%c", domain, bus, device, &rest) == 3)
		return true;
	*domain = 0;
	return sscanf(text, "%x:%x.%x%c", bus, device, &function, &rest) == 3;
}

/* Takes "1g.10gb:7 1g.10gb:8": each MIG device's profile and GPU instance. */
static bool take_layout(struct gpu *g, const char *value)
{
	int used;
	for (g->instances = 0; *value; g->instances++) {
		if (g->instances == MAX_INSTANCES)
			return false;
		struct instance *i = &g->instance[g->instances];
		if (sscanf(value, "%23[^: ]:%u %n", i->profile, &i->gi, &used) != 2)
			return false;
		i->ci = 0;
		value += used;
	}
	return true;
}

/* Takes "7 9": the GPU instances that show no activity; the others show the GPU's. */
static bool take_idle(struct gpu *g, const char *value)
{
	unsigned gi;
	int used;
	for (g->idle_instances = 0; *value; value += used) {
		if (sscanf(value, "%u %n", &gi, &used) != 1 || gi >= 8 * sizeof g->idle_instances)
			return false;
		g->idle_instances |= 1u << gi;
	}
	return true;
}

/* Takes "GPU CODE", or "GPU CODE GI CI" of a MIG device. */
static bool take_event(struct head *h, const char *sequence, const char *value)
{
	char rest;
	if (h->events == MAX_EVENTS)
		return false;
	struct event *e = &h->event[h->events++];
	e->gi = e->ci = 0xffffffff; /* NVML's word for none */
	int read = sscanf(value, "%u %u %u %u%c", &e->gpu, &e->code, &e->gi, &e->ci, &rest);
	return take_number(&e->sequence, sequence) && (read == 2 || read == 4);
}

static bool take_gpu(struct gpu *g, const char *key, const char *value)
{
	if (is_fault(key))
		return take_fault(&g->faults, key, value);
	if (!strcmp(key, "uuid"))
		return take_text(g->uuid, value);
	if (!strcmp(key, "serial"))
		return take_text(g->serial, value);
	if (!strcmp(key, "part"))
		return take_text(g->part, value);
	if (!strcmp(key, "name"))
		return take_text(g->name, value);
	if (!strncmp(key, "link.", 5))
		return links_take(g, key, value);
	if (!strcmp(key, "nvlink.switches"))
		return take_text(g->switches, value);
	if (!strcmp(key, "fabric.cluster"))
		return take_text(g->cluster, value);
	if (!strcmp(key, "platform.chassis"))
		return take_text(g->chassis, value);
	if (!strcmp(key, "pci"))
		return parse_pci(value, &g->domain, &g->bus, &g->device);
	if (!strcmp(key, "minor"))
		return take_number(&g->minor, value);
	if (!strcmp(key, "mig"))
		return take_word(&g->mig, value, mig_words);
	if (!strcmp(key, "remap"))
		return take_word(&g->remap, value, remap_words);
	if (!strcmp(key, "mig.layout"))
		return take_layout(g, value);
	if (!strcmp(key, "mig.idle"))
		return take_idle(g, value);
	enum number_id id = number_find(key);
	if (id != NUMBERS)
		return number_parse(&g->numbers[id], value);
	char text[MAX_TEXT];
	if (!strcmp(key, "reset")) /* nvidia-smi acts on it; here it only has to be there */
		return take_text(text, value);
	int reboot; /* sim/node acts on it; here it only has to be a state */
	if (!strcmp(key, "after-reboot"))
		return take_word(&reboot, value, state_words);
	return !strcmp(key, "state") && take_word(&g->state, value, state_words);
}

static bool take_head(struct head *h, const char *key, const char *value)
{
	if (is_fault(key))
		return take_fault(&h->faults, key, value);
	if (!strncmp(key, "xid.", 4))
		return take_event(h, key + 4, value);
	if (!strcmp(key, "driver"))
		return take_text(h->driver, value);
	if (!strcmp(key, "nvml"))
		return take_text(h->nvml, value);
	if (!strcmp(key, "devices"))
		return take_line_of(h->devices, MAX_PATH, value);
	return !strcmp(key, "mismatch") && take_word(&h->mismatch, value, switch_words);
}

/* Cuts blanks at both ends, in place. */
static char *trim(char *s)
{
	s += strspn(s, " \t\r\n");
	size_t n = strlen(s);
	while (n > 0 && isspace((unsigned char)s[n - 1]))
		s[--n] = 0;
	return s;
}

/* Where the lines go that are read now. */
enum section { SECTION_NODE, SECTION_EVERY, SECTION_GPU };

/* Takes "[gpu *]", or "[gpu N]", where N only counts up. */
static bool take_header(struct node *n, enum section *section, const char *line)
{
	unsigned index;
	char rest;
	if (!strcmp(line, "[gpu *]") && *section == SECTION_NODE) {
		*section = SECTION_EVERY;
		return true;
	}
	if (sscanf(line, "[gpu %u]%c", &index, &rest) != 1 || index != (unsigned)n->head.count || index == MAX_GPUS)
		return false;
	*section = SECTION_GPU;
	n->gpus[n->head.count++] = n->every;
	return true;
}

/* Takes "key = value". */
static bool take_setting(struct node *n, enum section section, char *line)
{
	char *equals = strchr(line, '=');
	if (!equals)
		return false;
	*equals = 0;
	char *key = trim(line), *value = trim(equals + 1);
	switch (section) {
	case SECTION_NODE: return take_head(&n->head, key, value);
	case SECTION_EVERY: return take_gpu(&n->every, key, value);
	default: return take_gpu(&n->gpus[n->head.count - 1], key, value);
	}
}

static bool whole(const struct node *n, const char *path)
{
	if (!*n->head.driver || !*n->head.nvml) {
		fprintf(stderr, "sim: %s: driver and nvml must be set\n", path);
		return false;
	}
	for (int i = 0; i < n->head.count; i++)
		if (!*n->gpus[i].uuid) {
			fprintf(stderr, "sim: %s: gpu %d has no uuid\n", path, i);
			return false;
		}
	return true;
}

bool parse_node(FILE *file, const char *path, struct node *out)
{
	char buffer[MAX_PATH + MAX_TEXT];
	enum section section = SECTION_NODE;
	memset(out, 0, sizeof *out);
	for (int number = 1; fgets(buffer, sizeof buffer, file); number++) {
		char copy[sizeof buffer], *line = trim(buffer);
		if (!*line || *line == '#')
			continue;
		strcpy(copy, line);
		if (*line == '[' ? !take_header(out, &section, line) : !take_setting(out, section, line)) {
			fprintf(stderr, "sim: %s:%d: not understood: %s\n", path, number, copy);
			return false;
		}
	}
	return whole(out, path);
}
