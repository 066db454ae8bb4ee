// Package guard decides what a node may do to itself, given what happens to the
// others: a thousand agents together must never do more harm than the fault.
//
// It is pure: facts and time are arguments, and the answer is a list of Holds,
// each with why and what would end it; an empty list lets the action pass. A fact
// that is not known holds. What never asks is the cordon for a hard fault, which
// only counts, and nothing here can keep a node from serving again: a release is
// at most put off, by Ramp.
//
// The guards: Quiet and Rate know this node alone; Budget, Outbreak, Capacity, Ramp
// and Schedule know its group, Power its rack.
package guard
