package main

import (
	"context"
	"errors"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
)

// lookEvery is how often it is looked who holds the GPUs while they are diagnosed.
const lookEvery = 5 * time.Second

// heldBy says of GPUs why they may not be diagnosed: who holds them, or that nobody can
// tell. Once ours has begun another diagnosis is no reason: it may be ours that is seen.
func heldBy(ctx context.Context, who agent.Occupant, uuids []string, begun bool) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, 2*lookEvery)
	defer cancel()
	o := who.Occupancy(ctx)
	held := map[string]string{}
	for _, uuid := range uuids {
		if o.Unknown != "" {
			held[uuid] = "it is not known who holds the GPUs: " + o.Unknown
			continue
		}
		for _, h := range o.Holders {
			switch on := h.GPU == "" || h.GPU == uuid; {
			case !on || held[uuid] != "" || h.Service && (begun || !h.Diagnoses()):
			case h.Service:
				held[uuid] = "in use by a diagnosis of DCGM's, " + h.String()
			default:
				held[uuid] = "held by " + h.String()
			}
		}
	}
	return held
}

// watchHolders calls the diagnosis off when somebody comes.
func watchHolders(ctx context.Context, who agent.Occupant, uuids []string, callOff context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		held := heldBy(ctx, who, uuids, true)
		for _, uuid := range uuids {
			if why := held[uuid]; why != "" && ctx.Err() == nil {
				callOff(errors.New(uuid + " " + why))
				return
			}
		}
	}
}
