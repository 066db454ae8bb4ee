package diag

import (
	"fmt"
	"strings"
)

// ending is what an exit status of dcgmi's says of the diagnosis.
type ending uint8

const (
	ended   ending = iota + 1 // it ran to its end
	failing                   // it ran, and a test failed
	busy                      // the engine or the GPUs are in use
	stopped                   // somebody ended it
	never                     // it could not run
)

// exit is one exit status. dcgmi's is the low byte of a dcgmReturn_t, a negative
// number, so 256 less than that number without its sign.
type exit struct {
	status int
	ending ending
	words  string
}

// exitIsolate says that an error of severity isolate was found.
const exitIsolate = 205

// exits are those that say something of a diagnosis: dcgm_structs.h of 4.6,
// observed where facts are given in docs/diagnostics.md.
var exits = [...]exit{
	{0, ended, "done"},
	{226, failing, "a test failed"}, // -30 NVVS_ERROR
	{exitIsolate, failing, "a test failed with an error to isolate the GPU"}, // -51 NVVS_ISOLATE_ERROR
	{222, busy, "the engine or a GPU is in use"},                             // -34 IN_USE
	{217, busy, "another diagnosis is running"},                              // -39 DIAG_ALREADY_RUNNING
	{203, stopped, "the diagnosis was killed"},                               // -53 NVVS_KILLED
	{190, stopped, "the diagnosis was stopped"},                              // -66 DIAG_STOPPED
	{254, never, "dcgmi did not take its arguments"},                         // the command line's exception
	{250, never, "DCGM does not support these GPUs or this driver"},          // -6 NOT_SUPPORTED
	{245, never, "the engine did not answer in time"},                        // -11 TIMEOUT
	{244, never, "dcgmi and engine are of different versions"},               // -12 VER_MISMATCH
	{238, never, "a GPU is lost"},                                            // -18 GPU_IS_LOST
	{237, never, "a GPU requires a reset"},                                   // -19 RESET_REQUIRED
	{235, never, "no connection to the engine"},                              // -21 CONNECTION_NOT_VALID
	{233, never, "the GPUs are of different kinds"},                          // -23 GROUP_INCOMPATIBLE
	{221, never, "no GPU is left to test"},                                   // -35 GROUP_IS_EMPTY
	{216, never, "the diagnosis wrote what the engine cannot read"},          // -40 DIAG_BAD_JSON
	{215, never, "the engine could not start the diagnosis"},                 // -41 DIAG_BAD_LAUNCH
	{204, never, "the diagnosis program nvvs is not installed"},              // -52 NVVS_BINARY_NOT_FOUND
	{202, never, "the engine is paused"},                                     // -54 PAUSED
	{199, never, "the driver does not answer the engine"},                    // -57 NVML_DRIVER_TIMEOUT
	{198, never, "a test that was asked for is not installed"},               // -58 NVVS_NO_AVAILABLE_TEST
	{189, never, "the GPUs are detached"},                                    // -67 GPUS_DETACHED
	{-1, stopped, "dcgmi was killed"},
}

// exitOf reads an exit status; one that is not in the table could not run.
func exitOf(status int) exit {
	for _, e := range exits {
		if e.status == status {
			return e
		}
	}
	return exit{status, never, "dcgmi failed"}
}

func (e exit) String() string { return fmt.Sprintf("%s (exit status %d)", e.words, e.status) }

// inUse are the words of -34 and -39, for versions that exit otherwise.
var inUse = [...]string{"resource is in use", "return: (-34)", "return: (-39)", "diag instance is already running"}

// Busy tells whether nothing was run because the engine, or a GPU, was in use.
// That is worth waiting for, and says nothing of the hardware.
func (r Report) Busy() bool {
	if len(r.Runs) > 0 {
		return false
	}
	said := strings.ToLower(r.Runtime + "\n" + r.Said)
	for _, words := range inUse {
		if strings.Contains(said, words) {
			return true
		}
	}
	return exitOf(r.Exit).ending == busy
}
