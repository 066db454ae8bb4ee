// Package pods moves the pods that hold a GPU off it, and says who holds which.
//
// Who was given a GPU the kubelet says, by its pod-resources API; who uses one the
// open files of the processes say. A drain takes the pods inside its radius out of
// rotation, waits for each until its engine runs nothing, for a while, evicts it by the
// eviction API, so that disruption budgets count, and goes on until no pod has the GPU
// and no process of any pod holds it: a pod that is Terminating, or gone from the API,
// may still do. A restart does the same to the pods that it names, and ends when their
// eviction is granted or refused: another may have to go before. Either may be run again at any time, and goes on where an earlier run has
// stopped; who is still there when it is called off comes back into rotation.
//
// Left alone are static pods, our own pod, and the DaemonSets that look after a
// node: they were given no GPU and would come back at once. With the processes
// outside pods they are the services of a node, which a drain does not end and a
// reset has to deal with.
//
// What cannot be told is an answer of its own and never counts as free.
package pods
