package host

import "time"

// Config says how the host is reached, and how long things may take there.
type Config struct {
	// Prefix is put before every program: empty on the host itself, in a pod such as
	// nsenter -t 1 -m -p --, or chroot /host.
	Prefix []string
	// SMI is nvidia-smi, by the host's path.
	SMI string
	// Devices is what the path of every device file of the driver begins with.
	Devices string
	// QueryLimit is how long nvidia-smi may take for anything but a reset, ResetLimit
	// how long for that.
	QueryLimit, ResetLimit time.Duration
	// Patience is how long those who still hold a GPU are given to let go of it, once
	// all have been asked to.
	Patience time.Duration
	// Reboot is the program that reboots the host, without Prefix.
	Reboot []string
}

// Default is the host itself, with the driver in its usual place.
func Default() Config {
	return Config{
		SMI:        "nvidia-smi",
		Devices:    "/dev/nvidia",
		QueryLimit: time.Minute, // a GPU whose GSP does not answer takes up to 45 s for a call
		ResetLimit: 5 * time.Minute,
		Patience:   15 * time.Second,
		Reboot:     []string{"systemctl", "reboot"}, // systemd-logind's way: it lets the kubelet shut down in order
	}
}

// argv is a program and its arguments, on the host.
func (c Config) argv(program ...string) []string {
	return append(append([]string{}, c.Prefix...), program...)
}
