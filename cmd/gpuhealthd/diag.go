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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// diagFlags are what a person asks for.
type diagFlags struct {
	url, config  string
	asked        httpd.DiagRequest
	wait, cancel bool
}

// level is a level of DCGM's that may be asked for.
type level int

// Set reads it.
func (l *level) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 3 {
		return errors.New("it is not 1, 2 or 3")
	}
	*l = level(n)
	return nil
}

func (l *level) String() string { return strconv.Itoa(int(*l)) }

// Type is the word for it in the help.
func (*level) Type() string { return "level" }

func diagCommand() *cobra.Command {
	f := diagFlags{asked: httpd.DiagRequest{Level: 2}}
	cmd := &cobra.Command{
		Use: "diag", Short: "Diagnose idle GPUs with DCGM", Args: cobra.NoArgs,
		Long: `diag asks the running daemon for a DCGM diagnosis, of all GPUs where none is
named. Where no daemon runs it runs dcgmi itself. Either way a GPU that somebody
holds is not diagnosed, and work that comes to one stops the diagnosis. What the
daemon was asked for goes on when this command is interrupted; --cancel ends it.

Exit 0 for a pass, or once the daemon has taken the request and nobody waits; 3
where a GPU has failed, 4 where the answer proves nothing: doubtful, not run,
called off. 1 and 2 as for every command.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			switch {
			case given("gpu") && (len(f.asked.GPUs) == 0 || slices.Contains(f.asked.GPUs, "")):
				return exitError{2, errors.New("--gpu: an empty UUID names no GPU")}
			case f.cancel && (given("gpu") || given("level") || given("wait")):
				return exitError{2, errors.New("--cancel stands alone: it takes back whatever is asked for")}
			}
			return runDiag(cmd, f)
		},
	}
	cmd.Flags().Var((*level)(&f.asked.Level), "level", "1, 2 or 3; 2 takes up to 11 minutes on eight GPUs, 3 up to 35")
	cmd.Flags().StringSliceVar(&f.asked.GPUs, "gpu", nil, "the UUID of a GPU; may be given several times")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for the answer and show it")
	cmd.Flags().BoolVar(&f.cancel, "cancel", false, "take back what the daemon is asked for, and end it where it runs")
	cmd.Flags().StringVar(&f.url, "url", "", "where the daemon answers (default http.listen of the configuration, http://127.0.0.1:9878)")
	cmd.Flags().StringVar(&f.config, "config", hostFile, "the daemon's configuration, if it is there; by it dcgmi is run from here where no daemon runs")
	return cmd
}

func runDiag(cmd *cobra.Command, f diagFlags) error {
	cfg, url, err := besideDaemon{withScheme(f.url), f.config}.settings(cmd)
	if err != nil {
		return err
	}
	switch {
	case f.cancel && url == "":
		return errors.New("by this configuration the daemon has no fixed address: name it with --url")
	case f.cancel:
		return cancelDiag(cmd, url)
	case url == "":
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
	return demand(ctx, http.MethodPost, url, text)
}

// cancelDiag takes back what the daemon is asked for.
func cancelDiag(cmd *cobra.Command, url string) error {
	id, err := demand(cmd.Context(), http.MethodDelete, url, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is cancelled\n", id)
	return err
}

// demand tells the daemon what is wanted of its diagnoses, and gives the ID of the one
// in question.
func demand(ctx context.Context, method, url string, text []byte) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url+"/api/v1/diag", bytes.NewReader(text))
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
	said := strings.TrimSpace(replay.Printable(string(body)))
	switch resp.StatusCode {
	case http.StatusAccepted:
	case http.StatusBadRequest:
		return "", exitError{2, errors.New(said)}
	case http.StatusConflict, http.StatusForbidden:
		return "", errors.New(said)
	default:
		return "", fmt.Errorf("%s answered %s: %s", url, resp.Status, said)
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
