// Package replay feeds saved kernel logs to the same parser, judge and plan as
// the daemon's, changes nothing, and shows what would be done.
//
// It reads no saved position, runs no deadline and assumes no outcome: what it
// shows is the first rung. Several files are read as one log of one node, one
// after the other.
package replay
