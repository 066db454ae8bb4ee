// Package execact has a site's own two programs take the node out of service and
// give it back, for schedulers that the agent does not know.
//
// Both get one line of JSON on stdin, a Request. Exit status 0 is done, 77 is "not
// permitted" (EX_NOPERM of sysexits.h), and any other is a failure. Nothing is
// retried here: the caller applies its present wish again later, so that both
// programs may be run any number of times for the same incident. quarantine is run
// again when the node is held for another incident, or its fault or GPUs change.
//
// What was done is in a file, written before quarantine is run and removed after
// release was done: a node is given back exactly when the agent, of this life or an
// earlier one, may have taken it. Nobody is asked what the node is at present, so
// that an administrator's own steps are the programs' to respect.
package execact
