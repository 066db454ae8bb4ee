// Package explain says what a number, a class of fault or a whole line of a
// kernel log means, what the agent does about it and why, and how a person
// confirms it.
//
// It knows nothing of its own about a fault: the meaning is the catalogue's
// (xidparse), the reading of a line the parser's and the decoders' (xidparse,
// nvlink), and what is done the judge's (fault). Its own are only the commands
// that confirm, the documents to read, and the words on faults of work, of which no
// catalogue knows. It asks no driver and reads no file.
package explain
