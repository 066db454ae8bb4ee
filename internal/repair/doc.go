// Package repair puts together those who do the deeds of mode repair, as the
// configuration names them: who drains, resets and reboots, and who tells which
// processes hold the GPUs. It decides nothing and does nothing itself.
package repair
