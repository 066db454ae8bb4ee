// Package ecc knows the memory of a GPU: what its error reports amount to.
//
// It is pure: reports in, a state out. It imports the standard library only
// and knows neither where a report came from nor what will be done about it.
package ecc
