package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/collector/pci"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	judged "github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func runCommand() *cobra.Command {
	var path string
	var dry bool
	cmd := &cobra.Command{
		Use: "run", Short: "Run the daemon", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg := config.Default()
			var err error
			if path != "" {
				if cfg, err = config.Load(path); err != nil {
					return exitError{2, err}
				}
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			if dry {
				return dryRun(ctx, cfg)
			}
			return run(ctx, cfg)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "configuration file; without one the defaults hold")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "hear, judge and plan, print what would be done, and do nothing; nothing is remembered")
	return cmd
}

// run wires the daemon together and works until ctx is done.
func run(ctx context.Context, cfg config.Config) error {
	log := newLog(os.Stderr, slog.Level(cfg.Log.Level))
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	metrics := agent.NewMetrics(reg)
	var a *agent.Agent
	opts, err := options(cfg, log, metrics, func() *agent.Agent { return a })
	if err != nil {
		return err
	}
	if a, err = agent.New(opts); err != nil {
		return err
	}
	a.Register(reg)
	log.Info("start", "version", version, "mode", cfg.Mode, "actuator", cfg.Actuator)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopServing, err := serve(cfg, a, reg, log, cancel)
	if err != nil {
		return err
	}
	defer stopServing()
	go notify(ctx, a, log)
	if err := a.Run(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	log.Info("stop")
	return nil
}

// newLog makes the log of the whole process: what client-go says by itself goes there too.
func newLog(to io.Writer, level slog.Level) *slog.Logger {
	log := slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level}))
	klog.SetSlogLogger(log)
	return log
}

func buildInfo() prometheus.Collector {
	b := thisBuild()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "gpuhealthd", Name: "build_info",
		Help:        "1, with the version of this binary.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go}}, func() float64 { return 1 })
}

// options turns the configuration into the agent's parts. a gives the agent,
// once it runs.
func options(cfg config.Config, log *slog.Logger, metrics *agent.Metrics, a func() *agent.Agent) (agent.Options, error) {
	cfg.Node, _ = nodeName(cfg.Node) // empty where it cannot be known
	cfg.Repair.Proc = hostProc(cfg.Repair.Proc)
	opts := agent.Options{
		Log: log, Metrics: metrics,
		Policy: cfg.Policy(),
		Judge: fault.Config{CleanPolls: cfg.Contain.CleanPolls, Expect: cfg.NVML.Expect, Fresh: 2 * time.Duration(cfg.NVML.Period), Slowdown: time.Duration(cfg.NVML.Slowdown), Switches: cfg.NVML.LinkSwitches,
			Links:        cfg.NVML.LinkTrend.Limits(),
			SwitchActs:   cfg.Contain.RackSwitch == config.RackCordon,
			RestartStale: cfg.Serving.RestartStalePeers,
			Rollout:      fault.Rollout{Settle: time.Duration(cfg.Serving.Disaggregated.Rollout.Settle), Limit: time.Duration(cfg.Serving.Disaggregated.Rollout.Limit)},
			Serving:      judged.Config{Stall: time.Duration(cfg.Serving.Stall), WarmUp: time.Duration(cfg.Serving.WarmUp), Period: time.Duration(cfg.Serving.Period), Poll: time.Duration(cfg.NVML.Period)}},
		Kernel:    kernelLog(cfg, log),
		StatePath: cfg.State.Path,
		Grace:     time.Duration(cfg.NVML.Grace),
		Version:   version,
		Name:      cfg.Node,
		Missing:   func() []agent.MissingProgram { return missing(cfg) },
	}
	for _, m := range missing(cfg) {
		log.Warn("a program is not here", "setting", m.Setting, "why", m.Why)
	}
	if cfg.Evidence.Keep > 0 {
		opts.Evidence = bundles(cfg)
	}
	if !cfg.NVML.Enabled {
		opts.Judge.CleanPolls = 0 // nobody polls: the kernel log has the last word
	} else {
		opts.Driver = nvml.New(nvmlConfig(cfg))
	}
	nvlinkServices(&opts, cfg)
	if cfg.NVML.Enabled && cfg.NVML.BusPath != "" {
		opts.Bus = func() ([]pci.Device, error) { return pci.Scan(cfg.NVML.BusPath) }
		opts.Slots = slots(log)
	}
	if d := cfg.DCGM; d.Enabled {
		engine := dcgm.Config{Address: d.Address, Embedded: d.Embedded, Profiling: d.Profiling,
			Period: time.Duration(d.Period), Deadline: time.Duration(d.Deadline)}
		lock := beside(cfg.State.Path, "dcgm")
		if d.Embedded && lock != "" && os.MkdirAll(lock, 0o700) == nil {
			engine.Lock = lock // an embedded engine has the driver open, and may get stuck in it
		}
		opts.Engine = dcgm.New(engine)
	}
	api, err := actuate(&opts, cfg)
	if err != nil {
		return opts, err
	}
	asked := &replicas{}
	if err := guards(&opts, cfg, api, asked.turns); err != nil {
		return opts, err
	}
	return opts, repairs(&opts, cfg, log, api, asked, a)
}

// nvmlConfig says how the driver is asked.
func nvmlConfig(cfg config.Config) nvml.Config {
	return nvml.Config{Period: time.Duration(cfg.NVML.Period), SlowPeriod: time.Duration(cfg.NVML.SlowPeriod), Deadline: time.Duration(cfg.NVML.Deadline),
		Lock: beside(cfg.State.Path, ""), LibraryPaths: cfg.NVML.LibraryPaths}
}

// beside is a path in the folder of a store; empty where nothing is stored.
func beside(store, name string) string {
	if store == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(store), name)
}

// bundles is where evidence lies.
func bundles(cfg config.Config) *evidence.Dir {
	return evidence.NewDir(evidenceBeside(cfg.State.Path), evidence.Limits{Keep: cfg.Evidence.Keep, MaxBytes: int64(cfg.Evidence.MaxBytes)})
}

// evidenceBeside is the folder of the bundles beside a store.
func evidenceBeside(store string) string { return beside(store, "evidence") }

// slots are read once: a board moves only while the host is off.
func slots(log *slog.Logger) map[xidparse.PCI]string {
	found, err := pci.Slots(pci.SlotRoot)
	if err != nil {
		log.Debug("physical slots are not known", "error", err)
	}
	return found
}

func nodeName(configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	if name := os.Getenv("NODE_NAME"); name != "" {
		return name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("node name: not configured, and %w", err)
	}
	return name, nil
}

// serve answers over HTTP until the function that it returns is called. A
// listener that fails later ends the daemon.
func serve(all config.Config, a *agent.Agent, reg *prometheus.Registry, log *slog.Logger, fail context.CancelCauseFunc) (func(), error) {
	cfg := all.HTTP
	if cfg.Listen == "" {
		return func() {}, nil
	}
	handler := httpd.Handler(a, bundles(all), reg, version)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	flags := &web.FlagConfig{WebListenAddresses: &[]string{cfg.Listen}, WebSystemdSocket: new(bool), WebConfigFile: &cfg.WebConfig}
	go func() {
		if err := web.ListenAndServe(server, flags, log); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("listen on %s: %w", cfg.Listen, err))
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			log.Warn("stop serving", "error", err)
		}
	}, nil
}

// notify tells systemd that the daemon is ready, and then that it is alive, for
// as long as its core turns.
func notify(ctx context.Context, a *agent.Agent, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		log.Warn("tell systemd", "error", err)
	}
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every == 0 {
		return
	}
	tick := time.NewTicker(every / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
			return
		case <-tick.C:
			if a.Alive() == nil {
				_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
			}
		}
	}
}
