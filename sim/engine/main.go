// Command engine is a simulated serving engine as a process of its own: package
// sim/serving says what it does. Until it has loaded it refuses connections.
//
//	engine -listen 127.0.0.1:8000 [-kind vllm] [-load 5s] [-sim DIR -gpus 0,1] …
//
// A POST to /sim/fault plays the fault that the body names, such as "slow 8". One to
// /sim/restart begins the process anew, in the same pid, loading included. With the
// folder of a simulated node its GPUs are busy while tokens are computed, and idle
// while not; what sim/ctl makes them show instead stands until that changes. Of several
// ranks each has its share of the GPUs, in their order.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/sim/serving"
)

// followed is how often the GPUs are brought in line with the tokens.
const followed = 500 * time.Millisecond

func main() {
	var o serving.Options
	listen := flag.String("listen", "127.0.0.1:8000", "the `address` that it serves on")
	load := flag.Duration("load", 0, "how long loading the model takes")
	sim := flag.String("sim", "", "the `folder` of a simulated node, whose GPUs it uses")
	gpus := flag.String("gpus", "0", "the GPUs it uses, by index, UUID or PCI address, with commas")
	flag.StringVar(&o.Kind, "kind", "vllm", "whose metrics it speaks: "+strings.Join(serving.Kinds(), ", "))
	flag.StringVar(&o.Model, "model", "sim", "the model's `name`")
	flag.IntVar(&o.Ranks, "ranks", 1, "data-parallel engines")
	flag.IntVar(&o.Slots, "slots", 8, "requests that one of them computes on at once")
	flag.Float64Var(&o.PromptRate, "prompt-rate", 4000, "tokens a second of a prompt")
	flag.Float64Var(&o.TokenRate, "token-rate", 50, "tokens a second of an answer")
	flag.IntVar(&o.Cold, "cold", 0, "how many requests are slow at first")
	flag.StringVar(&o.Prefill, "prefill", "", "the `URL` of a prefill engine, for which it decodes")
	flag.StringVar(&o.OnFailure, "on-failure", "fail", "what it does where it cannot read that one's memory: fail, or recompute")
	flag.BoolVar(&o.Bare, "bare", false, "metrics without samples")
	flag.Parse()
	if err := run(o, *listen, *load, *sim, strings.Split(*gpus, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(o serving.Options, listen string, load time.Duration, sim string, gpus []string) error {
	time.Sleep(load)
	engine, err := serving.New(o)
	if err != nil {
		return err
	}
	if sim != "" {
		n, err := node.Open(sim)
		if err != nil {
			return err
		}
		if o.Ranks < 1 || len(gpus)%o.Ranks != 0 {
			return fmt.Errorf("%d GPUs are not the same number for each of %d ranks", len(gpus), o.Ranks)
		}
		for rank, share := range slices.Collect(slices.Chunk(gpus, len(gpus)/o.Ranks)) {
			go engine.Follow(context.Background(), rank, followed, func(busy bool) { show(n, share, busy) })
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", engine)
	mux.HandleFunc("POST /sim/restart", restart)
	return http.ListenAndServe(listen, mux)
}

// show lets the GPUs show what the engine does.
func show(n *node.Node, gpus []string, busy bool) {
	kind := node.Idle
	if busy {
		kind = node.Busy
	}
	for _, gpu := range gpus {
		if err := n.Activity(gpu, kind); err != nil {
			log.Print(err)
		}
	}
}

// restart begins the process anew; its connections are cut with it.
func restart(w http.ResponseWriter, _ *http.Request) {
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
