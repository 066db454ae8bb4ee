package canary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one event of a stream, in bytes; real ones have a few hundred.
const maxLine = 256 << 10

// errEnded says that a stream has ended as it should.
var errEnded = errors.New("the stream has ended")

// stream reads the events of a streamed answer, as OpenAI's API has them.
type stream struct{ lines *bufio.Scanner }

func newStream(body io.Reader) *stream {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 4<<10), maxLine)
	return &stream{lines}
}

// event is what is read of one.
type event struct {
	Choices []struct {
		// Finish is why the answer ended, in its last event.
		Finish string `json:"finish_reason"`
		Text   string `json:"text"`
		Delta  struct {
			Content string `json:"content"`
			// Reasoning is what a model thinks before it answers; it is computed all
			// the same. The engines have two names for it.
			Reasoning        string `json:"reasoning"`
			ReasoningContent string `json:"reasoning_content"`
		} `json:"delta"`
	} `json:"choices"`
	Error json.RawMessage `json:"error"`
}

// rejection is an error that the engine tells.
type rejection struct{ why string }

func (r rejection) Error() string { return r.why }

// next waits for the next event with a token in it. It gives errEnded behind the
// end marker, a rejection where the engine tells an error, and else what has ended
// the stream before its end.
func (s *stream) next() error {
	for s.lines.Scan() {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(s.lines.Bytes()), []byte("data:"))
		if !ok {
			continue // a comment, the name of an event, or the empty line behind one
		}
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			return errEnded
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return rejection{fmt.Sprintf("an event that is no JSON: %.80q", data)}
		}
		if len(e.Error) > 0 && string(e.Error) != "null" {
			return rejection{fmt.Sprintf("an error in the stream: %.200q", e.Error)}
		}
		if given := e.givenUp(); given != "" {
			return rejection{fmt.Sprintf("it gave the answer up: finish_reason %.80q", given)}
		}
		if e.token() {
			return nil
		}
	}
	switch err := s.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return rejection{fmt.Sprintf("an event of more than %d KiB", maxLine>>10)}
	case err != nil:
		return err
	}
	return io.ErrUnexpectedEOF
}

// givenUp gives the reason of an answer that did not come to its own end: vLLM's "abort"
// and "error", SGLang's "abort" (vllm/v1/engine FinishReason, sglang FINISH_ABORT).
func (e event) givenUp() string {
	for _, c := range e.Choices {
		if c.Finish == "abort" || c.Finish == "error" {
			return c.Finish
		}
	}
	return ""
}

// token says whether an event has any text in it.
func (e event) token() bool {
	for _, c := range e.Choices {
		if c.Text != "" || c.Delta.Content != "" || c.Delta.Reasoning != "" || c.Delta.ReasoningContent != "" {
			return true
		}
	}
	return false
}
