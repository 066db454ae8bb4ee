// Package dra fences single devices where GPUs are given out by dynamic resource
// allocation: a DeviceTaintRule for each, which keeps new work off the device and
// leaves what runs there, and the rest of the node, alone.
//
// Which device a GPU is its driver says in ResourceSlices, by UUID. They are listed
// when a fence is wanted and at no other time; nothing is watched. A rule is named
// after the node and the device, so that to make it twice is as to make it once, and it
// names driver, pool and device: it cannot reach another node's. Whether a rule is the
// one that was made is seen by all that it says: one that somebody has changed is told,
// and made anew; one of our name that is not for our node is never taken for a fence.
// What another life of the agent has left behind is found by its label, and removed.
//
// No API, no right, no such device: each is an answer, not an error. An error is an
// API server that may answer the next time.
package dra
