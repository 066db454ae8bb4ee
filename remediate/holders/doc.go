// Package holders finds out which processes have a GPU open, in the only place
// that does not lie about it: the open files of every process. A pod that is
// Terminating, or gone from the API, may still have processes that hold a GPU.
//
// A scan is one look and changes nothing. What cannot be looked into makes the
// answer unknown, and unknown is never free; a process that ends meanwhile holds
// nothing. Only what answers at once is read: a process that hangs in the driver
// can hold locks on which a look at its memory map or command line would hang as
// well. So a mapping that is left of a closed file is not seen.
//
// Process names are chosen by whoever runs the process. They are cleaned, and are
// for people to read.
package holders
