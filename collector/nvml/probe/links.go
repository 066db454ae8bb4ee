package probe

import (
	"slices"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// end is a link's far end, which does not change while the library is open.
type end struct {
	kind nvlink.Remote
	peer *nvlink.Address
}

// links asks for the state of every NVLink, for what it counts, and for the
// fabric behind it.
func (q *query) links() {
	r := nvlink.Reading{Links: q.everyLink()}
	for _, l := range r.Links {
		r.Generation = max(r.Generation, q.generation(l.Index))
		if r.Generation > 0 {
			break // a link that is down may not tell
		}
	}
	for i := range r.Links {
		q.askLink(&r.Links[i], r.Generation)
	}
	q.fabric(&r)
	q.platform(&r)
	q.found.NVLink = &r
}

// everyLink numbers the GPU's links. A GPU without the field has none; nil is
// not known.
func (q *query) everyLink() []nvlink.Link {
	values := []driver.FieldValue{{FieldId: driver.FI_DEV_NVLINK_LINK_COUNT}}
	ret := q.call("nvmlDeviceGetFieldValues", func() driver.Return { return q.dev.GetFieldValues(values) })
	if ret == driver.SUCCESS {
		ret = driver.Return(values[0].NvmlReturn)
	}
	if notSupported(ret) || ret == driver.ERROR_INVALID_ARGUMENT {
		return []nvlink.Link{}
	}
	if !q.told(nvml.ValueLinks, ret) {
		return nil
	}
	n, ok := number(values[0])
	if !ok || n < 0 || n > nvlink.MaxLinks {
		q.fail(nvml.ValueLinks, nvml.Impossible)
		return nil
	}
	links := make([]nvlink.Link, n)
	for i := range links {
		links[i].Index = i
	}
	return links
}

// generation asks which NVLink a link is; 0 is not told.
func (q *query) generation(link int) int {
	var version uint32
	if q.call("nvmlDeviceGetNvLinkVersion", func() (ret driver.Return) {
		version, ret = q.dev.GetNvLinkVersion(link)
		return ret
	}) != driver.SUCCESS {
		return 0
	}
	return nvlink.Generation(version)
}

// askLink asks for one link: its fields in one call, and what no field tells.
func (q *query) askLink(l *nvlink.Link, generation int) {
	q.linkFields(l, slices.Concat(linkFields, linkCounters(generation)))
	if l.State == nvlink.StateUnknown {
		q.linkState(l)
	}
	if generation > 0 && generation < 5 && l.Recoveries == nil {
		q.olderCounters(l)
	}
	e, known := q.gpu.ends[l.Index]
	if !known {
		e = q.farEnd(l.Index)
	}
	l.Remote, l.Peer = e.kind, e.peer
}

// linkFields asks for many fields of one link in one call.
func (q *query) linkFields(l *nvlink.Link, table []linkField) {
	values := make([]driver.FieldValue, len(table))
	for i, f := range table {
		values[i] = driver.FieldValue{FieldId: f.id, ScopeId: uint32(l.Index)}
	}
	if ret := q.call("nvmlDeviceGetFieldValues", func() driver.Return { return q.dev.GetFieldValues(values) }); !q.told(nvml.ValueLinks, ret) {
		return
	}
	for i, f := range table {
		v := values[i]
		q.lib.fields.add(field{id: f.id}.name(), time.Duration(v.LatencyUsec)*time.Microsecond)
		switch ret := driver.Return(v.NvmlReturn); {
		case ret == driver.ERROR_GPU_IS_LOST:
			q.lose("nvmlDeviceGetFieldValues")
			return
		case ret == driver.ERROR_INVALID_ARGUMENT || !q.told(nvml.ValueLinks, ret):
			continue
		}
		n, ok := number(v)
		q.possible(nvml.ValueLinks, ok && f.put(l, n))
	}
}

// linkState asks a driver that does not have the field.
func (q *query) linkState(l *nvlink.Link) {
	var active driver.EnableState
	if q.call("nvmlDeviceGetNvLinkState", func() (ret driver.Return) {
		active, ret = q.dev.GetNvLinkState(l.Index)
		return ret
	}) != driver.SUCCESS {
		return
	}
	l.State = nvlink.Inactive
	if active == driver.FEATURE_ENABLED {
		l.State = nvlink.Active
	}
}

// olderCounters asks a driver that has the counters before NVLink 5, and not as
// fields.
func (q *query) olderCounters(l *nvlink.Link) {
	for _, c := range []struct {
		counter driver.NvLinkErrorCounter
		to      **uint64
	}{
		{driver.NVLINK_ERROR_DL_REPLAY, &l.Replays},
		{driver.NVLINK_ERROR_DL_RECOVERY, &l.Recoveries},
		{driver.NVLINK_ERROR_DL_CRC_FLIT, &l.CRC},
	} {
		var n uint64
		if q.call("nvmlDeviceGetNvLinkErrorCounter", func() (ret driver.Return) {
			n, ret = q.dev.GetNvLinkErrorCounter(l.Index, c.counter)
			return ret
		}) == driver.SUCCESS {
			q.possible(nvml.ValueLinks, count(c.to, int64(n)))
		}
	}
}

// farEnd asks what a link leads to, and keeps it once it is told. A switch of a
// rack has no address on this host.
func (q *query) farEnd(link int) (e end) {
	var kind driver.IntNvLinkDeviceType
	if q.call("nvmlDeviceGetNvLinkRemoteDeviceType", func() (ret driver.Return) {
		kind, ret = q.dev.GetNvLinkRemoteDeviceType(link)
		return ret
	}) == driver.SUCCESS {
		e.kind = map[driver.IntNvLinkDeviceType]nvlink.Remote{
			driver.NVLINK_DEVICE_TYPE_GPU: nvlink.RemoteGPU, driver.NVLINK_DEVICE_TYPE_SWITCH: nvlink.RemoteSwitch,
			driver.NVLINK_DEVICE_TYPE_IBMNPU: nvlink.RemoteCPU,
		}[kind]
	}
	var pci driver.PciInfo
	if q.call("nvmlDeviceGetNvLinkRemotePciInfo", func() (ret driver.Return) {
		pci, ret = q.dev.GetNvLinkRemotePciInfo(link)
		return ret
	}) == driver.SUCCESS && pci.Bus <= 0xff && pci.Device <= 0x1f && pci.Domain|pci.Bus|pci.Device != 0 {
		e.peer = &nvlink.Address{Domain: pci.Domain, Bus: uint8(pci.Bus), Device: uint8(pci.Device)}
	}
	if e.kind != nvlink.RemoteUnknown {
		q.gpu.ends[link] = e
	}
	return e
}
