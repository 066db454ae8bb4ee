/* What every call of the library does before it answers. */
#ifndef SIM_SESSION_H
#define SIM_SESSION_H

#include "control.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include "nvml.h"

/* With -fvisibility=hidden only NVML's own names are exported. */
#define EXPORT __attribute__((visibility("default")))

/* Between open and close, which nest, calls are answered. */
void session_open(const struct node *node);
bool session_close(void); /* false: it was not open */

/* Does not return while the control file names a hang for this call on this
 * GPU; slot is its place in that file, -1 for a call on no GPU. */
void session_hang(const char *call, int slot);

/* Reads the node into out. Between init and shutdown only. */
nvmlReturn_t session_read(struct node *out);

/* The same for a call on no GPU: hangs here if the control file says so. */
nvmlReturn_t session_enter(const char *call, struct node *out);

/* Finds the GPU of a handle and copies it; a GPU that is off the bus answers
 * NVML_ERROR_GPU_IS_LOST. Hangs likewise. */
nvmlReturn_t session_gpu(const char *call, nvmlDevice_t device, struct gpu *out);

/* The GPUs that were there at init, in the order of the control file. */
unsigned session_count(void);
nvmlDevice_t session_device(unsigned index); /* NULL out of range */

/* The place of a GPU in the control file. */
int session_slot(nvmlDevice_t device);

/* Copies text to a caller's buffer, or says that it is too small. */
nvmlReturn_t copy_out(char *out, unsigned length, const char *text);

#endif
