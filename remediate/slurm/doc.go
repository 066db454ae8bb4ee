// Package slurm makes Slurm's controller say what the plan wants: the node is
// drained with a reason that tells the incident, and resumed when that is over.
//
// The reason is the mark. A drain with a reason of ours is ours; every other one
// is an administrator's, and is neither resumed nor given another reason, whoever
// drained first. Whose it is, remediate.Claim decides. To resume a node takes the
// reason away with the drain, so that an administrator's resume is known by the
// plan's memory: it had seen the node drained in this boot. The one resume that is
// nobody's answer to us is Slurm's own, after a reboot.
//
// Jobs are never ended here: a drained node finishes what it runs. Everything is
// done by scontrol, one call at a time, each with a deadline; nothing is retried
// here. A controller that is away, a node that it does not know and a right that
// is missing are errors, and the caller applies its present wish again later.
package slurm
