// Package canary asks serving engines what a user would ask: requests of real
// length, streamed, straight to each replica.
//
// A replica's own word, its /health and its metrics, says that the process is
// there. Only an answer says that it serves. A stream that ends without its end
// marker is cut, one that stays open without tokens is frozen, and neither is an
// error that the engine tells.
//
// One request at a time goes to a replica, and so many a minute to all of a node.
// While it is paused, none is sent.
package canary
