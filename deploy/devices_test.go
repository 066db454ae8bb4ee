package deploy

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// devices are fenced one by one, in the node's own pool.
func devices(t *testing.T, f *fleet) {
	ctx := t.Context()
	make := func(change func(*resourcev1.DeviceTaintRule)) error {
		r := fence("gpuhealthd-own.gpu-0", own)
		change(r)
		_, err := f.thief.ResourceV1().DeviceTaintRules().Create(ctx, r, metav1.CreateOptions{})
		return err
	}
	for name, change := range map[string]func(*resourcev1.DeviceTaintRule){
		"another node's pool": func(r *resourcev1.DeviceTaintRule) { *r.Spec.DeviceSelector.Pool = other },
		"no pool":             func(r *resourcev1.DeviceTaintRule) { r.Spec.DeviceSelector.Pool = nil },
		"every device of the pool": func(r *resourcev1.DeviceTaintRule) {
			r.Spec.DeviceSelector.Device = nil
		},
		"another driver":           func(r *resourcev1.DeviceTaintRule) { *r.Spec.DeviceSelector.Driver = "net.example.com" },
		"every driver of the pool": func(r *resourcev1.DeviceTaintRule) { r.Spec.DeviceSelector.Driver = nil },
		"another driver, no pool": func(r *resourcev1.DeviceTaintRule) {
			*r.Spec.DeviceSelector = resourcev1.DeviceTaintSelector{Driver: r.Spec.DeviceSelector.Driver}
		},
		"every device there is":           func(r *resourcev1.DeviceTaintRule) { r.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{} },
		"no selector":                     func(r *resourcev1.DeviceTaintRule) { r.Spec.DeviceSelector = nil },
		"a taint that evicts":             func(r *resourcev1.DeviceTaintRule) { r.Spec.Taint.Effect = resourcev1.DeviceTaintEffectNoExecute },
		"somebody else's taint":           func(r *resourcev1.DeviceTaintRule) { r.Spec.Taint.Key = "example.com/sick" },
		"the name of another node's rule": func(r *resourcev1.DeviceTaintRule) { r.Name = "gpuhealthd-other.gpu-0" },
		"the name of another device's":    func(r *resourcev1.DeviceTaintRule) { r.Name = "gpuhealthd-own.gpu-1" },
		"a name that is not ours":         func(r *resourcev1.DeviceTaintRule) { r.Name = "maintenance" },
		"a rule that cannot go":           func(r *resourcev1.DeviceTaintRule) { r.Finalizers = []string{"example.com/stay"} },
	} {
		f.denied(name, func() error { return make(change) })
	}
	f.denied("a rule by a token of no node", func() error {
		_, err := f.stray.ResourceV1().DeviceTaintRules().Create(ctx, fence("gpuhealthd-own.gpu-0", own), metav1.CreateOptions{})
		return err
	})
	rules := f.admin.ResourceV1().DeviceTaintRules()
	foreign := fence("maintenance", own)
	foreign.Spec.Taint.Key = "example.com/sick"
	for _, r := range []*resourcev1.DeviceTaintRule{fence("gpuhealthd-other.gpu-0", other), foreign} {
		_, err := rules.Create(ctx, r, metav1.CreateOptions{})
		f.must(err)
		f.denied("lift "+r.Name, func() error {
			return f.thief.ResourceV1().DeviceTaintRules().Delete(ctx, r.Name, metav1.DeleteOptions{})
		})
	}
	f.must(make(func(*resourcev1.DeviceTaintRule) {}))
	widen := []byte(`{"spec":{"deviceSelector":{"device":null}}}`)
	f.denied("widen a rule", func() error {
		_, err := f.thief.ResourceV1().DeviceTaintRules().Patch(ctx, "gpuhealthd-own.gpu-0", types.MergePatchType, widen, metav1.PatchOptions{})
		return err
	})
	f.denied("a rule's status", func() error {
		_, err := f.thief.ResourceV1().DeviceTaintRules().Patch(ctx, "gpuhealthd-own.gpu-0", types.MergePatchType, []byte(`{"status":{"conditions":[]}}`), metav1.PatchOptions{}, "status")
		return err
	})
	changed := []byte(`{"spec":{"deviceSelector":{"device":"gpu-1"},"taint":{"effect":"None"}}}`)
	_, err := rules.Patch(ctx, "gpuhealthd-own.gpu-0", types.MergePatchType, changed, metav1.PatchOptions{})
	f.must(err)
	f.must(f.thief.ResourceV1().DeviceTaintRules().Delete(ctx, "gpuhealthd-own.gpu-0", metav1.DeleteOptions{}))
}

// fence is the rule that an agent makes for one device of a node.
func fence(name, node string) *resourcev1.DeviceTaintRule {
	driver, device := "gpu.nvidia.com", "gpu-0"
	return &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: &driver, Pool: &node, Device: &device},
			Taint:          resourcev1.DeviceTaint{Key: "gpuhealthd.io/quarantine", Value: "xid-48", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		},
	}
}
