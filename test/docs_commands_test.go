package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// daemonCall is a call of the daemon's binary in code: its words, of which the
// second may be an argument, and its flags.
var daemonCall = regexp.MustCompile(`(?:^|[ /(])gpuhealthd((?: [a-z]+){1,2})((?: --?[a-z-]+)*)`)

// daemonUse is a subcommand and a flag that it is shown with, or none.
type daemonUse struct{ command, flag string }

func TestCommandsInDocumentsExist(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "gpuhealthd")
	build := exec.Command("go", "build", "-o", binary, module+"/cmd/gpuhealthd")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, output)
	}
	uses := daemonUses(documents(t))
	if len(uses) == 0 {
		t.Fatal("no document names a command")
	}
	for use, where := range uses {
		help, err := helpOf(binary, strings.Fields(use.command))
		if err != nil {
			t.Errorf("%s: %v", where, err)
		} else if use.flag != "" && !strings.Contains(help, " "+use.flag+" ") {
			t.Errorf("%s: gpuhealthd %s has no flag %s", where, use.command, use.flag)
		}
	}
}

// daemonUses collects the uses in all documents, and where one of each stands.
func daemonUses(documents []document) map[daemonUse]string {
	uses := map[daemonUse]string{}
	for _, d := range documents {
		for _, line := range d.code {
			line = strings.ReplaceAll(line, "helm install gpuhealthd", "") // a release's name
			for _, found := range daemonCall.FindAllStringSubmatch(line, -1) {
				command := strings.TrimSpace(found[1])
				where := fmt.Sprintf("%s: %q", d.path, line)
				uses[daemonUse{command: command}] = where
				for _, flag := range strings.Fields(found[2]) {
					uses[daemonUse{command, flag}] = where
				}
			}
		}
	}
	return uses
}

// helpOf asks the binary about a command. A word that is no subcommand is an
// argument where the command has no subcommands.
func helpOf(binary string, words []string) (string, error) {
	output, err := exec.Command(binary, append(words, "--help")...).CombinedOutput()
	help := string(output)
	if err != nil {
		return "", fmt.Errorf("gpuhealthd %s --help: %w: %s", strings.Join(words, " "), err, help)
	}
	usage := "Usage:\n  gpuhealthd " + words[0]
	if strings.Contains(help, "Available Commands:") {
		usage = "Usage:\n  gpuhealthd " + strings.Join(words, " ")
	}
	if !strings.Contains(help, usage) {
		return "", fmt.Errorf("gpuhealthd has no command %q", strings.Join(words, " "))
	}
	return help, nil
}
