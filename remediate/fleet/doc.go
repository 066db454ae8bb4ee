// Package fleet asks a node's group for leave: it finds the facts that the guards
// decide by, and has them decided one node at a time.
//
// The group is the NVLink domain of the node, else what a label of the site says,
// else the cluster. Its nodes are listed when something is asked for and at no other
// time, by label selectors and without anything but their metadata; nothing is
// watched. What one agent cannot know, another writes on its Node: the state label,
// and the mark that says by whose leave.
//
// One Lease for each group is the mutex. Whoever has it counts, is given leave or
// not, and gives it back once the leave is seen on the Node. An agent that died with
// it holds up its group for LeaseTime. Nobody's clock is compared with another's:
// that a Lease is forgotten is seen by its not having changed for that long.
//
// A diagnosis by the clock takes nobody out of service: its leave is a label of its
// own. Where nodes share their power across groups, their rack has a Lease too, and
// both are had before anybody is counted.
//
// A restart that others of a serving group are likely to want at the same time takes its
// turn there: under a Lease of that group, which tells whose turn was last, and by
// whether its pods are ready.
//
// What cannot be asked holds. No error is returned for it: it is the answer.
package fleet
