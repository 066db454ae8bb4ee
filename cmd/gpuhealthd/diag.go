package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// diagFlags are what a person asks for.
type diagFlags struct {
	url, config string
	asked       httpd.DiagRequest
	wait        bool
}

func diagCommand() *cobra.Command {
	var f diagFlags
	cmd := &cobra.Command{
		Use: "diag", Short: "Diagnose idle GPUs with DCGM", Args: cobra.NoArgs,
		Long: `diag asks the running daemon for a DCGM diagnosis, of all GPUs where none is
named. Where no daemon runs it runs dcgmi itself. Either way a GPU that somebody
holds is not diagnosed, and work that comes to one stops the diagnosis.

Exit 0 for a pass, or once the daemon has taken the request and nobody waits; 3
where a GPU has failed, 4 where the answer proves nothing: doubtful, not run,
called off. 1 and 2 as for every command.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiag(cmd, f) },
	}
	cmd.Flags().IntVar(&f.asked.Level, "level", 2, "1, 2 or 3; 2 takes up to 11 minutes on eight GPUs, 3 up to 35")
	cmd.Flags().StringSliceVar(&f.asked.GPUs, "gpu", nil, "the UUID of a GPU; may be given several times")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for the answer and show it")
	cmd.Flags().StringVar(&f.url, "url", "", "where the daemon answers (default http.listen of the configuration, http://127.0.0.1:9878)")
	cmd.Flags().StringVar(&f.config, "config", hostFile, "the daemon's configuration, if it is there; by it dcgmi is run from here where no daemon runs")
	return cmd
}

func runDiag(cmd *cobra.Command, f diagFlags) error {
	if f.asked.Level < 1 || f.asked.Level > 3 {
		return exitError{2, fmt.Errorf("level %d is not 1, 2 or 3", f.asked.Level)}
	}
	cfg, url, err := besideDaemon{f.url, f.config}.settings(cmd)
	if err != nil {
		return err
	}
	if url == "" {
		return diagAlone(cmd, cfg, f)
	}
	id, err := askDiag(cmd.Context(), url, f.asked)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial" && (cmd.Flags().Changed("config") || f.url == ""):
		return diagAlone(cmd, cfg, f)
	case err != nil:
		return err
	case !f.wait:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "asked for, as %s; gpuhealthd status shows how far it is\n", id)
		return err
	}
	return awaitDiag(cmd, url, id)
}

// askDiag asks the daemon for a diagnosis.
func askDiag(ctx context.Context, url string, asked httpd.DiagRequest) (id string, err error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/diag", bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask the daemon: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("the daemon does not diagnose: %s", strings.TrimSpace(replay.Printable(string(body))))
	}
	var accepted httpd.DiagAccepted
	if err := json.Unmarshal(body, &accepted); err != nil || accepted.ID == "" {
		return "", fmt.Errorf("%s does not answer as a gpuhealthd", url)
	}
	return accepted.ID, nil
}

// exits gives the exit status of an answer.
func exits(c remediate.Check, why string) error {
	switch c {
	case remediate.CheckPassed:
		return nil
	case remediate.CheckFailed:
		return exitError{3, errors.New("a GPU has failed the diagnosis")}
	}
	return exitError{4, fmt.Errorf("the diagnosis proves nothing: %s", strings.TrimSuffix(fmt.Sprintf("%s: %s", c, replay.Printable(why)), ": "))}
}
