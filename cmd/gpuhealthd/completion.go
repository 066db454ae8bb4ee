package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// complete has a shell offer names as a flag's value, and as each of several that have
// commas between them.
func complete(cmd *cobra.Command, flag string, names func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		before, last := "", begun
		if i := strings.LastIndexByte(begun, ',') + 1; i > 0 {
			before, last = begun[:i], begun[i:]
		}
		var offered []string
		for _, name := range names() {
			if strings.HasPrefix(name, last) {
				offered = append(offered, before+name)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag that does not exist, or twice
	}
}
