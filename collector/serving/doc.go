// Package serving asks serving engines how they are: it scrapes the metrics of each
// endpoint of each replica, and puts what the engine says into the vocabulary of
// the root package serving, whatever the engine calls it.
//
// What an engine's metrics are called is data: a table of dialects, to which a site
// may add its own. Metrics are told apart by their whole names. A metric that is
// absent, or there without a sample, and a value that is no number or below zero,
// are unknown; unknown is never zero.
//
// What an endpoint sends is hostile text: it is bounded in bytes, lines and series.
// Who is asked decides nothing here: no redirect leads to another host, and no proxy
// of the environment is used.
package serving
