// Package serving simulates a serving engine for tests: it speaks the OpenAI API,
// with streams that end in their end marker, queues requests as a real one does, and
// tells of itself by the metrics of a real engine, with what each means there.
//
// It is an http.Handler, so that a test can run it in its own process, on synctest's
// clock too; command sim/engine runs it as a process of its own. Its faults are those
// of the field: an engine whose loop is dead while HTTP answers, streams that are cut,
// a rank of several that stands still, metrics that hang. Freezing is not among them:
// SIGSTOP does it.
package serving
