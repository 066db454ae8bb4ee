// Package request has somebody else do a reset or a reboot: by an annotation on our
// Node that asks for it, or by a custom resource that another operator carries out.
//
// A request is made once. That it is about to be made is recorded first, and that
// it was made is recorded after: an agent that comes back goes on waiting for the
// answer, and where the request is gone although it was made it is not made again.
// A request that was answered, or whose deadline has passed, is withdrawn once that
// is written down. One whose agent is only being stopped stays, for the next agent.
//
// A reboot has happened when the Node tells another boot id, and not before,
// whatever the answer is.
package request
