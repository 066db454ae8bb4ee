package dra

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func TestADeviceIsFencedAndLifted(t *testing.T) {
	b := newBench(t, "fence-a", shared.Cluster(t).Admin())
	b.slice("fence-a-1", Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0", "type=gpu"), dev("gpu-1", "uuid=GPU-1", "type=gpu"))
	other := newBench(t, "fence-b", shared.Cluster(t).Admin())
	other.slice("fence-b-1", Driver, other.node, 1, dev("gpu-1", "uuid=GPU-9"))
	other.fence(of("GPU-9"))

	got := b.fence(of("GPU-1"))
	if len(got) != 1 || got[0].Why != "" || got[0].Gone || len(got[0].Rules) != 1 {
		t.Fatalf("%+v", got)
	}
	b.want("gpu-1=xid-48")
	if calls := b.take(); calls != "list devicetaintrules 200, list resourceslices 200, create devicetaintrules 201" {
		t.Error(calls)
	}
	if again := b.fence(relied(got[0])); again[0].Gone || again[0].Changed != "" || b.take() != "list devicetaintrules 200" {
		t.Errorf("%+v", again)
	}
	// An agent that died before it had written down that its rule stands finds it.
	if again := b.fence(of("GPU-1")); again[0].Rules[0] != got[0].Rules[0] {
		t.Errorf("%+v", again)
	}
	b.fence()
	b.want()
	other.want("gpu-1=xid-48")
}

func TestARuleThatAnAdministratorDeletes(t *testing.T) {
	b := newBench(t, "fence-gone", shared.Cluster(t).Admin())
	b.slice("fence-gone-1", Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0"))
	stands := relied(b.fence(of("GPU-0"))[0])
	if err := b.admin.ResourceV1().DeviceTaintRules().Delete(t.Context(), stands.Rules[0], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := b.fence(stands); !got[0].Gone {
		t.Errorf("%+v", got)
	}
	b.want()
}

// A GPU in MIG mode is its instances, which may be of its present layout or of any.
func TestMIG(t *testing.T) {
	b := newBench(t, "fence-mig", shared.Cluster(t).Admin())
	b.slice("fence-mig-1", Driver, b.node, 3,
		dev("gpu-0-mig-1g10gb-19-0", "uuid=MIG-0", "parentUUID=GPU-0", "type=mig"),
		dev("gpu-0-mig-1g10gb-19-1", "uuid=MIG-1", "parentUUID=GPU-0", "type=mig"),
		dev("gpu-1", "gpu.nvidia.com/uuid=GPU-1", "type=gpu"),
		dev("gpu-1-mig-2g20gb-14-0", "parentUUID=GPU-1", "type=mig"))
	b.slice("fence-mig-old", Driver, b.node, 2, dev("gpu-0", "uuid=GPU-0"))
	b.slice("fence-mig-net", "net.example.com", b.node, 9, dev("nic-0", "uuid=GPU-0"))
	gi := 7
	instance := of("GPU-0")
	instance.Instance, instance.MIG = &gi, []string{"MIG-1"}
	b.fence(instance)
	b.want("gpu-0-mig-1g10gb-19-1=xid-48")
	// Which device the instance is nobody knows: all of the GPU.
	instance.MIG = nil
	b.fence(instance)
	b.want("gpu-0-mig-1g10gb-19-0=xid-48", "gpu-0-mig-1g10gb-19-1=xid-48")
	b.fence(of("GPU-1"))
	b.want("gpu-1-mig-2g20gb-14-0=xid-48", "gpu-1=xid-48")
	b.fence()
	b.want()
}

// What cannot be fenced is told, and is no error.
func TestWhatCannotBeFenced(t *testing.T) {
	cluster := shared.Cluster(t)
	b := newBench(t, "fence-none", cluster.Admin())
	b.slice("fence-none-1", Driver, "rack-1", 1, dev("gpu-0", "uuid=GPU-0"))
	nobody := types.NamespacedName{Namespace: "default", Name: "default"}
	if err := cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}")); err != nil {
		t.Fatal(err)
	}
	old := cluster.Admin()
	old.Wrap(func(next http.RoundTripper) http.RoundTripper { return absent{next, 3} })
	for name, c := range map[string]struct {
		by   *bench
		gpu  string
		want string
	}{
		"a GPU that no slice has":    {b, "GPU-7", "no ResourceSlice of driver gpu.nvidia.com on node fence-none has the device"},
		"a pool of several nodes":    {b, "GPU-0", "pool rack-1 does not have the name of node fence-none"},
		"no right":                   {newBench(t, "fence-none", cluster.ServiceAccount(t, nobody, "")), "GPU-0", "forbidden"},
		"a cluster without the kind": {newBench(t, "fence-none", old), "GPU-0", "could not find the requested resource"},
	} {
		if got := c.by.fence(of(c.gpu)); len(got) != 1 || !strings.Contains(got[0].Why, c.want) || len(got[0].Rules) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	b.want()
}

// absent has the paths of some versions answered as by a cluster that is older.
type absent struct {
	next     http.RoundTripper
	versions int
}

// RoundTrip leads what is not there to where nothing is.
func (a absent) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, version := range []string{"/v1/", "/v1beta2/", "/v1alpha3/"}[:a.versions] {
		if at, rest, found := strings.Cut(r.URL.Path, version+"devicetaintrules"); found {
			r = r.Clone(r.Context())
			r.URL.Path = at + "/v0/devicetaintrules" + rest
		}
	}
	return a.next.RoundTrip(r)
}

// An older cluster has the kind in an older version.
func TestOlderVersions(t *testing.T) {
	for hidden, want := range map[int]string{1: "v1beta2", 2: "v1alpha3"} {
		old := shared.Cluster(t).Admin()
		old.Wrap(func(next http.RoundTripper) http.RoundTripper { return absent{next, hidden} })
		b := newBench(t, "fence-"+want, old)
		b.slice(b.node, Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0"))
		b.fence(of("GPU-0"))
		b.want("gpu-0=xid-48")
		b.fence()
		b.want()
		if b.Fencer.rules != want {
			t.Errorf("version %s, want %s", b.Fencer.rules, want)
		}
	}
}

// An API server that fails is asked again, and nothing is removed meanwhile.
func TestAFailureIsNoAnswer(t *testing.T) {
	cluster := shared.Cluster(t)
	b := newBench(t, "fence-fail", cluster.Admin())
	b.slice("fence-fail-1", Driver, b.node, 1, dev("gpu-0", "uuid=GPU-0"), dev("gpu-1", "uuid=GPU-1"))
	stands := relied(b.fence(of("GPU-0"))[0])
	broken := cluster.Admin()
	broken.Wrap(func(next http.RoundTripper) http.RoundTripper { return breaks{next} })
	c := newBench(t, "fence-fail", broken)
	if all, err := c.Fence(t.Context(), []remediate.Fence{of("GPU-1")}); err == nil {
		t.Errorf("%+v", all)
	}
	b.want("gpu-0=xid-48")
	b.fence(stands, of("GPU-1"))
	b.want("gpu-0=xid-48", "gpu-1=xid-48")
}

// breaks answers no list of slices.
type breaks struct{ next http.RoundTripper }

// RoundTrip fails for slices alone.
func (b breaks) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "resourceslices") {
		return nil, errBroken
	}
	return b.next.RoundTrip(r)
}
