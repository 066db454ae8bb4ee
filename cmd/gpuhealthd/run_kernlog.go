package main

import (
	"log/slog"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// kernelLog is how the kernel is heard. The journal's child is not started where
// nothing could come of it.
func kernelLog(cfg config.Config, log *slog.Logger) kernlog.Config {
	k := kernlog.Config{Source: cfg.KernelLog.Source, Path: cfg.KernelLog.Path, BootIDPath: cfg.KernelLog.BootIDPath,
		AcceptUserspace: cfg.KernelLog.AcceptUserspace, Log: log}
	if len(cfg.KernelLog.JournalPaths) == 0 {
		return k
	}
	k.Journal = func(followKernel bool) kernlog.Journal {
		return journal.New(journal.Config{Paths: cfg.KernelLog.JournalPaths, Kernel: followKernel,
			Units: units(cfg.OtherLogs), Kata: cfg.KernelLog.Kata})
	}
	return k
}

// units are the services that are heard.
func units(cfg config.OtherLogs) (names []string) {
	for name, heard := range map[string]bool{services.FabricManager: cfg.FabricManager, services.IMEX: cfg.IMEX, services.Persistenced: cfg.Persistenced} {
		if heard {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
