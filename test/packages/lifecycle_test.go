package packages

import (
	"strings"
	"testing"
)

const (
	unit   = "gpuhealthd.service"
	config = "etc/gpuhealthd/config.yaml"
	memory = "var/lib/gpuhealthd/state.db"
)

// install installs without a question, as apt-get does in scripts, and keeps what an
// administrator has changed.
func (d debian) install(deb string) string {
	d.t.Helper()
	return d.chroot("dpkg", "--force-confdef", "--force-confold", "-i", d.take(deb))
}

// is fails the test unless systemd says so of the unit: enabled, disabled, masked.
func (d debian) is(want string) {
	d.t.Helper()
	if got := strings.TrimSpace(d.says("systemctl", "is-enabled", unit)); got != want {
		d.t.Errorf("the unit is %q, want %s", got, want)
	}
}

func TestInstallUpgradeRemovePurge(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	if said := d.install(built.get(t, ".deb")); !strings.Contains(said, "systemctl start gpuhealthd") {
		t.Errorf("it does not say how it is started:\n%s", said)
	}
	d.is("enabled")
	if said := d.chroot("gpuhealthd", "version"); !strings.HasPrefix(said, "gpuhealthd "+version+" ") {
		t.Errorf("version says %q", said)
	}
	d.chroot("gpuhealthd", "config", "validate", "/"+config)
	if changed := d.says("dpkg", "--verify", "gpuhealthd"); changed != "" {
		t.Errorf("installed is not what the package has:\n%s", changed)
	}

	write(t, d.path(memory), "what it remembers")
	mine := read(t, d.path(config)) + "# ours\n"
	write(t, d.path(config), mine)
	d.chroot("systemctl", "disable", unit)
	d.install(upgrade(t))
	d.is("disabled")
	if got := read(t, d.path(config)); got != mine {
		t.Errorf("the upgrade changed a configuration that was edited:\n%s", got)
	}
	d.chroot("systemctl", "enable", unit)

	d.chroot("dpkg", "-r", "gpuhealthd")
	d.is("masked")
	if d.exists("usr/bin/gpuhealthd") || !d.exists(config) || !d.exists(memory) {
		t.Errorf("removed; binary %t, configuration %t, memory %t", d.exists("usr/bin/gpuhealthd"), d.exists(config), d.exists(memory))
	}
	if said := d.install(built.get(t, ".deb")); !strings.Contains(said, "does not run yet") {
		t.Errorf("installed again, it does not say how it is started:\n%s", said)
	}
	d.is("enabled")

	d.chroot("dpkg", "-P", "gpuhealthd")
	for _, gone := range []string{"etc/gpuhealthd", "var/lib/gpuhealthd", "etc/systemd/system/" + unit, "etc/systemd/system/multi-user.target.wants/" + unit} {
		if d.exists(gone) {
			t.Errorf("purged, and there is still %s", gone)
		}
	}
	if said := d.chroot("debconf-show", "gpuhealthd"); said != "" {
		t.Errorf("debconf still knows %s", said)
	}

	d.install(built.get(t, ".deb"))
	d.install(upgrade(t))
	if !strings.Contains(read(t, d.path(config)), "New in "+next) {
		t.Error("nobody has edited the configuration, and it is still the old one")
	}
}
