package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
)

// eventSource is where incidents and their bundles are read.
type eventSource interface {
	list(ctx context.Context) ([]evidence.Summary, error)
	raw(ctx context.Context, id string) ([]byte, error)
}

// eventsFrom says where to read: from a folder where that is given, else from the
// daemon, else from the folder that its configuration says.
type eventsFrom struct {
	daemon besideDaemon
	dir    string
}

func (f *eventsFrom) flags(cmd *cobra.Command) {
	f.daemon.flags(cmd)
	cmd.Flags().StringVar(&f.dir, "dir", "", "read this folder of bundles and ask no daemon (evidence, beside the daemon's state.path)")
}

// ask does something with the source that is there.
func (f *eventsFrom) ask(cmd *cobra.Command, do func(context.Context, eventSource) error) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
	defer cancel()
	if f.dir != "" {
		return do(ctx, folder{evidence.NewDir(f.dir, evidence.Limits{})})
	}
	cfg, url, err := f.daemon.settings(cmd)
	if err != nil {
		return err
	}
	if url == "" {
		return do(ctx, folder{evidence.NewDir(evidenceBeside(cfg.State.Path), evidence.Limits{})})
	}
	err = do(ctx, running{url})
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return err
	}
	dir := evidenceBeside(cfg.State.Path)
	if cmd.Flags().Changed("url") || !evidence.NewDir(dir, evidence.Limits{}).Exists() {
		return fmt.Errorf("%w; where the daemon does not run, name the folder of its evidence with --dir", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "No daemon answers at %s; this is from %s.\n", url, dir)
	return do(ctx, folder{evidence.NewDir(dir, evidence.Limits{})})
}

// folder is the bundles as files.
type folder struct{ dir *evidence.Dir }

func (f folder) list(context.Context) ([]evidence.Summary, error) {
	if !f.dir.Exists() {
		return nil, exitError{2, fmt.Errorf("%s is not a folder that can be read", f.dir)}
	}
	return f.dir.List()
}

func (f folder) raw(_ context.Context, id string) ([]byte, error) { return f.dir.Raw(id) }

// running asks the daemon over HTTP.
type running struct{ url string }

func (d running) list(ctx context.Context) (list []evidence.Summary, err error) {
	body, err := fetch(ctx, d.url+"/api/v1/events")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("%s does not answer as a gpuhealthd: %w", d.url, err)
	}
	return list, nil
}

func (d running) raw(ctx context.Context, id string) ([]byte, error) {
	return fetch(ctx, d.url+"/api/v1/events/"+url.PathEscape(id))
}
