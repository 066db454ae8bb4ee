package daemontest

import (
	"fmt"
	"os"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

// KmsgVariable is set where a test may write to this machine's own kernel log.
const KmsgVariable = "GPUHEALTHD_TEST_KMSG"

// WriteKmsg writes one line to this machine's kernel log. One descriptor may
// write ten lines in five seconds, so each line has its own; a line without its
// newline would be held back until the next.
func WriteKmsg(line string) error {
	log, err := os.OpenFile(kernlog.DefaultPath, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = fmt.Fprintf(log, "<4>%s\n", line)
	return err
}
