package probe

import (
	"sync"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// symbols knows which functions the open library has. Calling one that it lacks
// would end the process.
type symbols struct {
	lib driver.ExtendedInterface

	mu    sync.Mutex
	known map[string]bool
}

func newSymbols(lib driver.Interface) *symbols {
	return &symbols{lib: lib.Extensions(), known: map[string]bool{}}
}

func (s *symbols) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	has, asked := s.known[name]
	if !asked {
		has = s.lib.LookupSymbol(name) == nil
		s.known[name] = has
	}
	return has
}
