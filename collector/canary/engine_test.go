package canary

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// engine serves one model in memory, so that its time may be a test's: it streams
// each answer as it is told, and sees when its client goes.
func engine(answer func(http.ResponseWriter, *http.Request)) roundTrip {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"llama"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", answer)
	return func(r *http.Request) (*http.Response, error) {
		reader, writer := io.Pipe()
		w := &response{header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, body: writer, begun: make(chan int, 1)}
		context.AfterFunc(r.Context(), func() { _ = reader.CloseWithError(r.Context().Err()) })
		go func() {
			defer func() {
				if recover() != nil {
					_ = writer.CloseWithError(io.ErrUnexpectedEOF)
				}
			}()
			mux.ServeHTTP(w, r)
			w.WriteHeader(http.StatusOK)
			_ = writer.Close()
		}()
		select {
		case status := <-w.begun:
			return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: w.header, Body: reader}, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// response is one answer on its way.
type response struct {
	header http.Header
	body   *io.PipeWriter
	begun  chan int
	once   sync.Once
}

func (w *response) Header() http.Header    { return w.header }
func (w *response) WriteHeader(status int) { w.once.Do(func() { w.begun <- status }) }

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}
