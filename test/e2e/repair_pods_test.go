package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// run starts a real process of a name that has a file open, in the cgroup of the pod
// of a UID, or with "" outside of any.
func (w *workshop) run(name, file, pod string) *process.Process {
	w.t.Helper()
	open, err := os.OpenFile(file, os.O_RDWR, 0)
	must(w.t, err)
	defer open.Close()
	home, err := os.MkdirTemp(w.dir, "run-")
	must(w.t, err)
	program, err := exec.LookPath("sleep")
	must(w.t, err)
	// The kernel names a process after the file that is executed.
	must(w.t, os.Symlink(program, filepath.Join(home, name)))
	cmd := exec.Command(filepath.Join(home, name), "1000")
	cmd.Stdin = open
	p, err := process.Start(filepath.Join(home, "log"), cmd)
	must(w.t, err)
	w.t.Cleanup(p.Kill)
	w.list(p.PID(), pod)
	return p
}

// list puts a process into the host's process file system: itself in all but its
// cgroup.
func (w *workshop) list(pid int, pod string) {
	w.t.Helper()
	folder, cgroup := filepath.Join(w.dir, fmt.Sprint(pid)), "0::/system.slice/some.service\n"
	if pod != "" {
		cgroup = "0::/kubepods.slice/pod" + pod + "/1\n"
	}
	must(w.t, os.Mkdir(folder, 0o755))
	for _, name := range []string{"comm", "fd", "task", "stat"} {
		must(w.t, os.Symlink(fmt.Sprintf("/proc/%d/%s", pid, name), filepath.Join(folder, name)))
	}
	must(w.t, os.WriteFile(filepath.Join(folder, "cgroup"), []byte(cgroup), 0o600))
	must(w.t, os.Rename(folder, filepath.Join(w.proc(), fmt.Sprint(pid))))
}

// hold starts a process that has a GPU open; pod is as in run.
func (w *workshop) hold(name string, gpu int, pod string) *process.Process {
	w.t.Helper()
	return w.run(name, w.d.Sim.Device(fmt.Sprint(gpu)), pod)
}

// inRotation is the label of pods that get requests.
const inRotation = "gpuhealthd.io/in-rotation"

// serve lets a pod serve on a GPU, with one process.
func (h *repairHost) serve(name string, gpu int) (*corev1.Pod, *process.Process) {
	h.t.Helper()
	pod := h.idle(name, gpu)
	return pod, h.hold("python3", gpu, string(pod.UID))
}

// idle lets a pod run that was given a GPU, and has no process on it.
func (h *repairHost) idle(name string, gpu int) *corev1.Pod {
	h.t.Helper()
	pods := h.admin.CoreV1().Pods(h.name)
	pod, err := pods.Create(h.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "serve", inRotation: "yes"}},
		Spec:       corev1.PodSpec{NodeName: h.name, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}}},
	}, metav1.CreateOptions{})
	must(h.t, err)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	pod, err = pods.UpdateStatus(h.t.Context(), pod, metav1.UpdateOptions{})
	must(h.t, err)
	h.kubelet.Give(h.name, name, "nvidia.com/gpu", h.GPU(gpu).UUID)
	return pod
}

// pod returns a pod, nil where there is none.
func (h *repairHost) pod(name string) *corev1.Pod {
	h.t.Helper()
	pod, err := h.admin.CoreV1().Pods(h.name).Get(h.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(h.t, err)
	return pod
}

// untouched fails the test unless a pod is as it was created.
func (h *repairHost) untouched(pod *corev1.Pod) {
	h.t.Helper()
	if now := h.pod(pod.Name); now == nil || now.ResourceVersion != pod.ResourceVersion {
		h.t.Errorf("pod %s was touched: %+v", pod.Name, now)
	}
}

// endsPods lets the pods of the node end once they are told to; their processes live
// on.
func (h *repairHost) endsPods() { h.kubelet.EndPods(h.t, h.admin, h.name, func(*corev1.Pod) {}) }

// budget lets so many of the serving pods be evicted.
func (h *repairHost) budget(disruptions int32) {
	h.t.Helper()
	budgets := h.admin.PolicyV1().PodDisruptionBudgets(h.name)
	budget, err := budgets.Get(h.t.Context(), "serve", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		none := intstr.FromInt32(0)
		budget, err = budgets.Create(h.t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "serve"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "serve"}}},
		}, metav1.CreateOptions{})
	}
	must(h.t, err)
	// There is nobody who would count.
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: 1, ExpectedPods: 1}
	_, err = budgets.UpdateStatus(h.t.Context(), budget, metav1.UpdateOptions{})
	must(h.t, err)
}
