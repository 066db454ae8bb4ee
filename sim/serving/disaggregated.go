package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// memory gives a handle of this engine's memory, which its present life alone has.
func (e *Engine) memory(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprint(w, e.life.id)
}

// load reads the KV cache of a prompt from the prefill engine, if this one decodes for
// any, and says whether it was read. By a stale handle nothing is.
func (e *Engine) load(ctx context.Context) (loaded bool, err error) {
	if e.options.Prefill == "" {
		return false, nil
	}
	present, err := fetch(ctx, e.options.Prefill+"/sim/memory")
	if err == nil {
		err = e.check(present)
	}
	if err != nil && e.options.OnFailure == "recompute" {
		return false, nil
	}
	return err == nil, err
}

// check compares the handle with the memory that is there.
func (e *Engine) check(present string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handle == "" {
		e.handle = present
	}
	if e.handle != present {
		return errors.New("the KV cache cannot be read: the prefill engine is another than that of the handle")
	}
	return nil
}

// fetch gets what a URL gives; it is short.
func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("the KV cache cannot be read: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, bodyLimit))
	return string(text), err
}
