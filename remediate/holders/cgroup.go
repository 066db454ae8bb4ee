package holders

import (
	"regexp"
	"strings"
)

// podElement is the part of a cgroup's path that the kubelet names after a pod:
// pod<uid> with the cgroupfs driver, kubepods-<class>-pod<uid>.slice with the
// systemd driver, which writes an underscore for each hyphen. The UID of a static
// pod is a hash without hyphens.
var podElement = regexp.MustCompile(
	`^(?:[a-z0-9-]+-)?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$`)

// podUID reads the UID of a pod from /proc/PID/cgroup, of version 1 or 2 and of any
// container runtime: what these add lies below the pod's own element. Of pods
// inside pods it is the outermost, which is the one that our API server knows.
// Outside pods it is empty.
func podUID(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		_, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "/")
		for element := range strings.SplitSeq(path, "/") {
			if m := podElement.FindStringSubmatch(element); m != nil {
				return strings.ReplaceAll(m[1], "_", "-")
			}
		}
	}
	return ""
}
