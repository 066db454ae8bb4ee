// Package apiserver connects the actuators to the Kubernetes API server: small
// clients of the groups that are used, in protobuf, each with its own modest rate
// limit, and every request told to an observer.
//
// The typed clientset would bring every group there is into memory.
package apiserver
