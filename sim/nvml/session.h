/* What every call of the library does before it answers. */
#ifndef SIM_SESSION_H
#define SIM_SESSION_H

#include "control.h"

/* With -fvisibility=hidden only NVML's own names are exported. */
#define EXPORT __attribute__((visibility("default")))

/* The real library also exports the first version of each call's name. Callers
 * look it up to learn whether there is the call at all. */
#define ALIAS(old, now, parameters) EXPORT nvmlReturn_t old parameters __attribute__((alias(#now)));

/* A GPU, or a MIG device of it. */
struct nvmlDevice_st {
	int slot;     /* place in the control file */
	int instance; /* place in its MIG layout, -1 for the GPU itself */
};

/* Between open and close, which nest, calls are answered and the device files
 * are held open. */
void session_open(const struct head *head);
bool session_close(void); /* false: it was not open */

/* Does not return while the control file names a hang for this call on this
 * GPU; slot is its place in that file, -1 for a call on no GPU. */
void session_hang(const char *call, int slot);

/* Reads what belongs to no GPU. Between init and shutdown only. */
nvmlReturn_t session_read(struct head *out);

/* The same for a call on no GPU: hangs or fails here if the control file says so. */
nvmlReturn_t session_enter(const char *call, struct head *out);

/* Finds the GPU of a handle and copies it; a GPU that is off the bus answers
 * NVML_ERROR_GPU_IS_LOST. Hangs or fails likewise. */
nvmlReturn_t session_gpu(const char *call, nvmlDevice_t device, struct gpu *out);

/* The same, and tells one of its numbers. */
nvmlReturn_t session_u32(const char *call, nvmlDevice_t device, enum number_id id, unsigned *out);
nvmlReturn_t session_u64(const char *call, nvmlDevice_t device, enum number_id id, unsigned long long *out);

/* The GPUs that were there at init, in the order of the control file. */
unsigned session_count(void);
nvmlDevice_t session_device(unsigned index); /* NULL out of range */

/* A MIG device of a GPU. */
nvmlDevice_t session_instance(nvmlDevice_t device, unsigned instance);

/* Copies text to a caller's buffer, or says that it is too small. */
nvmlReturn_t copy_out(char *out, unsigned length, const char *text);

#endif
