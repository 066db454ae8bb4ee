// Package serving simulates a serving engine for tests: it speaks the OpenAI API,
// with streams that end in their end marker, queues requests as a real one does, and
// tells of itself by the metrics of a real engine, with what each means there.
//
// An engine may be a decode worker of disaggregated serving: it reads the KV cache of each
// prompt from a prefill engine, by a handle of that one's memory which it gets once. When
// the prefill engine's process is another, or gone, the handle is stale, and stays so for
// the life of the decode engine: requests fail, or are recomputed, slowly.
//
// It is an http.Handler, so that a test can run it in its own process, on synctest's
// clock too; command sim/engine runs it as a process of its own. Its faults are those
// of the field: an engine whose loop is dead while HTTP answers, streams that are cut,
// a rank of several that stands still, metrics that hang. Freezing is not among them:
// SIGSTOP does it.
package serving
