/* Row remapping, which two ways of asking have in common. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "session.h"

struct rows {
	unsigned correctable, uncorrectable, pending, failed;
};

nvmlReturn_t rows_of(const struct gpu *gpu, struct rows *out);

#endif
