package holders

import (
	"path/filepath"
	"strings"
)

// Channels looks at every process once and finds those that have a channel of IMEX
// open, /dev/nvidia-caps-imex-channels/channelN: they share memory with other nodes of
// the NVLink domain. Their GPUs are the channels' names; those of the options do not
// count.
func Channels(options Options) Found {
	s := scan{Options: options, names: func(file string) (string, bool) { return channel(options.Dev, file) }}
	return s.all()
}

// channel names the channel that an open file is.
func channel(dev, file string) (name string, ok bool) {
	folder, base := filepath.Split(strings.TrimSuffix(file, " (deleted)"))
	_, ok = numbered(base, "channel")
	return base, ok && within(folder, dev+"/nvidia-caps-imex-channels")
}
