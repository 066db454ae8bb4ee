#include "control.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const switch_words[] = {"off", "on", NULL};
static const char *const state_words[] = {"present", "lost", "gone", NULL};
static const char *const mig_words[] = {"off", "on", "unsupported", NULL};
static const char *const remap_words[] = {"none", "pending", "failed", "unsupported", NULL};

static bool take_text(char *out, const char *value)
{
	return snprintf(out, MAX_TEXT, "%s", value) < MAX_TEXT && *value;
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

static bool take_recovery(int *out, const char *value)
{
	unsigned n;
	if (!strcmp(value, "unsupported")) {
		*out = RECOVERY_UNSUPPORTED;
		return true;
	}
	if (!take_number(&n, value))
		return false;
	*out = n;
	return true;
}

static bool take_hang(struct hangs *hangs, const char *call, const char *value)
{
	if (hangs->count == MAX_HANGS)
		return false;
	struct hang *h = &hangs->list[hangs->count++];
	char *end;
	if (!strcmp(value, "forever")) {
		h->seconds = FOREVER;
		return take_text(h->call, call);
	}
	h->seconds = strtod(value, &end);
	return take_text(h->call, call) && end != value && !*end && h->seconds >= 0;
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

static bool take_gpu(struct gpu *g, const char *key, const char *value)
{
	if (!strncmp(key, "hang.", 5))
		return take_hang(&g->hangs, key + 5, value);
	if (!strcmp(key, "uuid"))
		return take_text(g->uuid, value);
	if (!strcmp(key, "serial"))
		return take_text(g->serial, value);
	if (!strcmp(key, "name"))
		return take_text(g->name, value);
	if (!strcmp(key, "pci"))
		return parse_pci(value, &g->domain, &g->bus, &g->device);
	if (!strcmp(key, "minor"))
		return take_number(&g->minor, value);
	if (!strcmp(key, "mig"))
		return take_word(&g->mig, value, mig_words);
	if (!strcmp(key, "remap"))
		return take_word(&g->remap, value, remap_words);
	if (!strcmp(key, "recovery"))
		return take_recovery(&g->recovery, value);
	int reboot; /* sim/node acts on it; here it only has to be a state */
	if (!strcmp(key, "after-reboot"))
		return take_word(&reboot, value, state_words);
	return !strcmp(key, "state") && take_word(&g->state, value, state_words);
}

static bool take_node(struct node *n, const char *key, const char *value)
{
	if (!strncmp(key, "hang.", 5))
		return take_hang(&n->hangs, key + 5, value);
	if (!strcmp(key, "driver"))
		return take_text(n->driver, value);
	if (!strcmp(key, "nvml"))
		return take_text(n->nvml, value);
	return !strcmp(key, "mismatch") && take_word(&n->mismatch, value, switch_words);
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

/* Takes "[gpu N]", where N only counts up, or "key = value". */
static bool take_line(struct node *n, char *line)
{
	unsigned index;
	char rest;
	if (*line == '[') {
		bool next = sscanf(line, "[gpu %u]%c", &index, &rest) == 1 && index < MAX_GPUS &&
			    index == (unsigned)n->count;
		n->count += next;
		return next;
	}
	char *equals = strchr(line, '=');
	if (!equals)
		return false;
	*equals = 0;
	char *key = trim(line), *value = trim(equals + 1);
	if (n->count == 0)
		return take_node(n, key, value);
	return take_gpu(&n->gpus[n->count - 1], key, value);
}

static bool whole(const struct node *n, const char *path)
{
	if (!*n->driver || !*n->nvml) {
		fprintf(stderr, "sim: %s: driver and nvml must be set\n", path);
		return false;
	}
	for (int i = 0; i < n->count; i++)
		if (!*n->gpus[i].uuid) {
			fprintf(stderr, "sim: %s: gpu %d has no uuid\n", path, i);
			return false;
		}
	return true;
}

bool parse_node(FILE *file, const char *path, struct node *out)
{
	char buffer[512];
	memset(out, 0, sizeof *out);
	for (int number = 1; fgets(buffer, sizeof buffer, file); number++) {
		char copy[sizeof buffer], *line = trim(buffer);
		if (!*line || *line == '#')
			continue;
		strcpy(copy, line);
		if (!take_line(out, line)) {
			fprintf(stderr, "sim: %s:%d: not understood: %s\n", path, number, copy);
			return false;
		}
	}
	return whole(out, path);
}
