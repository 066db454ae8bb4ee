package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

func statusCommand() *cobra.Command {
	var daemon besideDaemon
	var out output
	cmd := &cobra.Command{
		Use: "status", Short: "Show what the running daemon holds of this node", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := daemon.address(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			s, body, err := askStatus(ctx, url)
			if err != nil {
				return err
			}
			if out == outputJSON {
				_, err = cmd.OutOrStdout().Write(body)
				return err
			}
			return printStatus(cmd.OutOrStdout(), s, styleFor(cmd.OutOrStdout()))
		},
	}
	daemon.flags(cmd)
	out.flags(cmd)
	return cmd
}

// askStatus asks the daemon at url; body is its answer as it came.
func askStatus(ctx context.Context, url string) (s agent.Status, body []byte, err error) {
	url = strings.TrimSuffix(url, "/") + "/api/v1/status"
	body, err = fetch(ctx, url)
	if err != nil {
		return s, nil, err
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return s, nil, fmt.Errorf("%s does not answer as a gpuhealthd: %w", url, err)
	}
	if s.At.IsZero() || !s.Mode.Valid() {
		return s, nil, fmt.Errorf("%s does not answer as a gpuhealthd: no time or mode in its answer", url)
	}
	return s, body, nil
}

// withScheme completes an address that somebody wrote as HOST:PORT.
func withScheme(url string) string {
	if url == "" || strings.Contains(url, "://") {
		return url
	}
	return "http://" + url
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	url = withScheme(url)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		why := replay.Printable(string(body[:min(len(body), 200)]))
		return nil, fmt.Errorf("%s answered %s: %s", url, resp.Status, strings.TrimSpace(why))
	}
	return body, nil
}
