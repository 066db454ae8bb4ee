package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// hostFile is where packages and the DaemonSet put the daemon's configuration.
const hostFile = "/etc/gpuhealthd/config.yaml"

// besideDaemon are the flags of a command that is called beside the daemon: where that
// answers, and by which configuration it runs.
type besideDaemon struct{ url, path string }

func (b *besideDaemon) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.url, "url", "", "where the daemon answers (default http.listen of the configuration, http://127.0.0.1:9878)")
	b.configFlag(cmd)
}

func (b *besideDaemon) configFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.path, "config", hostFile, "the daemon's configuration; where this file is not there, or none is named, the defaults hold")
}

// errNotOurs is the host's configuration that this user may not read.
type errNotOurs struct{ error }

// load reads a daemon's configuration. One that nobody has named need not be there; the
// defaults hold for one that may not be read, with an errNotOurs.
func load(path string, named bool) (config.Config, error) {
	if path == "" {
		return config.Default(), nil
	}
	cfg, err := config.Load(path)
	switch {
	case err == nil:
		return cfg, nil
	case !named && errors.Is(err, fs.ErrNotExist):
		return config.Default(), nil
	case !named && errors.Is(err, fs.ErrPermission):
		return config.Default(), errNotOurs{err}
	}
	return cfg, exitError{2, err}
}

// settings gives the daemon's configuration and where it answers; empty is nowhere. Who
// says where it answers needs no configuration, and one that may not be read is told.
func (b besideDaemon) settings(cmd *cobra.Command) (cfg config.Config, url string, err error) {
	path, named := b.path, cmd.Flags().Changed("config")
	if b.url != "" && !named {
		path = ""
	}
	cfg, err = load(path, named)
	if unread := (errNotOurs{}); errors.As(err, &unread) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%v; every value is taken for the default.\n", unread)
		err = nil
	}
	if url = b.url; url == "" {
		url = cfg.HTTP.URL()
	}
	return cfg, strings.TrimSuffix(url, "/"), err
}

// address is where the daemon answers, which must be somewhere.
func (b besideDaemon) address(cmd *cobra.Command) (string, error) {
	cfg, url, err := b.settings(cmd)
	if err == nil && url == "" {
		err = exitError{2, fmt.Errorf("by %s the daemon answers nowhere that is known: http.listen is %q; say where with --url", b.path, cfg.HTTP.Listen)}
	}
	return url, err
}
