package probe

import (
	"context"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// conditions are the policies that are listened for.
func conditions() []driver.PolicyCondition {
	return []driver.PolicyCondition{
		driver.DbePolicy, driver.PCIePolicy, driver.MaxRtPgPolicy, driver.ThermalPolicy,
		driver.NvlinkPolicy, driver.XidPolicy, driver.PowerPolicy,
	}
}

// listen subscribes to policy violations, once, as soon as there is a GPU. A
// policy that nobody has set is set first: one that reports and does nothing.
func (s *session) listen(ctx context.Context) error {
	if s.listens || len(s.gpus) == 0 {
		return nil
	}
	s.listens = true
	if failed := s.calls.do("dcgmPolicySet", s.setPolicies); failed != nil {
		return s.failed(failed)
	}
	var violations <-chan driver.PolicyViolation
	failed := s.calls.do("dcgmPolicyRegister", func() (err error) {
		// Not to be cancelled: to unsubscribe while the library is being closed
		// would call what is not there any more.
		ctx := context.WithoutCancel(ctx)
		violations, err = driver.WatchPolicyViolationsForGroup(ctx, driver.GroupAllGPUs(), conditions()...)
		return err
	})
	if failed != nil {
		return s.failed(failed)
	}
	go func() {
		for v := range violations {
			s.say(dcgm.ViolationReport(s.uuids.violation(v)))
		}
	}()
	return nil
}

// setPolicies adds what is missing to the engine's policies and leaves what is
// there as it is.
func (s *session) setPolicies() error {
	status, err := driver.GetPolicyForGroup(driver.GroupAllGPUs())
	if err != nil { // none was ever set
		status = &driver.PolicyStatus{}
	}
	var configs []driver.PolicyConfig
	missing := false
	for _, condition := range conditions() {
		threshold, set := status.Conditions[condition]
		if !set && condition == driver.PowerPolicy && s.limit == 0 {
			continue
		}
		missing = missing || !set
		configs = append(configs, policy(condition, threshold, s.limit))
	}
	if !missing {
		return nil
	}
	configs[0].Action, configs[0].Validation = &status.Action, &status.Validation
	return driver.SetPolicyForGroup(driver.GroupAllGPUs(), configs...)
}

// powerMargin above the highest limit of a GPU is a violation. go-dcgm's default
// of 250 W is less than what these GPUs need at work.
const powerMargin = 1.2

// policy gives a condition the threshold it has, or our own.
func policy(condition driver.PolicyCondition, threshold any, limit float64) driver.PolicyConfig {
	config := driver.PolicyConfig{Condition: condition}
	value, set := threshold.(uint32)
	switch {
	case condition == driver.PowerPolicy && !set:
		watts := uint32(limit * powerMargin)
		config.MaxPower = &watts
	case !set: // go-dcgm's: 10 pages, 100 degrees
	case condition == driver.PowerPolicy:
		config.MaxPower = &value
	case condition == driver.ThermalPolicy:
		config.MaxTemperature = &value
	case condition == driver.MaxRtPgPolicy:
		config.MaxRetiredPages = &value
	}
	return config
}

// violation puts one in our words.
func (u *uuids) violation(v driver.PolicyViolation) dcgm.Violation {
	out := dcgm.Violation{Entity: u.entity(driver.FE_GPU, v.GPU), At: v.Timestamp.UTC()}
	switch data := v.Data.(type) {
	case driver.DbePolicyCondition:
		out.Condition, out.Value = dcgm.DoubleBit, int(data.NumErrors)
	case driver.PciPolicyCondition:
		out.Condition, out.Value = dcgm.PCIe, int(data.ReplayCounter)
	case driver.RetiredPagesPolicyCondition:
		out.Condition, out.Value = dcgm.RetiredPages, int(data.SbePages+data.DbePages)
	case driver.ThermalPolicyCondition:
		out.Condition, out.Value = dcgm.Thermal, int(data.ThermalViolation)
	case driver.PowerPolicyCondition:
		out.Condition, out.Value = dcgm.Power, int(data.PowerViolation)
	case driver.NvlinkPolicyCondition:
		out.Condition, out.Value, out.Field = dcgm.NVLink, int(data.Counter), int(data.FieldId)
	case driver.XidPolicyCondition:
		out.Condition, out.Value = dcgm.XIDPolicy, int(data.ErrNum)
	}
	return out
}
