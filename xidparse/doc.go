// Package xidparse turns kernel log text into events of the NVIDIA driver, and
// knows what their numbers mean.
//
// It knows the text of the driver and nothing else: no NVML, no judgement, and
// of time only what a line says. Cut removes a transport's prefix and says who
// wrote the line, and when by the line's own word; Ours tells cheaply whether the driver could have, Parse gives the Event (Stuck
// those that take several lines), and the Event's methods read what the text adds to the number. Lookup and
// LookupSXid are the catalogue, generated from catalog.csv and sxid.csv by
// tools/catalog.
//
// The number and the PCI address are taken only from the anchored head of a
// message, because everything behind it may be written by a user: a process
// may be called anything.
//
// A line that is not the driver's costs no allocation, and the strings of an
// event are parts of the line.
package xidparse
