package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// manCommand writes what packages install as manual. The date of the pages is
// $SOURCE_DATE_EPOCH, or today.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write a manual page for each command into a folder (packages are built with this)", Args: cobra.ExactArgs(1), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := manDate(os.Getenv("SOURCE_DATE_EPOCH"))
			if err == nil {
				err = os.MkdirAll(args[0], 0o755)
			}
			if err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			return writePages(cmd.Root(), args[0], date)
		},
	}
}

func manDate(epoch string) (string, error) {
	now := time.Now()
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		now = time.Unix(seconds, 0)
	}
	return now.UTC().Format(time.DateOnly), nil
}

// writePages writes a command's page and those of the commands below it.
func writePages(cmd *cobra.Command, folder, date string) error {
	if err := os.WriteFile(filepath.Join(folder, pageName(cmd)+".8"), []byte(page(cmd, date)), 0o644); err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writePages(sub, folder, date); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }
